"""Names that the parts of the service know each other by on the Temporal server."""

#: Activities of a job's workflow: how the jobs that it comes after stand; how long its queue was paused.
PREDECESSORS = "duetime.predecessors"
QUEUE_PAUSES = "duetime.queue-pauses"

#: Signals between jobs: "tell me when you end" with an id, and "I have ended" with an id and a state.
DEPENDENT, PREDECESSOR = "dependent", "predecessor"
#: A signal to a job: those that it comes after and that had ended before it looked, as `{id: state}`.
ENDED = "predecessors"
