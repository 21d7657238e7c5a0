"""Failed attempts that no record tells of: pure.

Our runtime takes down every attempt. A handler in another language leaves its failures to the server, which counts them
and remembers the last one alone, for as long as it retries; then its history tells how many there were.
"""

from duetime.contracts.record import Attempt, Error, Record
from duetime.contracts.states import AttemptOutcome


def with_failures(record: Record, dispatch: str, failures: int, last: Error | None) -> Record:
    """`record` with what lacks of the `failures` that one dispatch has had. Of the newest, `last` says what it was."""
    told = sum(attempt.dispatch == dispatch for attempt in record.attempts)
    for number in range(told, failures):
        attempt = Attempt(
            number=record.next_number,
            dispatch=dispatch,
            outcome=AttemptOutcome.FAILED,
            error=last if number == failures - 1 else None,
        )
        record = record.model_copy(update={"attempts": [*record.attempts, attempt]})
    return record
