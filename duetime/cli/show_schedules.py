"""Schedules on a terminal."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from duetime.cli.show import state_text
from duetime.cli.text import ago, as_json, local, safe
from duetime.contracts.duration import format_duration
from duetime.contracts.forecast import FlatterLine, ForecastView
from duetime.contracts.preview import PreviewView
from duetime.contracts.schedule_sets import AppliedView, FieldChange
from duetime.contracts.schedule_view import (
    BackfillAnswer,
    Occurrence,
    OccurrenceState,
    ScheduleState,
    ScheduleSummary,
    ScheduleView,
)

_STYLES = {ScheduleState.ACTIVE: "green", ScheduleState.PAUSED: "yellow", ScheduleState.FINISHED: "dim"}
_OCCURRENCES = {
    OccurrenceState.FIRED: "green",
    OccurrenceState.MISSED: "red",
    OccurrenceState.SKIPPED_OVERLAP: "yellow",
    OccurrenceState.PAUSED: "yellow",
    OccurrenceState.UPCOMING: "blue",
}
#: Minutes of a forecast that are shown, and the longest bar.
_MINUTES, _BAR = 10, 40


def show_schedules(schedules: Iterable[ScheduleSummary], out: Console) -> None:
    """Schedules as a table, one a line where the terminal is wide enough."""
    rows = _table(out, "ID", "STATE", "NEXT", "KIND", "QUEUE", "WHEN")
    for each in schedules:
        state = Text(each.state.value, _STYLES.get(each.state, ""))
        rows.add_row(
            safe(each.id),
            state,
            ago(each.next_at),
            safe(each.kind or _some(each.kinds)),
            safe(each.queue or _some(each.queues)),
            safe(each.fault or each.in_words),
        )
    out.print(rows)


def show_schedule(schedule: ScheduleView, out: Console) -> None:
    """One schedule as a page: its rule, how it stands, what comes, and what was."""
    state = Text(schedule.state.value, _STYLES.get(schedule.state, ""))
    out.print(Text.assemble((safe(schedule.id), "bold"), "  ", state))
    for name, value in _facts(schedule):
        if value:
            out.print(Text.assemble((f"  {name:<14}", "dim"), value))
    for fire in schedule.next[:5]:
        out.print(Text.assemble(("  next          ", "dim"), f"{safe(fire.local)} ({ago(fire.utc)})"))
    for run in schedule.last_runs[:5]:
        out.print(
            Text.assemble(
                ("  run           ", "dim"),
                safe(run.job_id or run.pipeline_id or ""),
                "  ",
                state_text(run.state),
                "  ",
                ago(run.started_at),
            )
        )


def _facts(schedule: ScheduleView) -> list[tuple[str, str]]:
    spec, pause, counted = schedule.spec, schedule.paused, schedule.counters
    rule = next((f"{name} {as_json(spec[name])}" for name in ("cron", "every", "at") if spec.get(name)), "")
    job, pipeline = spec.get("job"), spec.get("pipeline")
    return [
        ("when", safe(schedule.in_words)),
        ("rule", rule),
        ("job", as_json(job) if job else ""),
        ("pipeline", as_json(pipeline) if pipeline else ""),
        ("note", safe(str(spec.get("note") or ""))),
        ("paused", f"by {safe(pause.by)} since {local(pause.since)}: {safe(pause.reason)}" if pause else ""),
        ("until", local(pause.until) if pause and pause.until else ""),
        ("running", safe(", ".join(schedule.running))),
        ("waiting", str(schedule.queued) if schedule.queued else ""),
        (
            "counted",
            f"{counted.fired:,} fired, {counted.skipped_by_overlap:,} skipped, {counted.missed:,} missed",
        ),
        ("runs left", f"{schedule.runs_left:,}" if schedule.runs_left is not None else ""),
        ("revision", f"{schedule.revision} by {safe(schedule.updated_by)}, {local(schedule.updated_at)}"),
        ("web", safe(schedule.links.temporal)),
    ]


def show_preview(seen: PreviewView, out: Console) -> None:
    out.print(Text(safe(seen.in_words), "bold"))
    rows = _table(out, "UTC", "LOCAL", "")
    for fire in seen.fires:
        style = "dim" if "excluded" in fire.tags else ""
        rows.add_row(fire.utc, fire.local, ", ".join(fire.tags), style=style)
    out.print(rows)
    if seen.ends:
        out.print(Text("and then no more", "dim"))


def show_occurrences(occurrences: Iterable[Occurrence], out: Console) -> None:
    rows = _table(out, "TIME", "STATE", "LATE", "RUN", "")
    for each in occurrences:
        late = format_duration(each.late_by) if each.late_by else ""
        more = [*each.tags, *([f"after {each.blocked_by}"] if each.blocked_by else []), each.reason or ""]
        state = Text(each.state.value, _OCCURRENCES.get(each.state, ""))
        run = safe(each.job_id or each.pipeline_id or "")
        rows.add_row(safe(each.local), state, late, run, safe(", ".join(filter(None, more))))
    out.print(rows)


def show_backfill(done: BackfillAnswer, out: Console) -> None:
    verb = "would run" if done.dry_run else "will run"
    out.print(f"{verb}: {done.count:,}; left alone: {done.left:,}")
    for at in done.times[:20]:
        out.print(f"  {local(at)}")
    if done.count > 20:
        out.print(f"  and {done.count - 20:,} more")


def show_applied(done: AppliedView, out: Console) -> None:
    """The difference: `+` new, `~` changed with its fields, `-` deleted, `!` refused."""
    for name in done.created:
        out.print(Text(f"+ {safe(name)}", "green"))
    for one in done.changed:
        out.print(Text(f"~ {safe(one.id)}", "yellow"))
        for change in one.changes:
            out.print(Text(f"    {_change(change)}"))
    for name in done.pruned:
        out.print(Text(f"- {safe(name)}", "red"))
    for failed in done.failed:
        out.print(Text(f"! {safe(failed.id)}: {safe(failed.problem.detail)}", "red"))
    counts = (
        (len(done.created), "created"), (len(done.changed), "changed"), (len(done.unchanged), "unchanged"),
        (len(done.pruned), "deleted"), (len(done.failed), "refused"), (len(done.left), "not reached"),
    )  # fmt: skip
    said = ", ".join(f"{count:,} {what}" for count, what in counts if count) or "nothing to do"
    out.print(f"would be done: {said}" if done.dry_run else said)


def _some(names: list[str]) -> str:
    """Those of a pipeline's jobs, as far as a column has room for them."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _change(change: FieldChange) -> str:
    before, after = (
        "(not given)" if value is None else as_json(value) for value in (change.before, change.after)
    )
    return f"{safe(change.pointer)}: {before} -> {after}"


def show_forecast(seen: ForecastView, out: Console) -> None:
    """The fullest minutes, and what would flatten them."""
    out.print(
        f"{seen.starts:,.0f} starts of {seen.schedules:,} schedules until {local(seen.end)}"
        + (f"; {seen.paused:,} paused" if seen.paused else "")
    )
    most = seen.peaks[0].starts if seen.peaks else 1.0
    rows = _table(out, "MINUTE", "STARTS", "OF ITS HOUR", "")
    for peak in seen.peaks[:_MINUTES]:
        bar = "█" * max(1, round(_BAR * peak.starts / most))
        rows.add_row(local(peak.at), f"{peak.starts:,.4g}", f"{peak.share:.0%}", bar)
    out.print(rows)
    for name in seen.unreadable:
        out.print(Text(f"cannot be read: {safe(name)}", "red"))
    if seen.flatter is not None:
        out.print(f"with these changes no minute would hold more than {seen.flatter.starts:,.4g}:")
        for change in seen.flatter.changes:
            out.print(f"  {_advice(change)}")


def _advice(change: FlatterLine) -> str:
    instead = change.cron or f'"jitter": "{change.jitter}", "jitter_mode": "stable"'
    more = " …" if change.schedules > len(change.of) else ""
    return safe(f"{change.line}  ->  {instead}   ({change.schedules:,}: {', '.join(change.of)}{more})")


def _table(out: Console, *titles: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(title, overflow="fold", no_wrap=not out.is_terminal)
    return table
