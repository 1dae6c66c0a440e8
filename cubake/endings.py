"""How an error ends a run: words on stderr and, with --json, a document on stdout. No password is in either."""

from __future__ import annotations

import sys
from contextlib import suppress

import click

from cubake.words import masked


def end(code: int, message: str, hint: str) -> int:
    """Tell an error, with -v after its traceback; the exit code."""
    message = masked(message)
    error, plain = sys.exc_info()[1], (click.ClickException, click.Abort, KeyboardInterrupt)
    if error and not isinstance(error, plain) and any(arg in ("-v", "--verbose") for arg in sys.argv[1:]):
        import traceback  # only needed here

        click.echo(masked(traceback.format_exc()), err=True)
    for number, line in enumerate(message.splitlines()):
        click.echo(line if number else f"error: {line}" if not _positioned(line) else line, err=True)
    if hint:
        click.echo(f"  -> {hint}", err=True)
    if "--json" in sys.argv[1:]:
        import json  # only needed here

        with suppress(OSError):  # what is wrong may be stdout itself
            click.echo(json.dumps({"error": {"message": message, "hint": hint, "exit_code": code}}, indent=1))
    return code


def _positioned(line: str) -> bool:
    """Whether a message begins with a place in a file, as editors and CI expect: matrix.yaml:3:5: ..."""
    parts = line.split(":", 3)
    return len(parts) == 4 and parts[1].isdigit() and parts[2].isdigit()
