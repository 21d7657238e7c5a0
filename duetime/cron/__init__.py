"""One reading of recurring rules: what fires, when, and in words.

`duetime.cron.compile` turns a rule into what the Temporal server is told; it is imported on its own, so that
reading a rule needs nothing of Temporal.
"""

from duetime.cron.clock import at_wall_clock
from duetime.cron.cron import Cron
from duetime.cron.errors import CronError, RuleError, ZoneError
from duetime.cron.every import Every, EveryDays
from duetime.cron.exclude import Exclude
from duetime.cron.fires import Fire, check_fires, fires, next_fire
from duetime.cron.parse import parse
from duetime.cron.preview import Preview, preview_rule
from duetime.cron.reading import fault_of, read_fields, read_instant
from duetime.cron.rule import At, Gap, Overlap, Rule, read_rule
from duetime.cron.words import in_words
from duetime.cron.zones import VERSION as ZONES_VERSION
from duetime.cron.zones import check_zone, load_zone

__all__ = [
    "ZONES_VERSION",
    "At",
    "Cron",
    "CronError",
    "Every",
    "EveryDays",
    "Exclude",
    "Fire",
    "Gap",
    "Overlap",
    "Preview",
    "Rule",
    "RuleError",
    "ZoneError",
    "at_wall_clock",
    "check_fires",
    "check_zone",
    "fault_of",
    "fires",
    "in_words",
    "load_zone",
    "next_fire",
    "parse",
    "preview_rule",
    "read_fields",
    "read_instant",
    "read_rule",
]
