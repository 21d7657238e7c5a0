"""The server's log lines, which are JSON for machines, as one line for a person."""

import json

_SHOWN = ("error", "Error", "Namespace", "TaskQueue", "wf-id", "address", "service")
_LONGEST = 400


def readable(line: str) -> str:
    """`WARN message: error (service=…)` for a JSON line of the server; anything else as it is.

    >>> readable('{"time": "…", "level": "WARN", "msg": "slow", "error": "disk", "service": "history"}')
    'WARN slow (error=disk service=history)'
    """
    try:
        record = json.loads(line)
    except ValueError:
        return line
    if not isinstance(record, dict) or "msg" not in record:
        return line
    details = " ".join(f"{key}={record[key]}" for key in _SHOWN if record.get(key))
    text = f"{record.get('level', '')} {record['msg']}" + (f" ({details})" if details else "")
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
