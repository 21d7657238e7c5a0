"""The client of the API over HTTP: `Client` for asyncio, `SyncClient` without."""

from duetime.client.batch import BatchItem
from duetime.client.client import Client, Options, Submitted
from duetime.client.events import JobEvent, PipelineEvent
from duetime.client.fields import ChangeFields, Filters, JobFields
from duetime.client.pipelines import PipelineFields, PipelineFilters, Pipelines, SubmittedPipeline
from duetime.client.schedules import PutSchedule, RuleInput, ScheduleFilters, Schedules
from duetime.client.sync import SyncClient
from duetime.client.sync_pipelines import SyncPipelines
from duetime.client.sync_schedules import SyncSchedules

__all__ = [
    "BatchItem",
    "ChangeFields",
    "Client",
    "Filters",
    "JobEvent",
    "JobFields",
    "Options",
    "PipelineEvent",
    "PipelineFields",
    "PipelineFilters",
    "Pipelines",
    "PutSchedule",
    "RuleInput",
    "ScheduleFilters",
    "Schedules",
    "Submitted",
    "SubmittedPipeline",
    "SyncClient",
    "SyncPipelines",
    "SyncSchedules",
]
