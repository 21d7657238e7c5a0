"""The names of the activities that a schedule's entity has carried out."""

LOOK = "duetime.schedule-look"
APPLY = "duetime.schedule-apply"
REMOVE = "duetime.schedule-remove"
JUDGE = "duetime.schedule-judge"
MAKE_UP = "duetime.schedule-make-up"
PICK = "duetime.schedule-pick"
TRIGGER = "duetime.schedule-trigger"
START = "duetime.schedule-start"
BACKFILL = "duetime.schedule-backfill"

#: Failures that no repetition mends.
REFUSED, FOREIGN = "Refused", "Foreign"
