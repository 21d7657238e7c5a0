"""Why something cannot be done to a job."""


class NotNow(Exception):
    """The job is not in the state for it. `reason` is a word to count by, the text is for people."""

    def __init__(self, reason: str, why: str) -> None:
        super().__init__(why)
        self.reason = reason
