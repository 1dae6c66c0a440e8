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

from cubake import __version__, arguments
from cubake.endings import end
from cubake.errors import CubakeError
from cubake.options import Options

EPILOG = (
    "Exit codes: 0 all done; 1 a build or a check failed; 2 the command or a file is wrong; 3 what was asked for "
    "cannot work; 4 the engine or a service does not answer; 130 interrupted. Results go to stdout, progress to stderr."
)


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
@arguments.common
@arguments.out
@arguments.sources
@arguments.build
@arguments.gpu
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
@arguments.matrix
@arguments.common
def plan(**values: Any) -> None:
    """Show the images the matrix gives, and the cells that are refused, with reasons."""
    _run("plan", **values)


@cli.command()
@arguments.matrix
@arguments.common
@arguments.sources
@arguments.find_links
@click.option("--upgrade", is_flag=True, help="Lock anew what is locked already.")
def lock(**values: Any) -> None:
    """Resolve each image's wheels on the package index into requirements.lock."""
    _run("lock", **values)


@cli.command()
@arguments.matrix
@arguments.common
@click.option("--check", is_flag=True, help="Write nothing; fail and name the files that would change.")
def render(**values: Any) -> None:
    """Render each image's Dockerfile and plan.json into images/ beside the matrix file."""
    _run("render", **values)


@cli.command()
@arguments.matrix
@arguments.common
@arguments.out
@arguments.sources
@arguments.build
@click.option("--dry-run", is_flag=True, help="Say what would be built and build nothing.")
def build(**values: Any) -> None:
    """Build the rendered images; what has not changed is reused."""
    _run("build", **values)


@cli.command()
@arguments.matrix
@arguments.common
@arguments.out
@arguments.gpu
@click.argument("images", nargs=-1, metavar="[IMAGE]...")
def verify(images: tuple[str, ...], only: tuple[str, ...], **values: Any) -> None:
    """Check built images (all, or those named) against their plan, inside a container of each."""
    _run("verify", only=(*only, *images), **values)


@cli.command()
@arguments.matrix
@arguments.common
@arguments.out
def report(**values: Any) -> None:
    """Write report.json, junit.xml and summary.md from the records in --out, and print the table."""
    _run("report", **values)


@cli.command()
@arguments.matrix
@arguments.common
@arguments.out
@arguments.sources
@arguments.build
def base(**values: Any) -> None:
    """Find or make the base images the matrix needs (with --base local: from debootstrap and wheels)."""
    _run("base", **values)


@cli.command()
@arguments.output
def clean(**values: Any) -> None:
    """Remove containers that a killed run left, and the engine's unused build cache."""
    _run("clean", **values)


@cli.command()
@arguments.matrix
@arguments.output
@click.argument("words", nargs=-1, required=True, metavar="CELL|RULE|IMAGE")
def explain(words: tuple[str, ...], **values: Any) -> None:
    """Say why: of a cell, a rule or an image of the matrix.

    \b
    explain pytorch=2.6 cuda=12.1 python=3.12 driver=535.104 gpu=sm_89
    explain R-004
    """
    from cubake import answers

    raise SystemExit(answers.explain(Options(**values), words))


def _wants(function: Callable[..., Any]) -> Callable[..., Any]:
    for axis in ("profile", "flavor", "os", "python", "cudnn", "cuda", "tensorflow", "pytorch"):
        function = click.option(f"--{axis}", metavar="NAME" if axis in ("profile", "flavor", "os") else "VERSION",
                                help=f"Only images with this {axis}.")(function)  # fmt: skip
    return function


@cli.command()
@arguments.matrix
@_wants
@click.option("--driver", "drivers", multiple=True, metavar="VERSION", help="Driver of the host. Repeatable.")
@click.option(
    "--gpu", "gpus", multiple=True, metavar="sm_XY|NAME", help="GPU of the host: sm_89, 'RTX 4090'. Repeatable."
)
@arguments.output
def which(drivers: tuple[str, ...], gpus: tuple[str, ...], **values: Any) -> None:
    """Say which images fit a host, best first: does it start, run, compile PTX, have kernels.

    The host is the one given, else CUBAKE_HOST (JSON, or a file with it or with `nvidia-smi -L`), else this machine.
    """
    from cubake import answers
    from cubake.plan.which import WANTS

    wants = {axis: value for axis in WANTS if (value := values.pop(axis)) is not None}
    raise SystemExit(answers.which(Options(**values), wants, drivers, gpus))


@cli.command()
@click.option("--check", is_flag=True, help="Write nothing; fail when there is a release that the facts lack.")
@click.option("--only", multiple=True, metavar="GLOB", help="Only these facts files: pytorch, base_images. Repeatable.")
@click.option("--registry", metavar="HOST", help="Mirror of Docker Hub to read image configurations from.")
@arguments.index
@arguments.output
def refresh(registry: str | None, **values: Any) -> None:
    """Rebuild the facts from their sources: package index, wheels, PyTorch's index, the registry; show what changed."""
    from cubake import answers

    raise SystemExit(answers.refresh(Options(**values), registry))


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
