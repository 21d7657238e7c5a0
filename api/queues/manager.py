"""The parts that routes on queues call, wired once for each app."""

from dataclasses import dataclass

from fastapi import Request
from temporalio.client import Client

from api.kinds.known import Known
from api.patience import answer_in_time
from api.queues.board import Board
from api.queues.control import QueueControl
from api.queues.explaining import Explainer
from api.queues.views import By, backlog_view, queue_list, queue_views
from duetime.contracts.queues import BacklogView, QueueList, QueueView


@dataclass(frozen=True)
class Queues:
    """Everything about queues."""

    board: Board
    control: QueueControl
    explainer: Explainer

    @classmethod
    def over(cls, client: Client, known: Known) -> "Queues":
        board = Board(client, known)
        return cls(board, QueueControl(client), Explainer(client, board, known))

    async def all(self) -> QueueList:
        return queue_list(await answer_in_time(self.board.all()))

    async def one(self, name: str) -> QueueView:
        """A queue now; one that nothing is known of is empty."""
        (view,) = queue_views(await answer_in_time(self.board.queue(name)), [name])
        return view

    async def backlog(self, by: By) -> BacklogView:
        return backlog_view(await answer_in_time(self.board.all()), by)


async def queues_of(request: Request) -> Queues:
    """The manager of the app that serves this request."""
    found = request.app.state.queues
    assert isinstance(found, Queues)
    return found
