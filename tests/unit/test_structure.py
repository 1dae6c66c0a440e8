"""The rules of design section 1: imports point upstream, only the doors touch the world, modules stay small."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "cubake"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)

# Downstream first. A module may import from its own room and from rooms to the right of it.
ORDER = (
    "cli",
    "arguments",
    "endings",
    "answers",
    "verbs",
    "choice",
    "console",
    "sources",
    "refresh",
    "hostinfo",
    "report",
    "verify",
    "build",
    "render",
    "plan",
    "resolve",
    "matrix",
    "facts",
)
GROUND = ("errors", "events", "options", "versions", "words")
DOORS_TO_DISK = ("files", "fetch")  # used by what is downstream of the plan, they know its lock
DOOR_MAY_IMPORT = ("cubake.plan.lock", "cubake.errors")

DOORS = {
    "cubake/files.py", "cubake/fetch.py", "cubake/hostinfo.py", "cubake/matrix/load.py", "cubake/facts/__init__.py",
    "cubake/build/engine.py", "cubake/build/rootfs.py", "cubake/build/bases.py", "cubake/verify/runner.py",
    "cubake/render/render.py", "cubake/refresh/web.py", "cubake/refresh/index.py", "cubake/refresh/reader.py",
    "cubake/refresh/registry.py",
}  # fmt: skip
DOOR_FOLDERS = ("cubake/verify/probes/", "cubake/verify/suite/")
WORLD = {"docker", "subprocess", "requests", "socket", "urllib", "http", "shutil", "tempfile"}
FILE_METHODS = {"read_text", "write_text", "read_bytes", "write_bytes", "unlink", "mkdir", "open"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def room_of(module: str) -> str:
    """``plan`` of ``cubake.plan.lock``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs: what stands under ``if TYPE_CHECKING`` does not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt) and is_type_checking(node):
            continue
        yield node
        yield from runtime_nodes(node)


def imports(path: Path) -> Iterator[str]:
    for node in runtime_nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: relative import"
            base = node.module or ""
            # `from cubake import files` names a module, `from cubake.errors import Failed` a name of one
            yield from (f"{base}.{alias.name}" if base == "cubake" else base for alias in node.names)


def own(path: Path) -> str:
    return ".".join(("cubake", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def forbidden(importer: str, imported: str) -> bool:
    """Whether an import of one cubake module by another points downstream."""
    here, there = room_of(importer), room_of(imported)
    if here == there or not there or there == "__version__":
        return False
    if here in DOORS_TO_DISK:
        return imported not in DOOR_MAY_IMPORT and there not in GROUND
    if here in GROUND:
        return there not in GROUND
    if there in GROUND:
        return False
    if there in DOORS_TO_DISK:
        return here not in ORDER[: ORDER.index("render")]
    return here not in ORDER or there not in ORDER or ORDER.index(there) < ORDER.index(here)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_upstream(path: Path) -> None:
    if name_of(path).startswith(DOOR_FOLDERS) or path == PACKAGE / "__init__.py":
        assert not [name for name in imports(path) if name.startswith("cubake")]  # they run elsewhere, alone
        return
    wrong = [name for name in imports(path) if name.split(".")[0] == "cubake" and forbidden(own(path), name)]
    assert wrong == [], f"{name_of(path)} imports downstream"


@pytest.mark.parametrize(
    ("importer", "imported", "wrong"),
    [
        ("cubake.plan.make", "cubake.resolve", False),
        ("cubake.resolve.solve", "cubake.plan", True),
        ("cubake.build.run", "cubake.verify.types", True),
        ("cubake.facts.model", "cubake.matrix", True),
        ("cubake.report.make", "cubake.files", False),
        ("cubake.plan.lock", "cubake.files", True),
        ("cubake.files", "cubake.plan.lock", False),
        ("cubake.files", "cubake.plan.make", True),
        ("cubake.errors", "cubake.facts", True),
    ],
)
def test_the_rule_itself(importer: str, imported: str, wrong: bool) -> None:
    assert forbidden(importer, imported) is wrong


@pytest.mark.parametrize("path", [path for path in MODULES if not name_of(path).startswith(DOOR_FOLDERS)], ids=name_of)
def test_only_doors_touch_the_world(path: Path) -> None:
    found = [name for name in imports(path) if name.split(".")[0] in WORLD]
    for node in runtime_nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id == "open":
                found.append(f"open at line {node.lineno}")
            if isinstance(called, ast.Attribute) and called.attr in FILE_METHODS:
                found.append(f".{called.attr} at line {node.lineno}")
    if name_of(path) in DOORS:
        assert name_of(path).endswith(("engine.py", "refresh/web.py")) or not {"docker", "requests"} & {
            f.split(".")[0] for f in found
        }
    else:
        assert found == [], f"{name_of(path)} is no door"


@pytest.mark.parametrize("name", sorted(DOORS))
def test_every_door_is_there(name: str) -> None:
    assert (ROOT / name).is_file()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_are_small_and_say_what_they_are_for(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 300
    assert ast.get_docstring(ast.parse(text))


GENERATED = ("out/", "images/", "plan.json", "report.json", "junit.xml", "summary.md")
SUFFIXES = (".py", ".md", ".yaml", ".yml", ".j2", ".sh", ".json", ".lock", ".toml")


def test_architecture_names_paths_that_exist() -> None:
    page = ROOT / "docs" / "architecture.md"
    assert page.is_file(), "docs/architecture.md is the map of the code"
    words = re.findall(r"`([\w.-]+(?:/[\w.-]+)*/?)`", page.read_text())
    paths = {word for word in words if word.endswith(("/", *SUFFIXES)) and not word.startswith(GENERATED)}
    assert paths, "it names no path"
    gone = sorted(path for path in paths if not ((ROOT / path).exists() or (PACKAGE / path).exists()))
    assert gone == []


@pytest.mark.parametrize("arguments", [["--help"], ["build", "--help"], ["--version"]], ids=" ".join)
def test_help_needs_none_of_the_heavy_packages(arguments: list[str]) -> None:
    """Design section 10: `build.py --help` in less than 0.2 s."""
    program = (
        "import sys, cubake.cli\n"
        f"sys.argv = ['build.py', *{arguments!r}]\n"
        "try:\n    cubake.cli.main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'pydantic', 'docker', 'rich', 'jinja2', 'yaml', 'requests', 'google.protobuf'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
