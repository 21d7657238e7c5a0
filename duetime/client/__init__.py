"""The client of the API over HTTP: `Client` for asyncio, `SyncClient` without."""

from duetime.client.client import Client, Options, Submitted
from duetime.client.fields import ChangeFields, Filters, JobFields
from duetime.client.sync import SyncClient

__all__ = ["ChangeFields", "Client", "Filters", "JobFields", "Options", "Submitted", "SyncClient"]
