"""The command line: options become one frozen value at once, each verb calls one stage, errors become exit codes.

The verbs are imported when they run, so that `--help` needs none of what they need.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cubake import __version__
from cubake.endings import end
from cubake.errors import CubakeError
from cubake.options import Options

_Function = Callable[..., Any]
EPILOG = (
    "Exit codes: 0 all done; 1 a build or a check failed; 2 the command or a file is wrong; 3 what was asked for "
    "cannot work; 4 the engine or a service does not answer; 130 interrupted. Results go to stdout, progress to stderr."
)


def _options(*decorators: Callable[[_Function], _Function]) -> Callable[[_Function], _Function]:
    def decorate(function: _Function) -> _Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


_matrix = click.option(
    "--matrix", type=click.Path(path_type=Path), metavar="FILE", default=Path("matrix.yaml"), show_default=True,
    help="The matrix file.",
)  # fmt: skip
_output = _options(
    click.option("--json", is_flag=True, help="One JSON document on stdout."),
    click.option("-v", "--verbose", is_flag=True, help="Every line of every step, causes of rebuilds, tracebacks."),
    click.option("-q", "--quiet", is_flag=True, help="No progress; results and errors only."),
)
_common = _options(
    click.option("--only", multiple=True, metavar="GLOB", help="Only images whose name matches. Repeatable."),
    _output,
)
_out = click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=Path("out"), show_default=True, metavar="DIR",
    help="Logs, verdicts and reports.",
)  # fmt: skip


def _as_in_matrix(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """A callback: the option takes what the matrix file takes under its name in ``build:``."""
    if value not in (None, ()):
        from pydantic import ValidationError

        from cubake.matrix.model import BuildRow

        try:
            BuildRow.model_validate({param.name: value})
        except ValidationError as error:
            wrong = error.errors()[0]
            raise click.BadParameter(f"{wrong['input']!r}: {wrong['msg']}", ctx, param) from None
    return value


_sources = _options(
    click.option("--index-url", callback=_as_in_matrix, metavar="URL",
                 help="Package index instead of the installer's default."),
    click.option("--extra-index-url", "extra_index_urls", callback=_as_in_matrix, multiple=True, metavar="URL",
                 help="Further index."),
    click.option("--ca-bundle", callback=_as_in_matrix, metavar="FILE",
                 help="CA certificates to trust while building [SSL_CERT_FILE]."),
)  # fmt: skip
_find_links = click.option("--find-links", callback=_as_in_matrix, metavar="DIR|URL",
                           help="Wheels to consider beside the index, when locking.")  # fmt: skip
_build = _options(
    click.option("--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="Builds at once."),
    click.option("--fail-fast", is_flag=True, help="Start nothing more after the first failure."),
    click.option("--no-cache", is_flag=True, help="Build every step anew."),
    click.option("--base", type=click.Choice(["auto", "registry", "local"]), default="auto", show_default=True,
                 help="Where bases come from: a registry, wheels and debootstrap, or whichever answers first."),
    click.option("--network", callback=_as_in_matrix, metavar="MODE", help="Network of build steps, e.g. host."),
)  # fmt: skip
_gpu = _options(
    click.option("--gpu", default="auto", show_default=True, metavar="auto|none|all|DEVICE",
                 help="GPU for the GPU checks; DEVICE is a CDI name such as nvidia.com/gpu=all."),
    click.option("--require-gpu", is_flag=True, help="GPU checks that cannot run are failures."),
)  # fmt: skip


class _Group(click.Group):
    """Options of the whole line stand before any verb; `--matrix FILE` alone runs the whole line."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            found = super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], self.list_commands(ctx), 1)
            hint = f" Did you mean {near[0]!r}?" if near else f" Verbs: {', '.join(self.list_commands(ctx))}."
            raise click.UsageError(f"{error.message}{hint}", ctx) from error
        before = sys.argv[1 : len(sys.argv) - len(args)]
        if before and not ctx.resilient_parsing:
            right = shlex.join([*args[:1], *before, *args[1:]])
            raise click.UsageError(f"options stand after the verb: python build.py {right}", ctx)
        return found


@click.group(
    cls=_Group, invoke_without_command=True, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "--matrix", type=click.Path(path_type=Path), is_flag=False, flag_value=Path("matrix.yaml"), metavar="[FILE]",
    help="Plan, render, build, verify and report every image of FILE [matrix.yaml].",
)  # fmt: skip
@_common
@_out
@_sources
@_build
@_gpu
@click.option("--no-verify", "verify", is_flag=True, flag_value=False, default=True, help="Build without checking.")
@click.option("--dry-run", is_flag=True, help="Say what would be done and do nothing.")
@click.version_option(__version__, prog_name="cubake")
@click.pass_context
def cli(ctx: click.Context, /, matrix: Path | None, **values: Any) -> None:
    """GPU deep-learning images from a compatibility matrix: resolved from facts, rendered, built and verified.

    \b
    python build.py plan               what the matrix gives, and what is refused and why
    python build.py --matrix           build and verify all of it
    python build.py --matrix FILE --only 'pytorch2.6*'
    """
    if ctx.invoked_subcommand is not None:
        return
    if matrix is None:
        click.echo(ctx.get_help())
        return
    _run("whole", matrix=matrix, **values)


@cli.command()
@_matrix
@_common
def plan(**values: Any) -> None:
    """Show the images the matrix gives, and the cells that are refused, with reasons."""
    _run("plan", **values)


@cli.command()
@_matrix
@_common
@_sources
@_find_links
@click.option("--upgrade", is_flag=True, help="Lock anew what is locked already.")
def lock(**values: Any) -> None:
    """Resolve each image's wheels on the package index into requirements.lock."""
    _run("lock", **values)


@cli.command()
@_matrix
@_common
@click.option("--check", is_flag=True, help="Write nothing; fail and name the files that would change.")
def render(**values: Any) -> None:
    """Render each image's Dockerfile and plan.json into images/ beside the matrix file."""
    _run("render", **values)


@cli.command()
@_matrix
@_common
@_out
@_sources
@_build
@click.option("--dry-run", is_flag=True, help="Say what would be built and build nothing.")
def build(**values: Any) -> None:
    """Build the rendered images; what has not changed is reused."""
    _run("build", **values)


@cli.command()
@_matrix
@_common
@_out
@_gpu
@click.argument("images", nargs=-1, metavar="[IMAGE]...")
def verify(images: tuple[str, ...], only: tuple[str, ...], **values: Any) -> None:
    """Check built images (all, or those named) against their plan, inside a container of each."""
    _run("verify", only=(*only, *images), **values)


@cli.command()
@_matrix
@_common
@_out
def report(**values: Any) -> None:
    """Write report.json, junit.xml and summary.md from the records in --out, and print the table."""
    _run("report", **values)


@cli.command()
@_matrix
@_common
@_out
@_sources
@_build
def base(**values: Any) -> None:
    """Find or make the base images the matrix needs (with --base local: from debootstrap and wheels)."""
    _run("base", **values)


@cli.command()
@_output
def clean(**values: Any) -> None:
    """Remove containers that a killed run left, and the engine's unused build cache."""
    _run("clean", **values)


def _run(verb: str, **values: Any) -> None:
    """Call a verb with the options as one value; raise SystemExit with its code."""
    from cubake import verbs

    raise SystemExit(getattr(verbs, verb)(Options(**values)))


def main() -> None:
    """Run the command line; no traceback reaches a user without -v."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # CI cancels with it: end as on Ctrl-C
    if sys.stdout is None:
        sys.exit(end(2, "stdout is closed: results have nowhere to go", "drop them with > /dev/null"))
    try:
        cli(standalone_mode=False)
    except click.ClickException as error:
        ctx = error.ctx if isinstance(error, click.UsageError) else None
        sys.exit(end(2, error.format_message(), f"see {ctx.command_path} --help" if ctx else ""))
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except CubakeError as error:
        sys.exit(end(error.exit_code, error.message, error.hint))
    except (KeyboardInterrupt, click.Abort):
        sys.exit(end(130, "interrupted", "run again: what was finished is kept"))
    except BrokenPipeError:
        os._exit(1)  # the reader of our output went away: nobody is left to tell, not even that flushing fails
    except OSError as error:
        where = f"{error.filename}: " if error.filename else "the output: "
        sys.exit(end(1, f"{where}{error.strerror or error}", "check the disk, and who owns the file"))
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] != "cubake":
            raise  # build.py knows what to do where a dependency is missing
        what = f"internal error: {type(error).__name__}: {error}"
        sys.exit(end(1, what, "run with -v for the traceback, and please report it"))
