"""Drift: what no longer agrees with the matrix, the facts, the locks and the templates is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cubake.errors import InputError
from cubake.facts import Facts
from cubake.plan import Plan
from cubake.render import Drift, Templates, drift, rendered
from cubake.render.render import TEMPLATES

ONE = "images:\n  one: {pytorch: 2.6.0, python: '3.11', os: debian12}\n"


@pytest.fixture(scope="module")
def texts(planned: Callable[[str], Plan], facts: Facts) -> dict[str, str]:
    return rendered(planned(ONE), facts, "matrix.yaml", Templates())


def test_each_image_has_two_files(texts: dict[str, str]) -> None:
    name = "pytorch2.6.0-cuda12.4-cudnn9.1-py3.11-debian12-runtime"
    assert set(texts) == {f"{name}/Dockerfile", f"{name}/plan.json"}
    assert json.loads(texts[f"{name}/plan.json"])["name"] == name


def test_rendering_twice_gives_the_same_bytes(
    planned: Callable[[str], Plan], facts: Facts, texts: dict[str, str]
) -> None:
    assert rendered(planned(ONE), facts, "matrix.yaml", Templates()) == texts


def test_an_image_without_lock_is_not_rendered(unlocked: Callable[[str], Plan], facts: Facts) -> None:
    assert rendered(unlocked(ONE), facts, "matrix.yaml", Templates()) == {}


def test_in_step(texts: dict[str, str]) -> None:
    assert drift(texts, dict(texts), "matrix.yaml") == []


def test_an_edited_file_is_named_with_its_line(texts: dict[str, str]) -> None:
    for path, text in texts.items():
        lines = text.splitlines(keepends=True)
        edited = "".join([*lines[:4], "# by hand\n", *lines[4:]])
        assert drift(texts, texts | {path: edited}, "matrix.yaml") == [Drift(path, "line 5 differs")]


def test_a_cut_or_longer_file_is_named(texts: dict[str, str]) -> None:
    for path, text in texts.items():
        count = len(text.splitlines())
        longer = drift(texts, texts | {path: text + "RUN id\n"}, "matrix.yaml")
        assert longer == [Drift(path, f"line {count + 1} differs")]
        assert [one.path for one in drift(texts, texts | {path: ""}, "matrix.yaml")] == [path]


def test_a_missing_file_is_named(texts: dict[str, str]) -> None:
    for path in texts:
        found = {other: text for other, text in texts.items() if other != path}
        assert drift(texts, found, "matrix.yaml") == [Drift(path, "is missing")]


def test_an_extra_image_is_named_if_it_is_this_matrixs(texts: dict[str, str]) -> None:
    extra = {"old/plan.json": json.dumps({"matrix": "matrix.yaml"}), "old/Dockerfile": "FROM scratch\n"}
    assert drift(texts, texts | extra, "matrix.yaml") == [Drift("old/plan.json", "belongs to no image of the matrix")]
    other = {"old/plan.json": json.dumps({"matrix": "other.yaml"})}
    assert drift(texts, texts | other, "matrix.yaml") == []


@pytest.mark.parametrize("text", ["", "not json", "[]", "{}", '{"matrix": 1}', "null"])
def test_a_plan_of_nobody_is_left_alone(text: str, texts: dict[str, str]) -> None:
    assert drift(texts, texts | {"x/plan.json": text}, "matrix.yaml") == []


def copy_templates(folder: Path) -> None:
    for path in TEMPLATES.iterdir():
        (folder / path.name).write_text(path.read_text())


def test_a_changed_template_is_drift(
    tmp_path: Path, planned: Callable[[str], Plan], facts: Facts, texts: dict[str, str]
) -> None:
    copy_templates(tmp_path)
    assert rendered(planned(ONE), facts, "matrix.yaml", Templates(tmp_path)) == texts
    template = tmp_path / "Dockerfile.j2"
    template.write_text(template.read_text().replace("WORKDIR /workspace", "WORKDIR /work"))
    now = rendered(planned(ONE), facts, "matrix.yaml", Templates(tmp_path))
    (found,) = drift(now, texts, "matrix.yaml")
    assert found.path.endswith("/Dockerfile")


@pytest.mark.parametrize("broken", ["{{ no_such_name }}", "{% if %}", "{% include 'gone.j2' %}", "{{ name"])
def test_a_broken_template_is_named(broken: str, tmp_path: Path, planned: Callable[[str], Plan], facts: Facts) -> None:
    copy_templates(tmp_path)
    template = tmp_path / "Dockerfile.j2"
    template.write_text(template.read_text() + broken + "\n")
    with pytest.raises(InputError, match=r"^templates/Dockerfile\.j2"):
        rendered(planned(ONE), facts, "matrix.yaml", Templates(tmp_path))
