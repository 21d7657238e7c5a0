"""Hand over jobs from asyncio, and see what becomes of them: `python -m examples.submit` while `make run` runs."""

import asyncio

from duetime import Client, errors


async def main(client: Client) -> list[str]:
    """What came of a few jobs."""
    told = []

    # One job, waited for.
    greeting = await client.run("hello", {"name": "world"}, wait="1m")
    told.append(greeting["greeting"])

    # One that is due later, under an id of ours: a second call finds it there.
    await client.submit("hello", {"name": "you"}, id="hello-you", delay="1h", on_conflict="return")
    try:
        await client.submit("hello", {"name": "somebody"}, id="hello-you")
    except errors.IdInUse as refused:
        told.append(f"taken by a job that is {refused.job.state}" if refused.job else "taken")
    await client.cancel("hello-you", reason="only an example")

    # Many at once, and one that is refused without costing the others.
    items = await client.batch([{"kind": "hello", "payload": {"name": name}} for name in ("a", "b", 3)])
    told.append(f"{sum(item.error is None for item in items)} of {len(items)} accepted")

    # Followed to its end.
    job = await client.submit("export.rows", {"rows": 100, "seconds": 1})
    states = [event.job.state async for event in client.events(job.id)]
    told.append(f"the export {states[-1]}")
    return told


async def _run() -> None:
    async with Client() as client:
        print(*await main(client), sep="\n")


if __name__ == "__main__":
    asyncio.run(_run())
