"""Public bug reports and questions as cases: `tests/cases/open/*.yaml`, one file a report.

id, title, source; `says`: what the report wants; `answer`: what cubake does, and where the two differ, who is right
and why. What belongs to another stage (diagnosis, a check of a built image) is said there. The rest is checked:

explain: - {ask, pip, ok: yes|no, stack, because, refused, warns, verdicts, passed_over, nearest, says}
gate:    - {toolkit | expression | environment, driver, gpu, ok: yes|no|unknown, unsatisfied}
code:    - {gpu, sass, ptx, runs: yes|no}
which:   - {matrix, hosts: [{driver, gpu}], best, cover, verdicts}     an image by how its name begins; none
host:    - {listing, gpus, image, run}                                 what `nvidia-smi -L` prints
matrix:  - {text, cells | error}
render:  - {image, contains, never, same_steps_as}                     patterns, on a Dockerfile with its lines joined
lock:    - {image, requirements, index}

`fails` names why a check is known to fail: what it wants is right, and missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cubake.errors import InputError
from cubake.facts import Facts
from cubake.matrix import load_matrix
from cubake.plan import Image, Plan
from cubake.plan import which as fitting
from cubake.render import Templates
from cubake.resolve import RefusedCell, Solved, gate, solve
from cubake.resolve.bases import gate_of
from cubake.resolve.cells import parse_cell
from cubake.resolve.explain import sentence, short
from cubake.resolve.host import Host, driver_cuda, find_gpu, parse_host
from cubake.resolve.rules_gpu import has_code
from cubake.resolve.verdicts import of

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "cases" / "open"
CASES = {path.stem: yaml.load(path.read_text(), Loader=yaml.BaseLoader) for path in sorted(FOLDER.glob("*.yaml"))}
# The reports about a cell, a recommendation or a template; those about builds, CI and diagnosis have other tests.
REPORTS = (
    "RW01", "RW04", "RW05", "RW07", "RW13", "RW14", "RW16", "RW17", "RW20", "RW22", "RW28", "RW29", "RW32", "RW34",
    "RW35", "RW38", "RW40", "RW41", "RW43", "RW49", "RW50", "RW52", "RW62", "RW64", "RW70", "RW73",
)  # fmt: skip
KINDS = ("explain", "gate", "code", "which", "host", "matrix", "render", "lock")
OK = {"yes": True, "no": False, "unknown": None}
HEAD = "version: 1\nrepository: registry.example/gpu\n"
Check = dict[str, Any]


def test_every_report_has_its_case() -> None:
    assert tuple(CASES) == REPORTS
    for name, case in CASES.items():
        assert case["id"] == name
        assert all(case[key].strip() for key in ("title", "source", "says", "answer")), name
        assert case["source"].startswith("https://")
        assert case.keys() <= {"id", "title", "source", "says", "answer", *KINDS}, name
        assert case.keys() & set(KINDS), f"{name} checks nothing"


def checks(kind: str, keys: str) -> list[Any]:
    """The checks of a kind in all cases, named by their case; `keys` are those that such a check may have."""
    found = []
    for name, case in CASES.items():
        for number, check in enumerate(case.get(kind, []), 1):
            assert check.keys() <= {*keys.split(), "fails"}, f"{name}: unknown key"
            known = [pytest.mark.xfail(strict=True, reason=check["fails"])] if "fails" in check else []
            found.append(pytest.param(check, id=f"{name}-{number}", marks=known))
    return found


@pytest.mark.parametrize(
    "check", checks("explain", "ask pip ok stack because refused warns verdicts passed_over nearest says")
)
def test_explain(check: Check, facts: Facts) -> None:
    outcome = solve(parse_cell([check["ask"], *(f"pip={one}" for one in check.get("pip", []))], facts), facts)
    found = outcome.because if isinstance(outcome, Solved) else outcome.findings
    told = {
        "because": [(one.rule, sentence(one)) for one in found if one.ok],
        "refused": [(one.rule, sentence(one)) for one in found if one.refuses],
        "warns": [(one.rule, sentence(one)) for one in found if one.warns],
    }
    assert isinstance(outcome, Solved) is OK[check["ok"]], told["refused"]
    for kind, sentences in told.items():
        for rule, part in check.get(kind, {}).items():
            assert any(part in text and rule in (one, "any") for one, text in sentences), (rule, part, sentences)
    if "refused" in check and "any" not in check["refused"]:
        assert {rule for rule, _ in told["refused"]} == set(check["refused"])
    for part in check.get("says", []):
        assert part in "\n".join(map(sentence, found))
    if "verdicts" in check:
        verdicts = of(found)
        for name, word in check["verdicts"].items():
            assert verdicts[name].ok is OK[word], verdicts[name]
    if isinstance(outcome, Solved):
        check_stack(check, outcome)
    else:
        check_near(check, outcome)


def check_stack(check: Check, outcome: Solved) -> None:
    assert outcome.stack.base is not None
    for field, value in check.get("stack", {}).items():
        assert (outcome.stack.base.reference if field == "base" else getattr(outcome.stack, field)) == value
    passed_over = "\n".join(sentence(one) for _, against in outcome.passed_over for one in against)
    assert check.get("passed_over", "") in passed_over


def check_near(check: Check, outcome: RefusedCell) -> None:
    assert set(check.get("nearest", [])) <= {short(near.cell) for near in outcome.near}


@pytest.mark.parametrize("check", checks("gate", "toolkit expression environment driver gpu ok unsatisfied"))
def test_gate(check: Check, facts: Facts) -> None:
    environment = check.get("environment") or {"NVIDIA_REQUIRE_CUDA": check.get("expression", "")}
    if "toolkit" in check:
        read = gate_of(check["toolkit"], facts)
        assert read is not None
        environment["NVIDIA_REQUIRE_CUDA"] = gate.expression(read[1].cuda, read[1].branches, read[1].brands)
    gpu = find_gpu(check["gpu"], facts) if "gpu" in check else None
    host = gate.GateHost(
        check["driver"],
        driver_cuda(check["driver"], facts),
        gpu.capability if gpu else None,
        gpu.brands if gpu else frozenset(),
    )
    answer = gate.evaluate(environment, host)
    assert answer.ok is OK[check["ok"]]
    assert answer.unsatisfied == check.get("unsatisfied", answer.unsatisfied)


@pytest.mark.parametrize("check", checks("code", "gpu sass ptx runs"))
def test_code(check: Check) -> None:
    assert has_code(check["gpu"], check.get("sass", "").split(), check.get("ptx", "").split()) is OK[check["runs"]]


@pytest.mark.parametrize("check", checks("which", "matrix hosts best cover verdicts"))
def test_which(check: Check, planned: Callable[[str], Plan], facts: Facts) -> None:
    images = planned(check["matrix"]).images
    hosts = [Host(one["driver"], (find_gpu(one["gpu"], facts),), "given") for one in check["hosts"]]
    choices = [fitting.choose(images, host, facts) for host in hosts]
    best = [choice.best.image.name if choice.best else "none" for choice in choices]
    assert [name.startswith(start) for name, start in zip(best, check["best"], strict=True)] == [True] * len(hosts), (
        best
    )
    if "cover" in check:
        found = {image.name: len(served) for image, served in fitting.cover(choices)}
        expected = {named(start, found): int(count) for start, count in check["cover"].items()}
        assert found == expected
    for start, verdicts in check.get("verdicts", {}).items():
        fits = {fit.image.name: fit for choice in choices for fit in choice.fits}
        fit = fits[named(start, fits)]
        assert {name: fit.verdicts[name].ok for name in verdicts} == {name: OK[word] for name, word in verdicts.items()}


def named(start: str, names: Any) -> str:
    (name,) = [name for name in names if name.startswith(start)]
    return str(name)


@pytest.mark.parametrize("check", checks("host", "listing gpus image run"))
def test_host(check: Check, planned: Callable[[str], Plan], facts: Facts) -> None:
    host = parse_host(check["listing"], facts)
    assert len(host.gpus) == len(check["gpus"])
    for gpu, expected in zip(host.gpus, check["gpus"], strict=True):
        assert (gpu.sm, gpu.kind, gpu.uuid) == (expected["sm"], expected["kind"], expected["uuid"])
        assert gpu.mig is OK[expected["mig"]]
    image = image_of(check["image"], planned)
    assert fitting.run_line(image, host) == f"{check['run']} {image.tag}"


@pytest.mark.parametrize("check", checks("matrix", "text cells error"))
def test_matrix(check: Check) -> None:
    if "error" in check:
        with pytest.raises(InputError) as raised:
            load_matrix(Path("matrix.yaml"), HEAD + check["text"])
        for part in check["error"]:
            assert part in raised.value.message
        return
    cells = load_matrix(Path("matrix.yaml"), HEAD + check["text"]).cells
    assert [short(cell) for cell in cells] == check["cells"]


def image_of(row: str, planned: Callable[[str], Plan]) -> Image:
    plan = planned(f"images:\n  one: {row}\n")
    assert plan.images, plan.refused
    return plan.images[0]


def joined(dockerfile: str) -> str:
    """One instruction a line; comments are gone, but for a syntax line, which is none."""
    lines = [line for line in dockerfile.splitlines() if not re.match(r"\s*#(?! *syntax *=)", line)]
    return re.sub(r"\\\n", " ", "\n".join(lines))


@pytest.mark.parametrize("check", checks("render", "image contains never same_steps_as"))
def test_render(check: Check, planned: Callable[[str], Plan], facts: Facts) -> None:
    def rendered(row: str) -> str:
        return joined(Templates().dockerfile(image_of(row, planned), facts, "matrix.yaml"))

    text = rendered(check["image"])
    for pattern in check.get("contains", []):
        assert re.search(pattern, text, re.MULTILINE), pattern
    for pattern in check.get("never", []):
        assert not re.search(pattern, text, re.MULTILINE), pattern
    if "same_steps_as" in check:
        assert titles(text) == titles(rendered(check["same_steps_as"]))


def titles(text: str) -> list[str]:
    return re.findall(r': "([^":]+)', text)


@pytest.mark.parametrize("check", checks("lock", "image requirements index"))
def test_lock(check: Check, planned: Callable[[str], Plan]) -> None:
    asked = image_of(check["image"], planned).lock_input
    assert list(asked.requirements) == check["requirements"]
    assert asked.index == check.get("index")


# What no Dockerfile that is committed may hold, each with the report that it comes from.
NEVER = {
    r"^ENV .*stubs": "RW28",
    r"^ENV .*/compat\b": "RW28",
    r"^ENV LD_LIBRARY_PATH=(?!/usr/local/nvidia/lib:/usr/local/nvidia/lib64$)": "RW28",
    r"\b(nvidia-driver|libnvidia-|nvidia-utils|nvidia-compute|cuda-drivers|cuda-compat)": "RW29",
    r"apt-get install[^;]* cuda\b": "RW29",
    r"\bPIP_|--extra-index-url": "RW32",
    r"pip install(?!.*--require-hashes)": "RW34",
    r"\bnvidia-smi\b|cuda\.is_available": "RW41",
    r"^ENV .*DEBIAN_FRONTEND": "RW47",
    r"distutils|\|\| *true": "RW49",
    r"break-system-packages": "RW50",
    r"<<|--link\b|--chmod|# *syntax *=": "RW52",
    r"apt-get update *$|^RUN apt-get install": "RW64",
    r"^FROM [^$\s]+:latest\b|^ARG BASE=[^:]+$": "RW64",
    r"^(ENV|WORKDIR) .*/root\b": "RW73",
}
DOCKERFILES = sorted(
    path
    for where in ("images", "examples/images", "tests/integration/images")
    for path in ROOT.glob(f"{where}/*/Dockerfile")
)


def test_there_are_dockerfiles() -> None:
    assert len(DOCKERFILES) > 100


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_no_committed_dockerfile_repeats_a_report(path: Path) -> None:
    text = joined(path.read_text())
    found = {report: pattern for pattern, report in NEVER.items() if re.search(pattern, text, re.MULTILINE)}
    assert found == {}


@pytest.mark.parametrize(
    ("line", "report"),
    [
        ("ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs", "RW28"),
        ("ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64", "RW28"),
        ("RUN apt-get install -y nvidia-driver-535", "RW29"),
        ("RUN apt-get update; apt-get install -y cuda", "RW29"),
        ("RUN pip install torch", "RW34"),
        ("ENV DEBIAN_FRONTEND=noninteractive", "RW47"),
        ("RUN pip install --require-hashes --break-system-packages -r lock", "RW50"),
        ("RUN make_wheels || true", "RW49"),
        ("# syntax=docker/dockerfile:1", "RW52"),
        ("RUN apt-get update", "RW64"),
        ("ENV HOME=/root", "RW73"),
    ],
)
def test_what_is_never_there_would_be_seen(line: str, report: str) -> None:
    assert report in {NEVER[pattern] for pattern in NEVER if re.search(pattern, joined(line), re.MULTILINE)}
