"""docs/compatibility.md is what the rules say, and says what primary sources say."""

from __future__ import annotations

from pathlib import Path

from cubake.facts import Facts
from cubake.resolve.table import page

PAGE = Path(__file__).resolve().parents[3] / "docs" / "compatibility.md"


def rows(text: str) -> dict[tuple[str, str, str], dict[str, str]]:
    """(framework, release, CUDA) -> column -> cell."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    framework, head, release = "", [], ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("## "):
            framework = line[3:]
        elif line.startswith("| release"):
            head = cells
        elif line.startswith("| ") and head:
            release = cells[0] or release
            found[framework, release, cells[1].strip("*")] = dict(zip(head, cells, strict=True))
    return found


def test_the_page_is_in_step(facts: Facts) -> None:
    assert PAGE.read_text() == page(facts), "python -m cubake.resolve.table > docs/compatibility.md"


def test_what_it_says_of_known_stacks() -> None:
    """NOTES, PyTorch 3 and 4 (2.11 is the driver cliff; cu126 keeps old GPUs) and TensorFlow 6; case RW16."""
    found = rows(PAGE.read_text())
    assert found["pytorch", "2.11.0", "13.0"]["R570"] == "-"
    assert found["pytorch", "2.11.0", "13.0"]["R580"] == "yes"
    assert found["pytorch", "2.8.0", "12.8"]["Volta sm_70"] == "yes"
    assert found["pytorch", "2.8.0", "12.8"]["Pascal sm_60"] == "-"
    assert found["pytorch", "2.11.0", "12.8"]["Volta sm_70"] == "-"
    assert found["pytorch", "2.11.0", "12.6"]["Volta sm_70"] == "yes"
    assert found["tensorflow", "2.15.1", "12.2"]["Hopper sm_90"] == "PTX"
    assert found["tensorflow", "2.20.0", "12.5"]["Blackwell sm_120"] == "-"
    assert found["pytorch", "2.1.2", "11.8"]["R470"] == "yes"
    assert found["pytorch", "2.1.2", "12.1"]["R470"] == "-"
