"""``facts:`` of a matrix: rows of one's own, in the form of the facts files, sources included (design section 3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cubake.errors import InputError
from cubake.matrix import load_matrix
from cubake.plan import make_plan

MATRIX = """\
version: 1
repository: registry.example/gpu
images:
  private: {pytorch: 2.15.9, python: 3.12, os: ubuntu24.04}
facts:
  pytorch:
    sources:
      farm: {text: "our build farm, run 1234", confidence: verified}
    releases:
      2.15.9:
        released: 2026-11-20
        requires_python: ">=3.11"
        source: farm
        wheels:
          linux/amd64:
            cuda: 13.2
            cudnn: 9.26.0.51
            python: [3.12]
            glibc: 2.28
            sass: [sm_90]
            bytes: 1000
            requires: {nvidia-cudnn-cu13: "==9.26.0.51"}
"""


def test_a_row_of_ones_own_is_a_fact_with_its_source() -> None:
    matrix = load_matrix(Path("matrix.yaml"), MATRIX)
    (image,) = make_plan(matrix, matrix.facts, {}).images
    assert image.stack.pytorch == "2.15.9"
    assert image.because[0].source == "our build farm, run 1234 (verified)"
    assert "2.15.0" in matrix.facts.frameworks["pytorch"].releases, "what was shipped stays"


def test_a_matrix_without_has_the_shipped_ones() -> None:
    assert "2.15.9" not in load_matrix(Path("m"), MATRIX.partition("facts:")[0]).facts.frameworks["pytorch"].releases


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("        source: farm\n", "", "matrix.yaml:10:7: facts.pytorch.releases.2.15.9.source: field required"),
        ("source: farm", "source: hearsay", "matrix.yaml:13:9: facts.pytorch.releases.2.15.9.source: there is no such"),
        ("confidence: verified", "confidence: sure", "matrix.yaml:8:"),
        ("cuda: 13.2", "cuda: newest", "matrix.yaml:16:13: facts.pytorch.releases.2.15.9.wheels.linux/amd64.cuda"),
        ("  pytorch:\n    sources", "  pytorh:\n    sources", "matrix.yaml:6:3: the key 'pytorh' in facts"),
        ("cudnn: 9.26.0.51\n", "cudnn: 9.26.0.51\n            cublas: 1\n", "extra inputs are not permitted"),
        ("sass: [sm_90]", "sass: [$(id)]", "smuggle"),
    ],
)
def test_what_is_wrong_is_named_where_it_stands(old: str, new: str, message: str) -> None:
    assert old in MATRIX
    with pytest.raises(InputError) as caught:
        load_matrix(Path("matrix.yaml"), MATRIX.replace(old, new))
    assert message in str(caught.value)


def test_an_exclusion_that_matches_nothing_is_remembered() -> None:
    text = "version: 1\nrepository: r.example/x\nimages:\n  a: {pytorch: 2.6, python: 3.12}\n"
    text += "exclude:\n  - {pytorch: 2.7, reason: not built any more}\n  - {python: 3.12, reason: all of it}\n"
    matrix = load_matrix(Path("matrix.yaml"), text)
    assert [exclusion.reason for exclusion in matrix.idle] == ["not built any more"]
