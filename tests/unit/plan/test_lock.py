"""Locks: the same input gives the same bytes, an edit is found, another question is stale."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cubake.errors import InputError
from cubake.facts import Facts
from cubake.matrix import load_matrix
from cubake.plan import LockInput, Package, lock_text, make_plan, parse_lock

ASKED = LockInput(("torch==2.6.0", "numpy<3", "pip"), (), "3.11", "x86_64-manylinux_2_36", None)
FULL = LockInput(("torch==2.6.0+cu126",), ("numpy==2.2.6",), "3.11", "x86_64-manylinux_2_36", "cu126")


@pytest.fixture
def packages(make_package: Callable[[str, str], Package]) -> tuple[Package, ...]:
    return tuple(
        make_package(name, version) for name, version in (("torch", "2.6.0+cu126"), ("numpy", "2.2.6"), ("pip", "25.3"))
    )


@pytest.mark.parametrize("asked", [ASKED, FULL])
def test_what_is_written_is_read(asked: LockInput, packages: tuple[Package, ...]) -> None:
    lock = parse_lock(lock_text(asked, packages), "requirements.lock")
    assert lock.packages == tuple(sorted(packages, key=lambda package: package.name))
    assert lock.answers(asked)
    assert lock.bytes == sum(package.bytes for package in packages)


def test_the_order_of_the_packages_does_not_matter(packages: tuple[Package, ...]) -> None:
    assert lock_text(ASKED, packages) == lock_text(ASKED, packages[::-1])


def test_it_is_a_requirements_file_with_hashes(packages: tuple[Package, ...]) -> None:
    for line in lock_text(ASKED, packages).splitlines():
        assert line.startswith("#") or re.match(r"^[a-z0-9-]+==\S+ --hash=sha256:[0-9a-f]{64}  # \d+ bytes$", line)


def test_it_names_the_command_that_writes_it(packages: tuple[Package, ...]) -> None:
    assert "python build.py lock" in lock_text(ASKED, packages).splitlines()[0]


def test_every_edited_character_below_the_seal_is_found(packages: tuple[Package, ...]) -> None:
    text = lock_text(ASKED, packages)
    start = text.index("# for:")
    for at in range(start, len(text)):
        edited = text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1 :]
        with pytest.raises(InputError) as caught:
            parse_lock(edited, "images/a/requirements.lock")
        assert re.match(r"images/a/requirements\.lock:\d+:1: ", caught.value.message)
        assert "build.py lock" in caught.value.hint


@pytest.mark.parametrize("change", ["drop", "twice", "swap", "append"])
def test_lines_that_come_and_go_are_found(change: str, packages: tuple[Package, ...]) -> None:
    lines = lock_text(ASKED, packages).splitlines()
    match change:
        case "drop":
            lines.pop()
        case "twice":
            lines.append(lines[-1])
        case "swap":
            lines[-1], lines[-2] = lines[-2], lines[-1]
        case "append":
            lines.append("# a note")
    with pytest.raises(InputError, match="edited by hand"):
        parse_lock("\n".join(lines) + "\n", "a.lock")


def test_a_wrong_line_is_named(packages: tuple[Package, ...]) -> None:
    lines = lock_text(ASKED, packages).splitlines()
    lines.insert(5, "torch>=2")
    with pytest.raises(InputError) as caught:
        parse_lock("\n".join(lines), "a.lock")
    assert caught.value.message == "a.lock:6:1: not a locked package: 'torch>=2'"


@pytest.mark.parametrize("text", ["", "torch==2.6.0\n", "<<<<<<< HEAD\n", "\n"])
def test_what_is_no_lock_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_lock(text, "a.lock")


@pytest.mark.parametrize(
    "other",
    [
        replace(ASKED, requirements=("torch==2.5.1", "numpy<3", "pip")), replace(ASKED, python="3.12"),
        replace(ASKED, platform="x86_64-manylinux_2_35"), replace(ASKED, index="cu126"),
        replace(ASKED, constraints=("numpy==2.2.6",)), replace(ASKED, requirements=("torch==2.6.0", "pip")),
    ],
)  # fmt: skip
def test_a_lock_answers_its_own_question_only(other: LockInput, packages: tuple[Package, ...]) -> None:
    assert not parse_lock(lock_text(ASKED, packages), "a.lock").answers(other)


def test_another_question_makes_the_image_stale(facts: Facts, packages: tuple[Package, ...]) -> None:
    entry = "  a: {pytorch: 2.6.0, python: 3.11, os: debian12, pip: numpy<3}\n"
    text = f"version: 1\nrepository: r.example/gpu\nimages:\n{entry}"
    matrix = load_matrix(Path("matrix.yaml"), text)
    name = make_plan(matrix, facts, {}).images[0].name
    (same,) = make_plan(matrix, facts, {name: parse_lock(lock_text(ASKED, packages), "a.lock")}).images
    assert (same.locked, same.stale) == (True, False)
    other = parse_lock(lock_text(replace(ASKED, python="3.12"), packages), "a.lock")
    plan = make_plan(matrix, facts, {name: other})
    assert (plan.images[0].locked, plan.images[0].stale) == (False, True)
    assert plan.unlocked == plan.images
