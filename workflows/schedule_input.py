"""What the workflow of a schedule is started with: nothing at first, and by an earlier run of it the book."""

from collections.abc import Sequence

from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError
from temporalio.workflow import Info

from duetime.contracts.schedule import ScheduleSpec
from duetime.contracts.schedule_book import Book
from duetime.schedules.ids import entity_id
from workflows.one_argument import one_argument

_HOW = "the workflow of a schedule is started by the API: PUT /v1/schedules/{id}"


def read_book(arguments: Sequence[RawValue], info: Info) -> tuple[Book | None, ApplicationError | None]:
    """The book that an earlier run left; why the workflow has to fail, when somebody else gave something."""
    try:
        given = one_argument(arguments)
        book = Book.model_validate(given) if given is not None else None
        if book is not None and info.continued_run_id is None:
            ScheduleSpec.model_validate(book.spec)  # what an earlier run had is never lost to a rule of today
    except ValueError:  # pydantic's among them, whose text may be as long as what was given
        return None, _no_schedule(_HOW)
    if book is not None and entity_id(book.id) != info.workflow_id:
        return None, _no_schedule(f"the schedule belongs to another workflow id; {_HOW}")
    return book, None


def _no_schedule(why: str) -> ApplicationError:
    return ApplicationError(why, type="InvalidSchedule", non_retryable=True)
