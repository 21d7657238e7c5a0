"""Every bound in one place; each refusal names its bound."""

from datetime import timedelta

ID_LENGTH = 200
KIND_LENGTH = 100
QUEUE_LENGTH = 200
TAGS = 20
AFTER = 100
#: Jobs that one job tells of its end; their ids are in its memo, again with each that joins.
DEPENDENTS = 200
TAG_LENGTH = 64
FAIRNESS_KEY_BYTES = 64
FAIRNESS_WEIGHT = (0.001, 1000.0)
#: Places of a concurrency limit.
CONCURRENCY = (1, 1000)
#: What the jobs that wait for one limit may take in the engine, which hands at most 2 MiB from one run of a workflow to
#: the next: some 20,000 jobs with ids of ordinary length. Those beyond ask again by themselves.
LINE_BYTES = 1_500_000
PRIORITY = (1, 5)
IDEMPOTENCY_KEY_LENGTH = 255
MAX_ATTEMPTS = 1000
NON_RETRYABLE = 50

#: Compact UTF-8 JSON of a payload or a result, in bytes. The engine refuses blobs of 2 MiB.
PAYLOAD_BYTES = 256 * 1024
RESULT_BYTES = 256 * 1024
CHECKPOINT_BYTES = 64 * 1024
PROGRESS_MESSAGE_LENGTH = 500
#: How many objects and lists of a JSON value may lie within each other.
JSON_DEPTH = 100
#: A submission's whole body in bytes: payload and everything around it.
BODY_BYTES = 1024 * 1024
#: Jobs in one batch, and the bytes of its body.
BATCH_JOBS = 1000
BATCH_BYTES = 8 * 1024 * 1024

#: Due times in one preview, and excluded ones between them.
PREVIEWED_FIRES = 1000
#: Schedules in one desired state; its body may have as many bytes as a batch's.
APPLIED_SCHEDULES = 2000
#: Hours that a forecast looks ahead.
FORECAST_HOURS = 168
#: Jobs on one page of a list.
PAGE_JOBS = 200

FURTHEST_RUN_AT = timedelta(days=5 * 366)
LONGEST_SPREAD = timedelta(days=1)
#: The server's timers have a granularity of a second.
SHORTEST_TIMEOUT = timedelta(seconds=1)
SHORTEST_LEASE = timedelta(seconds=2)
LONGEST_LEASE = timedelta(hours=1)
LONGEST_CLOCK = timedelta(days=366)

#: Attempts in a row that no worker acknowledged before the job fails as `WorkerLost`.
UNACKNOWLEDGED_ATTEMPTS = 10

ERROR_MESSAGE_LENGTH = 2_000
ERROR_STACK_LENGTH = 8_000
ERROR_TYPE_LENGTH = 200
#: Attempts kept with their stack; the older ones keep a short message, and those before them hardly any, so that the
#: longest record stays well below what the engine takes.
DETAILED_ATTEMPTS = 10
BRIEF_ATTEMPTS = 100
BRIEF_MESSAGE_LENGTH = 200
SHORTEST_MESSAGE_LENGTH = 40

#: The task queue of workflows; queues of jobs cannot begin with this word.
ORCHESTRATION_QUEUE = "duetime"

#: Jobs of one pipeline, and the letters of a job's name in it.
PIPELINE_JOBS = 2_000
PIPELINE_JOB_NAME = 64
#: Jobs of a pipeline, or items of one of its jobs, under way at once: the engine takes 2,000 open children, and slows
#: down long before.
PIPELINE_PARALLEL = 500
#: Compact UTF-8 JSON of a pipeline. The engine takes 2 MiB, in which what a run hands to the next must have room.
PIPELINE_BYTES = 1536 * 1024
#: The same of one that a schedule starts: the schedule keeps it twice, and hands it on with each of its steps.
SCHEDULED_PIPELINE_BYTES = 256 * 1024
#: Items of one `for_each`, and compact UTF-8 JSON of their list.
ITEMS = 10_000
ITEMS_BYTES = 512 * 1024
#: Compact UTF-8 JSON of the results of one `for_each` as a list, as far as another job may refer to them.
ITEM_RESULTS_BYTES = 768 * 1024
#: Compact UTF-8 JSON of the attempts that a job of a pipeline returns.
PIPELINE_ATTEMPTS_BYTES = 128 * 1024
#: Errors that a pipeline keeps of jobs without an execution of their own, and the letters of one: all of them are
#: written down again with each.
PIPELINE_FAULTS = 100
PIPELINE_FAULT_LENGTH = 500
#: The longest id that the server's index takes on every database, those that Duetime derives included.
DERIVED_ID_LENGTH = 250

SHORTEST_CATCH_UP = timedelta(seconds=10)
LONGEST_CATCH_UP = timedelta(days=30)
LONGEST_JITTER = timedelta(days=1)
MAX_RUNS = 1_000_000_000
NOTE_LENGTH = 500
#: Times of one backfill, and rows of one account of occurrences.
BACKFILL_TIMES = 10_000
OCCURRENCES = 1_000
PAGE_SCHEDULES = 200
