"""From a pipeline as it is answered to the graph that is drawn."""

from api.pipelines.graph import Graph, Node
from duetime.contracts.pipeline_view import ItemsView, PipelineView


def graph_of(pipeline: PipelineView) -> Graph:
    """The graph of its jobs."""
    nodes = tuple(
        Node(name, job.kind, job.state, tuple(job.needs), job.when, _note(job.items))
        for name, job in pipeline.jobs.items()
    )
    path = tuple(step.name for step in pipeline.critical_path.jobs)
    return Graph(pipeline.id, pipeline.state, nodes, path)


def _note(items: ItemsView | None) -> str:
    return "" if items is None else f"{items.done:,} of {items.total:,}"
