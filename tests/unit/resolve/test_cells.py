"""A cell as people write it when they ask, and what they are told where it is none."""

from __future__ import annotations

import pytest

from cubake.errors import InputError
from cubake.facts import Facts
from cubake.resolve import RefusedCell, solve
from cubake.resolve.cells import EXAMPLE, parse_cell


@pytest.mark.parametrize(
    ("words", "axes"),
    [
        (["pytorch=2.6"], {"pytorch": "2.6"}),
        (["pytorch=2.6", "cuda=12.4"], {"pytorch": "2.6", "cuda": "12.4"}),
        (["pytorch=2.6 cuda=12.4"], {"pytorch": "2.6", "cuda": "12.4"}),
        (["  pytorch=2.6   cuda=12.4 "], {"pytorch": "2.6", "cuda": "12.4"}),
        (["pytorch='2.10' python=\"3.10\""], {"pytorch": "2.10", "python": "3.10"}),
        (["pytorch=2.6 gpu=RTX 4090"], {"pytorch": "2.6", "gpu": "RTX 4090"}),
        (["gpu='RTX 4090' pytorch=2.6"], {"pytorch": "2.6", "gpu": "RTX 4090"}),
        (["pytorch=any gpu=NVIDIA A100-SXM4-40GB MIG 3g.20gb driver=535.104.05"],
         {"pytorch": "any", "driver": "535.104.05", "gpu": "NVIDIA A100-SXM4-40GB MIG 3g.20gb"}),
        (["cuda=12.6", "os=debian12", "flavor=devel"], {"cuda": "12.6", "os": "debian12", "flavor": "devel"}),
    ],
)  # fmt: skip
def test_words(words: list[str], axes: dict[str, str], facts: Facts) -> None:
    cell = parse_cell(words, facts)
    defaults = {"os": "ubuntu22.04", "flavor": "runtime", "profile": "prod", "platform": "linux/amd64"}
    assert dict(cell.axes) == defaults | axes


def test_axes_stand_in_one_order_whatever_the_order_of_words(facts: Facts) -> None:
    one = parse_cell(["gpu=sm_89 python=3.12 pytorch=2.6 driver=550.54 cuda=12.4"], facts)
    other = parse_cell(["cuda=12.4", "driver=550.54", "pytorch=2.6", "python=3.12", "gpu=sm_89"], facts)
    assert one == other
    assert str(one) == (
        "pytorch=2.6 cuda=12.4 python=3.12 os=ubuntu22.04 flavor=runtime profile=prod platform=linux/amd64"
        " driver=550.54 gpu=sm_89"
    )


def test_a_cell_reads_back_what_it_says(facts: Facts) -> None:
    cell = parse_cell(["pytorch=2.6 gpu=RTX 4090 driver=550.54"], facts)
    assert parse_cell([str(cell)], facts) == cell


def test_packages_may_stand_several_times(facts: Facts) -> None:
    cell = parse_cell(["pytorch=2.6 pip=numpy<3", "pip=torchvision"], facts)
    assert cell.pip == ("numpy<3", "torchvision")
    assert cell.get("pip") is None


def test_versions_stay_text(facts: Facts) -> None:
    assert parse_cell(["pytorch=2.10 python=3.10"], facts).get("pytorch") == "2.10"


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["pytorch"], "'pytorch' is no axis=value", EXAMPLE),
        (["pytorch="], "'pytorch=' is no axis=value", EXAMPLE),
        (["=2.6"], "unknown axis ''", EXAMPLE),
        (["pytorch=2.6 12.4"], "pytorch=2.6 12.4: wants a version", EXAMPLE),
        (["torch=2.6"], "unknown axis 'torch': did you mean 'pytorch'?", EXAMPLE),
        (["tensorflw=2.19"], "did you mean 'tensorflow'?", EXAMPLE),
        (["numpy=2"], "valid here: pytorch, tensorflow, cuda, cudnn, python, os, flavor", EXAMPLE),
        (["pytorch=2.6 pytorch=2.7"], "pytorch is given twice: 2.6 and 2.7", EXAMPLE),
        (["pytorch=2.6", "gpu=L4", "gpu=H100"], "gpu is given twice: L4 and H100", EXAMPLE),
        (["pytorch=latest"], "pytorch=latest: wants a version such as 2.6 or 2.6.1", EXAMPLE),
        (["cuda=12"], "cuda=12: wants X.Y or X.Y.Z, such as 12.4", EXAMPLE),
        (["pytorch=2.6 python=3"], "python=3: wants X.Y, such as 3.12", EXAMPLE),
        (["pytorch=2.6 os=ubuntu"], "os=ubuntu: wants a distribution and its version, such as ubuntu22.04", EXAMPLE),
        (["pytorch=2.6 flavor=tiny"], "flavor=tiny: wants 'base', 'runtime' or 'devel'", EXAMPLE),
        (["pytorch=2.6 platform=windows"], "platform=windows: wants 'linux/amd64' or 'linux/arm64'", EXAMPLE),
        (["pytorch=2.6 pip=-r"], "options are not allowed", EXAMPLE),
        (["pytorch=2.6 pip=numpy @ https://example.org/n.whl"], "a URL is not allowed", EXAMPLE),
        (["python=3.12"], "the question wants at least one of pytorch, tensorflow, cuda", EXAMPLE),
        (["driver=550.54 gpu=L4"], "the question wants at least one of pytorch, tensorflow, cuda", EXAMPLE),
        (["pytorch=2.6 driver=12.4"], "'12.4' is no driver version", "write it as nvidia-smi shows it: 535.104.05"),
        (["pytorch=2.6 gpu=RTX 4900"], "no GPU 'RTX 4900' is known", "such as sm_89"),
        (["pytorch=2.6 gpu=sm_42"], "sm_42", ""),
    ],
)  # fmt: skip
def test_what_is_no_cell(words: list[str], message: str, hint: str, facts: Facts) -> None:
    with pytest.raises(InputError) as raised:
        parse_cell(words, facts)
    assert message in raised.value.message
    assert hint in raised.value.hint


@pytest.mark.parametrize("word", ["pytorch=2.6\x1b[31m", "py\x1btorch=2.6", "pytorch=2.6 gpu=\x1b]0;x\x07"])
def test_a_message_does_no_harm_to_a_terminal(word: str, facts: Facts) -> None:
    with pytest.raises(InputError) as raised:
        parse_cell([word], facts)
    assert "\x1b" not in raised.value.message + raised.value.hint
    assert len(raised.value.message) < 300


def test_a_wrong_place_is_not_called_a_file(facts: Facts) -> None:
    """A question stands on the command line; its cell names no line of matrix.yaml."""
    assert str(parse_cell(["pytorch=2.6"], facts).position) == "the question:1:1"


@pytest.mark.parametrize("axis", ["pytorch", "tensorflow", "cudnn"])
def test_a_version_of_thousands_of_digits_is_refused_in_words(axis: str, facts: Facts) -> None:
    """Python turns no text of more than 4300 digits into a number; that is no reason to end in an internal error."""
    try:
        outcome = solve(parse_cell([f"{axis}={'9' * 5000}", *(["cuda=12.6"] if axis == "cudnn" else [])], facts), facts)
    except InputError:
        return
    assert isinstance(outcome, RefusedCell)
    assert isinstance(outcome.near, tuple)
