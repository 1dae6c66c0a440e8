from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cubake.errors import InputError
from cubake.matrix import Matrix, load_matrix

# Two lines, so that what a test adds begins on line 3.
HEAD = "version: 1\nrepository: ghcr.io/acme/gpu\n"
IMAGES = 'images: {torch: {pytorch: "2.6"}}\n'


@pytest.fixture
def load() -> Callable[[str], Matrix]:
    """The matrix of a text; the two first keys are added, and an image when the text has none."""
    return lambda text: load_matrix(Path("matrix.yaml"), whole(text))


@pytest.fixture
def refused(load: Callable[[str], Matrix]) -> Callable[[str], list[str]]:
    """The lines of the error for a text, each without the file's name; empty when there is none."""

    def lines(text: str) -> list[str]:
        try:
            load(text)
        except InputError as error:
            found = error.message.split("\n")
            assert all(line.startswith("matrix.yaml:") for line in found), found
            return [line.removeprefix("matrix.yaml:") for line in found]
        return []

    return lines


def whole(text: str) -> str:
    return HEAD + text + ("" if "images:" in text else IMAGES)
