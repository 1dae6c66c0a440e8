"""The answers of `explain` and `which` as people read them: golden texts (UPDATE_GOLDEN=1 writes them anew; then read
the difference as a user would)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cubake import answers
from cubake.errors import InputError
from cubake.options import Options
from cubake.resolve.rules import RULES

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "explain"
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"
CELLS = {
    "works": "pytorch=2.6 python=3.12",
    "other-cuda": "pytorch=2.6 cuda=11.8 python=3.12",
    "cuda-not-published": "pytorch=2.6 cuda=12.1 python=3.12",
    "both": "pytorch=2.7 tensorflow=2.19 python=3.12",
    "both-cannot": "pytorch=2.4.1 tensorflow=2.15.1 cuda=12.1 python=3.11",
    "host-too-old": "pytorch=2.1.0 cuda=12.1 driver=470.182.03 gpu='RTX 3090'",
    "host-chooses": "pytorch=2.1.0 driver=470.182.03",
    "gate": "pytorch=2.5 cuda=12.4 driver=545.23 gpu='RTX 3090'",
    "blackwell": "pytorch=any driver=550.144.03 gpu='RTX 5090'",
    "hopper-ptx": "tensorflow=2.15.1 python=3.11 gpu=H100",
    "toolkit-cudnn": "cuda=12.6 cudnn=any flavor=devel os=ubuntu24.04",
    "unknown-version": "pytorch=2.99",
}
CODES = dict.fromkeys(CELLS, 0) | {"unknown-version": 2}
CODES |= dict.fromkeys(("cuda-not-published", "both-cannot", "host-too-old", "gate", "blackwell"), 3)
MATRIX = """\
version: 1
repository: registry.example/gpu
images:
  old: {pytorch: 2.6.0, python: 3.11}
  new: {pytorch: [2.8.0, 2.11.0], python: 3.11}
  flow: {tensorflow: 2.19.1, python: 3.11}
  kit: {cuda: 12.6.3, flavor: devel, python: 3.12}
"""
HOSTS: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]] = {
    "which-rtx-4090": (("550.144.03",), ("RTX 4090",), {}),
    "which-h100-tensorflow": (("580.95.05",), ("H100",), {"tensorflow": "2.19"}),
    "which-nothing": (("550.144.03",), ("RTX 5090",), {"pytorch": "2"}),
    "which-fleet": (("550.144.03", "580.95.05"), ("L4", "RTX 5090"), {}),
}
Say = Callable[..., str]


@pytest.fixture
def explained(capsys: pytest.CaptureFixture[str]) -> Say:
    def say(words: str, code: int = 0, *, as_json: bool = False) -> str:
        assert answers.explain(Options(json=as_json), (words,)) == code
        return capsys.readouterr().out

    return say


@pytest.fixture
def chosen(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    def say(name: str, *, as_json: bool = False) -> str:
        (tmp_path / "matrix.yaml").write_text(MATRIX)
        monkeypatch.chdir(tmp_path)
        drivers, gpus, wants = HOSTS[name]
        code = answers.which(Options(json=as_json), wants, drivers, gpus)
        assert code == (3 if name in ("which-nothing", "which-fleet") else 0)
        return capsys.readouterr().out

    return say


def compare(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if UPDATE:
        path.write_text(text)
    assert path.is_file(), "write it with UPDATE_GOLDEN=1"
    assert text == path.read_text(), f"if this is meant: UPDATE_GOLDEN=1 pytest {Path(__file__).name}"


@pytest.mark.parametrize("name", CELLS)
def test_golden_cell(name: str, explained: Say) -> None:
    compare(name, explained(CELLS[name], CODES[name]))


@pytest.mark.parametrize("rule", RULES)
def test_golden_rule(rule: str, explained: Say) -> None:
    compare(rule, explained(rule))


@pytest.mark.parametrize("name", HOSTS)
def test_golden_which(name: str, chosen: Say) -> None:
    compare(name, chosen(name))


def test_no_golden_file_is_idle() -> None:
    assert {path.stem for path in GOLDEN.glob("*")} == {*CELLS, *RULES, *HOSTS}


@pytest.mark.parametrize("name", CELLS)
def test_the_document_says_what_the_text_says(name: str, explained: Say) -> None:
    """Keys by design section 5; every sentence of the text is in the document."""
    text, document = explained(CELLS[name], CODES[name]), json.loads(explained(CELLS[name], CODES[name], as_json=True))
    assert {"ok", "stack", "because", "nearest"} <= document.keys()
    assert document["ok"] is (CODES[name] == 0)
    assert (document["stack"] is None) is not document["ok"]
    assert ("verdicts" in document) is ("driver=" in CELLS[name] or "gpu=" in CELLS[name])
    for reason in document["because"]:
        assert {"rule", "statement", "fact", "source"} <= reason.keys()
        assert f"{reason['rule']} {reason['statement']}" in text
        assert reason["source"] in text
    for near in document["nearest"]:
        assert {"cell", "changes"} <= near.keys()


@pytest.mark.parametrize("name", HOSTS)
def test_the_document_of_which(name: str, chosen: Say) -> None:
    document = json.loads(chosen(name, as_json=True))
    for host in document.get("hosts", [document]):
        assert {"host", "best", "images"} <= host.keys()
        for image in host["images"]:
            assert {"name", "verdicts"} <= image.keys()
            assert list(image["verdicts"]) == ["starts", "runs", "jits", "kernels"]
            for verdict in image["verdicts"].values():
                assert verdict.keys() == {"ok", "statement", "source"}
                assert verdict["statement"]


def test_texts_are_tidy(explained: Say) -> None:
    """No blank at the end of a line, no two empty lines, one line break at the end."""
    for name, cell in CELLS.items():
        text = explained(cell, CODES[name])
        assert not re.search(r"[ \t]\n|\n\n\n", text), name
        assert text.endswith("\n") and not text.endswith("\n\n")


def test_a_rule_is_found_however_it_is_written(explained: Say) -> None:
    assert explained("r-004") == explained("R-004")
    with pytest.raises(InputError, match="no rule R-999"):
        explained("R-999")


def test_what_is_no_cell_no_rule_and_no_image(chosen: Say, explained: Say) -> None:
    chosen("which-rtx-4090")  # writes the matrix
    with pytest.raises(InputError) as raised:
        explained("pytorch2.6.0-cuda12.4-cudnn9.1-py3.11-ubuntu22.04-runtim")
    assert "no cell (axis=value …), no rule (R-004) and no image of the matrix" in raised.value.message
    assert raised.value.hint == "near it: pytorch2.6.0-cuda12.4-cudnn9.1-py3.11-ubuntu22.04-runtime" or (
        "pytorch2.6.0-cuda12.4-cudnn9.1-py3.11-ubuntu22.04-runtime" in raised.value.hint
    )


def test_an_image_of_the_matrix_is_explained_by_its_name(chosen: Say, explained: Say) -> None:
    chosen("which-rtx-4090")
    name = "pytorch2.6.0-cuda12.4-cudnn9.1-py3.11-ubuntu22.04-runtime"
    text = explained(name)
    assert text.startswith(f"{name}\n")
    assert "R-002 pytorch 2.6.0 is built with CUDA 12.4" in text
