"""The same without asyncio: `python -m examples.submit_sync` while `make run` runs."""

from duetime import State, SyncClient


def main(client: SyncClient) -> str:
    """Retries the jobs of a kind that failed, and tells how many."""
    failed = [job for job in client.jobs(kind="flaky", state="failed") if job.state is State.FAILED]
    for job in failed:
        client.retry(job.id, begin="checkpoint")
    return f"{len(failed)} jobs again"


if __name__ == "__main__":
    with SyncClient() as client:
        print(main(client))
