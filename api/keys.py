"""API keys from the command line: `python -m api.keys create|list|revoke|rotate`.

Works on the file that `DUETIME_API_KEYS_FILE` or `--file` names. A running API reads the file again by itself. A new
key is printed once, alone, on standard output, so that `KEY=$(python -m api.keys create …)` gets it; everything else
goes to standard error.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from api.security.keyfile import KeyFileError, edit_ring, read_ring
from api.security.keys import Key, KeyRing, hash_of, new_secret
from api.security.scopes import Scope
from duetime.contracts.duration import format_duration, parse_duration
from duetime.contracts.explain import explain
from duetime.contracts.instants import format_instant
from duetime.process import EXIT_USAGE, run_main
from duetime.settings import settings_or_exit


def main(arguments: Sequence[str], now: datetime) -> int:
    """The exit code: 0, 1 when it could not be done, 2 for what could never be."""
    options = _parser().parse_args(arguments)
    path: Path | None = options.file or settings_or_exit().api_keys_file
    if path is None:
        print("which file? give --file, or set DUETIME_API_KEYS_FILE", file=sys.stderr)
        return EXIT_USAGE
    run: Callable[[argparse.Namespace, Path, datetime], None] = options.run
    try:
        run(options, path, now)
    except (KeyFileError, _Refused) as error:
        print(error, file=sys.stderr)
        return 1
    except ValidationError as error:
        for fault in explain(error):
            print(f"--{fault['pointer'].split('/')[1]}: {fault['message']}", file=sys.stderr)
        return EXIT_USAGE
    return 0


class _Refused(Exception):
    """Not with these keys."""


def create(options: argparse.Namespace, path: Path, now: datetime) -> None:
    """Adds a key, and prints it."""

    def made(ring: KeyRing) -> tuple[KeyRing, Key, str]:
        key_id, secret = new_secret(ring.by_id)
        key = Key(
            id=key_id,
            name=options.name,
            sha256=hash_of(secret),
            scopes=options.scopes,
            queues=options.queues,
            kinds=options.kinds,
            rate=options.rate,
            created_at=now,
            expires_at=_after(now, options.expires),
        )
        return ring.with_key(key), key, secret

    _print_new(path, made, create=True)


def rotate(options: argparse.Namespace, path: Path, now: datetime) -> None:
    """Adds a key that may do what the old one may, prints it, and lets the old one expire after the overlap."""

    def made(ring: KeyRing) -> tuple[KeyRing, Key, str]:
        old = _active(ring, options.id, now)
        key_id, secret = new_secret(ring.by_id)
        lifetime = options.expires or (old.expires_at - old.created_at if old.expires_at else None)
        changes = {
            "id": key_id,
            "sha256": hash_of(secret),
            "created_at": now,
            "expires_at": _after(now, lifetime),
            "replaces": old.id,
        }
        key = Key.model_validate({**old.model_dump(), **changes})
        end = min(filter(None, (old.expires_at, now + options.overlap)))
        print(f"{old.id} is good until {format_instant(end)}", file=sys.stderr)
        return ring.with_key(old.model_copy(update={"expires_at": end})).with_key(key), key, secret

    _print_new(path, made)


def revoke(options: argparse.Namespace, path: Path, now: datetime) -> None:
    """Ends a key, from the next call on."""

    def without(ring: KeyRing) -> KeyRing:
        key = _known(ring, options.id)
        if key.revoked_at is not None:
            raise _Refused(f"{key.id} was revoked before, at {format_instant(key.revoked_at)}")
        return ring.with_key(key.model_copy(update={"revoked_at": now}))

    edit_ring(path, without)
    print(f"{options.id} is revoked", file=sys.stderr)


def show(options: argparse.Namespace, path: Path, now: datetime) -> None:
    """Prints every key, a line each."""
    rows = [("ID", "NAME", "STATE", "SCOPES", "QUEUES", "KINDS", "RATE", "EXPIRES")]
    for key in read_ring(path).keys:
        expires = format_instant(key.expires_at) if key.expires_at else "never"
        scopes, queues, kinds = ",".join(key.scopes), ",".join(key.queues or "*"), ",".join(key.kinds or "*")
        rows.append((key.id, key.name, key.state(now), scopes, queues, kinds, str(key.rate or "-"), expires))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _print_new(
    path: Path, made: Callable[[KeyRing], tuple[KeyRing, Key, str]], *, create: bool = False
) -> None:
    """Prints a new key when it is kept: one that was shown and is not in the file would only puzzle."""
    new: list[tuple[Key, str]] = []

    def change(ring: KeyRing) -> KeyRing:
        changed, key, secret = made(ring)
        new.append((key, secret))
        return changed

    edit_ring(path, change, create=create)
    ((key, secret),) = new
    print(
        f"{key.id} ({key.name}) is in {path}; this is the only time that the key is shown:", file=sys.stderr
    )
    print(secret)


def _known(ring: KeyRing, key_id: str) -> Key:
    if key_id not in ring.by_id:
        raise _Refused(f"there is no key {key_id}; `list` shows them")
    return ring.by_id[key_id]


def _active(ring: KeyRing, key_id: str, now: datetime) -> Key:
    key = _known(ring, key_id)
    if key.state(now) != "active":
        raise _Refused(f"{key_id} is {key.state(now)}: create a new key instead")
    return key


def _after(now: datetime, span: timedelta | None) -> datetime | None:
    return None if span is None else now + span


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m api.keys", description="Keys of the Duetime API.")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--file", type=Path, help="the keys file (default: DUETIME_API_KEYS_FILE)")
    commands = parser.add_subparsers(required=True, metavar="create|list|revoke|rotate")

    making = commands.add_parser("create", parents=[common], help=create.__doc__, description=create.__doc__)
    making.add_argument("name", help="whose key it is, as logs show it")
    scopes = ",".join(Scope)
    making.add_argument("--scopes", type=_split, required=True, help=f"some of {scopes}, comma-separated")
    making.add_argument("--queues", type=_split, help="the only queues it is for (default: all)")
    making.add_argument("--kinds", type=_split, help="the only kinds it is for (default: all)")
    making.add_argument("--expires", type=_span, metavar="SPAN", help="how long it is good, such as 90d")
    making.add_argument("--rate", type=int, help="requests a second (default: DUETIME_API_RATE)")
    making.set_defaults(run=create)

    listing = commands.add_parser("list", parents=[common], help=show.__doc__, description=show.__doc__)
    listing.set_defaults(run=show)

    ending = commands.add_parser("revoke", parents=[common], help=revoke.__doc__, description=revoke.__doc__)
    ending.add_argument("id", help="the eight characters after dt_")
    ending.set_defaults(run=revoke)

    turning = commands.add_parser("rotate", parents=[common], help=rotate.__doc__, description=rotate.__doc__)
    turning.add_argument("id", help="the eight characters after dt_")
    turning.add_argument(
        "--overlap", type=_span, default=timedelta(days=7), metavar="SPAN", help="both are good (default: 7d)"
    )
    turning.add_argument(
        "--expires", type=_span, metavar="SPAN", help="how long the new one is good (default: as the old one)"
    )
    turning.set_defaults(run=rotate)
    return parser


def _split(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def _span(value: str) -> timedelta:
    try:
        span = parse_duration(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not timedelta(0) < span:
        raise argparse.ArgumentTypeError(f"{format_duration(span)} is no time at all")
    return span


async def _main() -> int:
    return main(sys.argv[1:], datetime.now(UTC))


if __name__ == "__main__":
    run_main(_main)
