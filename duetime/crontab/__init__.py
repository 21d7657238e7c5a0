"""Crontabs, read as cron reads them, as schedules of the kind `command`."""

from duetime.crontab.importing import Imported, import_crontab
from duetime.crontab.lines import Entry, Remark, read_crontab

__all__ = ["Entry", "Imported", "Remark", "import_crontab", "read_crontab"]
