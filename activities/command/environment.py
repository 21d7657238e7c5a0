"""The environment of a command: built up from nothing, so that no secret of the worker is in it."""

from collections.abc import Mapping

from activities.context import JobContext

#: What tells a command which job it works for; the same as the headers of the kind `http`.
GIVEN = ("DUETIME_JOB_ID", "DUETIME_ATTEMPT", "DUETIME_FENCING_TOKEN", "DUETIME_IDEMPOTENCY_KEY")

_INHERITED = ("PATH", "HOME", "LANG", "TZ", "TMPDIR")
_DEFAULTS = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/", "LANG": "C.UTF-8"}


def command_environment(
    worker: Mapping[str, str], given: Mapping[str, str], job: JobContext
) -> dict[str, str]:
    """What of the worker's environment says where things are, then the payload's, then the job's."""
    of_the_job = (job.id, str(job.attempt), str(job.fencing_token), job.idempotency_key)
    return {
        **_DEFAULTS,
        **{name: worker[name] for name in _INHERITED if worker.get(name)},
        **given,
        **dict(zip(GIVEN, of_the_job, strict=True)),
    }
