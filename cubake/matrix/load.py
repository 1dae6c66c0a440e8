"""matrix.yaml -> Matrix: reads the file, lets the tree and the model refuse what they must, checks what only the whole
file can tell (profiles that exist, entries that differ), and multiplies the axes out."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from cubake.errors import InputError
from cubake.matrix.facts import own_facts
from cubake.matrix.model import EntryRow, ExcludeRow, MatrixFile
from cubake.matrix.problems import Problem, dotted, printable, raise_all, shown, suggest
from cubake.matrix.profiles import BUILT_IN
from cubake.matrix.refusals import validate
from cubake.matrix.types import AXES, BuildOptions, Cell, Exclusion, Matrix, Profile
from cubake.matrix.yamltree import Tree, read_tree

MAX_CELLS = 100_000
MAX_BYTES = 10_000_000


def load_matrix(path: Path, text: str | None = None) -> Matrix:
    """Read a matrix; `text` stands for the file's content where the caller has it already."""
    file = printable(str(path))
    tree = read_tree(file, read_text(path) if text is None else text)
    model, problems = validate(tree)
    raise_all([*problems, *_unknown_profiles(tree)])
    assert model is not None  # it is None only with a problem to raise
    facts = own_facts(tree)
    raise_all(_too_many_cells(model, tree))
    wanted = [cell for name, entry in model.images.items() for cell in _cells(name, entry, model, tree)]
    raise_all(_repeated_cells(wanted))
    exclusions = [_exclusion(index, row, tree) for index, row in enumerate(model.exclude)]
    verdicts = [(cell, next((rule for rule in exclusions if rule.matches(cell)), None)) for cell in wanted]
    return Matrix(
        file=file,
        repository=model.repository,
        drivers=model.drivers,
        gpus=model.gpus,
        cells=tuple(cell for cell, rule in verdicts if rule is None),
        excluded=tuple((cell, rule) for cell, rule in verdicts if rule is not None),
        profiles=_profiles(model),
        build=_build(model),
        facts=facts,
        idle=tuple(rule for rule in exclusions if not any(rule is found for _, found in verdicts)),
    )


def read_text(path: Path) -> str:
    """The only place of this room that touches the disk. A pipe might never end, nor a device."""
    file = printable(str(path))
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode) and not S_ISDIR(status.st_mode):
            raise InputError(f"{file}: is no plain file", hint="name a file with --matrix FILE")
        if status.st_size > MAX_BYTES:
            raise InputError(f"{file}: larger than a matrix can be ({MAX_BYTES // 1_000_000} MB)")
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"{file}: no such file", hint="name another with --matrix FILE") from None
    except IsADirectoryError:
        raise InputError(f"{file}: is a directory, not a file", hint="name a file with --matrix FILE") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8: byte {error.start} is 0x{error.object[error.start]:02x}") from None
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None


def _unknown_profiles(tree: Tree) -> list[Problem]:
    """Judged on the data, not on the model, so that it is told together with other problems."""
    defined = tree.at(("profiles",))
    known = [profile.name for profile in BUILT_IN] + (list(defined) if isinstance(defined, dict) else [])
    problems = []
    for path, position in tree.values.items():
        name = tree.at(path) if _names_a_profile(path) else None
        if isinstance(name, str) and name not in known:
            text = f"{dotted(path)} is '{shown(name)}': no such profile: {suggest(name, known)}"
            problems.append(Problem(position, text, path))
    return problems


def _names_a_profile(path: tuple[str | int, ...]) -> bool:
    match path:
        case ("defaults", "profile") | ("images" | "exclude", _, "profile") | ("images" | "exclude", _, "profile", _):
            return True
        case _:
            return False


def _values(entry: EntryRow, model: MatrixFile) -> list[tuple[str, tuple[str, ...]]]:
    """The axes that the entry or the defaults give, each with its values."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for axis in AXES:
        default = getattr(model.defaults, axis, None)
        values = getattr(entry, axis) or ((default,) if default else ())
        if values:
            found.append((axis, values))
    return found


def _cells(name: str, entry: EntryRow, model: MatrixFile, tree: Tree) -> list[Cell]:
    axes = _values(entry, model)
    single = not any(isinstance(tree.at(("images", name, axis)), list) for axis in AXES)
    on_conflict = entry.on_conflict or ("fail" if single else "skip")
    names = [axis for axis, _ in axes]
    return [
        Cell(name, tuple(zip(names, chosen, strict=True)), entry.pip, tree.keys["images", name], single, on_conflict)
        for chosen in product(*(values for _, values in axes))
    ]


def _too_many_cells(model: MatrixFile, tree: Tree) -> list[Problem]:
    """Nine short lists multiply to more than a machine holds, so they are counted before."""
    total = 0
    for name, entry in model.images.items():
        total += prod(len(values) for _, values in _values(entry, model))
        if total > MAX_CELLS:
            text = f"images.{name} makes {total} cells so far: more than {MAX_CELLS} are refused"
            return [Problem(tree.keys["images", name], text)]
    return []


def _repeated_cells(cells: list[Cell]) -> list[Problem]:
    first_with: dict[tuple[tuple[str, str], ...], Cell] = {}
    problems = []
    for cell in cells:
        first = first_with.setdefault(cell.axes, cell)
        if first is not cell:
            text = f"images.{cell.entry} and images.{first.entry} ({first.position}) both give {replace(cell, pip=())}"
            problems.append(Problem(cell.position, text))
    return problems


def _exclusion(index: int, row: ExcludeRow, tree: Tree) -> Exclusion:
    axes = tuple((axis, getattr(row, axis)) for axis in AXES if getattr(row, axis))
    return Exclusion(axes, row.reason, tree.values["exclude", index])


def _profiles(model: MatrixFile) -> dict[str, Profile]:
    own = [Profile(name, tuple(row.env.items()), row.description) for name, row in model.profiles.items()]
    return {profile.name: profile for profile in (*BUILT_IN, *own)}


def _build(model: MatrixFile) -> BuildOptions:
    values = model.build.model_dump()
    values["mirrors"] = tuple(model.build.mirrors.items())
    if mirror := model.build.registry_mirror:  # an image's name has neither scheme nor slash at its end
        values["registry_mirror"] = mirror.split("://")[-1].rstrip("/")
    return BuildOptions(**values)
