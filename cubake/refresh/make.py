"""One refresh: every file on its own, so that a source that is silent or wrong costs no other file its news."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import BaseModel, ValidationError

from cubake import files
from cubake.errors import CubakeError, InputError, Refused, Unavailable
from cubake.facts import model
from cubake.refresh import base_images, compare, cudnn, pytorch, tensorflow, toolkit, yamlfile
from cubake.refresh import check as checks
from cubake.refresh.types import Announce, Data, FileResult, Missing, Refreshed, Sources
from cubake.refresh.world import World, open_world


@dataclass(frozen=True)
class _Maker:
    """How a file is made, what it must look like, and what to call its source."""

    build: Callable[[World], Data]
    model: type[BaseModel]
    source: str


MAKERS = {
    "pytorch": _Maker(pytorch.build, model.Framework, "the package index (torch)"),
    "tensorflow": _Maker(tensorflow.build, model.Framework, "the package index (tensorflow)"),
    "components": _Maker(toolkit.build, model.Components, "the package index (cuda-toolkit)"),
    "cudnn": _Maker(cudnn.build, model.Cudnn, "the package index (nvidia-cudnn-cu*)"),
    "base_images": _Maker(base_images.build, model.BaseImages, "the registry"),
}
BY_HAND = ("cuda", "gpus", "os", "advisories")  # tables of NVIDIA and the distributions that no index serves


def refresh(
    folder: Path,
    sources: Sources,
    announce: Announce,
    *,
    only: tuple[str, ...] = (),
    check: bool = False,
    today: date | None = None,
) -> Refreshed:
    """Derive the facts files in ``folder`` anew and write those that changed; with ``check`` only tell what is missing.

    ``only`` are globs over the files' names (pytorch, base_images); ``announce`` gets a line for whatever takes time or
    is left out; ``today`` is what a changed file is dated. InputError where a file cannot be read or no name matches.
    """
    names = _select((*MAKERS, *BY_HAND), only)
    texts = {name: _text(folder / f"{name}.yaml") for name in (*MAKERS, *BY_HAND)}
    world = open_world(sources, {name: _parsed(name, text) for name, text in texts.items()}, announce)
    day = today or date.today()
    kept = [_kept(name, texts[name]) for name in names if name in BY_HAND]
    online = [name for name in names if name in MAKERS]
    if check:
        return _checked(world, online, kept, {name: yamlfile.date_of(texts[name]) for name in names}, day)
    results = [_one(name, folder, texts[name], world, day.isoformat()) for name in online]
    announce(f"{world.web.count} requests")
    return Refreshed(False, (*results, *kept), warnings=_warnings(folder, online, world))


def _select(known: Iterable[str], only: tuple[str, ...]) -> list[str]:
    names = [name for name in known if not only or any(fnmatch.fnmatchcase(name, glob) for glob in only)]
    if not names:
        raise InputError(f"no facts file matches --only {' '.join(only)}", f"there are {', '.join(known)}")
    return names


def _text(path: Path) -> str:
    text = files.read(path)
    if text is None:
        raise InputError(f"{path}: there is no such file", "run from a checkout, where the facts are")
    return text


def _parsed(name: str, text: str) -> Data:
    try:
        return yamlfile.parse(text)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name}.yaml: cannot be read: {error}", "take it from the last commit") from error


def _kept(name: str, text: str) -> FileResult:
    return FileResult(name, "kept", f"kept by hand, as of {yamlfile.date_of(text) or 'an unknown date'}")


def _one(name: str, folder: Path, old_text: str, world: World, today: str) -> FileResult:
    """Make, judge and write one file. What is wrong with it is its result and nobody else's."""
    old, maker = world.committed[name], MAKERS[name]
    try:
        new = maker.build(world)
        compare.hold_floor(name, old, new, maker.source)
        _validate(name, new, maker.model)
    except CubakeError as error:
        return _failed(name, error)
    changes = compare.changes(name, old, new)
    text = yamlfile.dump(name, new, today if changes else yamlfile.date_of(old_text) or today)
    if text == old_text:
        return FileResult(name, "unchanged")
    files.write(folder / f"{name}.yaml", text)
    remark = "" if changes else "the rows are the same, their order or the head is not"
    return FileResult(name, "changed", remark, changes)


def _failed(name: str, error: CubakeError) -> FileResult:
    reason = f"{error.message}; {error.hint}" if error.hint else error.message
    return FileResult(name, "skipped" if isinstance(error, Unavailable) else "refused", reason)


def _validate(name: str, data: Data, kind: type[BaseModel]) -> None:
    try:
        kind.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = " ".join(map(str, first["loc"]))
        raise Refused(f"{name}: {where}: {first['msg']}: {first['input']!r}; nothing is written") from error


def _warnings(folder: Path, online: list[str], world: World) -> tuple[str, ...]:
    """What a new toolkit asks of the tables kept by hand."""
    if "components" not in online:
        return ()
    toolkits, cuda = yamlfile.parse(_text(folder / "components.yaml"))["toolkits"], world.committed["cuda"]
    return checks.unknown_minors(toolkits, cuda) + checks.unnamed_releases(toolkits, cuda)


def _checked(world: World, online: list[str], kept: list[FileResult], dates: dict[str, str], today: date) -> Refreshed:
    results, found, toolkits, cuda = [], list[Missing](), set[str](), world.committed["cuda"]
    for name in online:
        try:
            missing = checks.missing(name, world)
        except CubakeError as error:
            results.append(_failed(name, error))
            continue
        found += missing
        results.append(FileResult(name, "unchanged", f"{len(missing)} missing" if missing else ""))
        toolkits |= set(toolkit.listed(world)) if name == "components" else set()
    old = checks.old_tables({row.name: dates[row.name] for row in kept}, today)
    return Refreshed(
        check=True,
        files=(*results, *kept),
        missing=tuple(found),
        problems=checks.unknown_minors(toolkits, cuda),
        warnings=checks.unnamed_releases(toolkits, cuda) + old,
    )
