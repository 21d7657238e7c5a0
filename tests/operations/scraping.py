"""Metrics as Prometheus reads them."""

import asyncio
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

Samples = dict[tuple[str, tuple[str, ...]], float]


def read(text: str, *labels: str) -> Samples:
    """Samples by name and by the values of their labels in alphabetical order; of `labels` alone, if any are named."""
    return {
        (
            sample.name,
            tuple(value for name, value in sorted(sample.labels.items()) if not labels or name in labels),
        ): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def scrape(port: int, *labels: str) -> Samples:
    """What a worker of this machine shows."""

    def fetch() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            return str(answer.read().decode())

    return read(await asyncio.to_thread(fetch), *labels)
