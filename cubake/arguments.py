"""The options that several verbs share, as decorators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_Function = Callable[..., Any]


def options(*decorators: Callable[[_Function], _Function]) -> Callable[[_Function], _Function]:
    def decorate(function: _Function) -> _Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


matrix = click.option(
    "--matrix", type=click.Path(path_type=Path), metavar="FILE", default=Path("matrix.yaml"), show_default=True,
    help="The matrix file.",
)  # fmt: skip
output = options(
    click.option("--json", is_flag=True, help="One JSON document on stdout."),
    click.option("-v", "--verbose", is_flag=True, help="Every line of every step, causes of rebuilds, tracebacks."),
    click.option("-q", "--quiet", is_flag=True, help="No progress; results and errors only."),
)
common = options(
    click.option("--only", multiple=True, metavar="GLOB", help="Only images whose name matches. Repeatable."),
    output,
)
out = click.option(
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


index = options(
    click.option("--index-url", callback=_as_in_matrix, metavar="URL",
                 help="Package index instead of the installer's default."),
    click.option("--ca-bundle", callback=_as_in_matrix, metavar="FILE",
                 help="CA certificates to trust [SSL_CERT_FILE]."),
)  # fmt: skip
sources = options(
    index,
    click.option("--extra-index-url", "extra_index_urls", callback=_as_in_matrix, multiple=True, metavar="URL",
                 help="Further index."),
)  # fmt: skip
find_links = click.option("--find-links", callback=_as_in_matrix, metavar="DIR|URL",
                           help="Wheels to consider beside the index, when locking.")  # fmt: skip
build = options(
    click.option("--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="Builds at once."),
    click.option("--fail-fast", is_flag=True, help="Start nothing more after the first failure."),
    click.option("--no-cache", is_flag=True, help="Build every step anew."),
    click.option("--base", type=click.Choice(["auto", "registry", "local"]), default="auto", show_default=True,
                 help="Where bases come from: a registry, wheels and debootstrap, or whichever answers first."),
    click.option("--network", callback=_as_in_matrix, metavar="MODE", help="Network of build steps, e.g. host."),
)  # fmt: skip
gpu = options(
    click.option("--gpu", default="auto", show_default=True, metavar="auto|none|all|DEVICE",
                 help="GPU for the GPU checks; DEVICE is a CDI name such as nvidia.com/gpu=all."),
    click.option("--require-gpu", is_flag=True, help="GPU checks that cannot run are failures."),
)  # fmt: skip
