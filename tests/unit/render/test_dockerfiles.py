"""The rendered Dockerfiles: golden files (UPDATE_GOLDEN=1 writes them anew), and what holds of every one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cubake.facts import Facts, load
from cubake.plan import Image, Plan
from cubake.render import Templates
from cubake.render.context import base_context, base_requirements, nccl_for, require_cuda
from cubake.render.render import TEMPLATES, quoted

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"
ENTRIES = {
    "torch-runtime-debian12": "pytorch: 2.6.0, python: '3.11', os: debian12",
    "torch-devel-standalone-python": "pytorch: 2.6.0, python: '3.12', os: ubuntu22.04, flavor: devel",
    "torch-profile-test": "pytorch: 2.6.0, python: '3.11', os: debian12, profile: test",
    "tensorflow-runtime": "tensorflow: 2.18.1, python: '3.10', os: ubuntu22.04",
    "toolkit-devel-cudnn": "cuda: 12.6.3, cudnn: any, python: '3.12', os: ubuntu24.04, flavor: devel",
    "toolkit-base": "cuda: 12.6.3, python: '3.10', os: ubuntu22.04, flavor: base",
    "both-runtime": "pytorch: 2.7.1, tensorflow: 2.20.0, python: '3.12', os: ubuntu24.04",
}
BASES = {"base-12.4-runtime-debian12": ("12.4.1", "runtime"), "base-13.0-devel-debian12": ("13.0.3", "devel")}


@pytest.fixture(scope="module")
def image_of(planned: Callable[[str], Plan]) -> Callable[[str], Image]:
    def make(name: str) -> Image:
        plan = planned(f"images:\n  one: {{{ENTRIES[name]}}}\n")
        assert plan.images, plan.refused
        return plan.images[0]

    return make


@pytest.fixture(scope="module")
def dockerfile(image_of: Callable[[str], Image], facts: Facts) -> Callable[[str], str]:
    return lambda name: Templates().dockerfile(image_of(name), facts, "matrix.yaml")


@pytest.fixture(scope="module")
def base_dockerfile(unlocked: Callable[[str], Plan], facts: Facts) -> Callable[[str], str]:
    def make(name: str) -> str:
        toolkit, flavor = BASES[name]
        (image,) = unlocked(f"images:\n  one: {{cuda: {toolkit}, flavor: {flavor}, os: debian12}}\n").images
        assert image.stack.base is not None
        reference = image.stack.base.reference
        return Templates().base(base_context(image.stack, "cubake/tools:1", "cubake/rootfs:debian12", reference, facts))

    return make


def compare(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.Dockerfile"
    if UPDATE:
        path.write_text(text)
    assert path.is_file(), "write it with UPDATE_GOLDEN=1"
    assert text == path.read_text(), f"if this is meant: UPDATE_GOLDEN=1 pytest {Path(__file__).name}"


@pytest.mark.parametrize("name", ENTRIES)
def test_golden_image(name: str, dockerfile: Callable[[str], str]) -> None:
    compare(name, dockerfile(name))


@pytest.mark.parametrize("name", BASES)
def test_golden_base(name: str, base_dockerfile: Callable[[str], str]) -> None:
    compare(name, base_dockerfile(name))


def test_no_golden_file_is_idle() -> None:
    assert {path.stem for path in GOLDEN.glob("*.Dockerfile")} == {*ENTRIES, *BASES}


@pytest.fixture(params=[*ENTRIES, *BASES])
def text(
    request: pytest.FixtureRequest, dockerfile: Callable[[str], str], base_dockerfile: Callable[[str], str]
) -> str:
    return dockerfile(request.param) if request.param in ENTRIES else base_dockerfile(request.param)


def instructions(text: str) -> list[tuple[str, str]]:
    """(word, rest) of each instruction, continuation lines joined, comments gone."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    found = re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines()
    return [(line.split(maxsplit=1)[0], line.partition(" ")[2]) for line in found]


class TestEveryDockerfile:
    def test_is_what_an_engine_of_20_10_knows(self, text: str) -> None:
        """Design section 6: mounts yes, heredocs and COPY --link no; and no other frontend is asked for."""
        assert "<<" not in text
        assert "--link" not in " ".join(rest for word, rest in instructions(text) if word == "COPY")
        assert "syntax=" not in text
        known = {"ARG", "FROM", "SHELL", "RUN", "COPY", "ENV", "LABEL", "WORKDIR", "ENTRYPOINT", "CMD", "USER"}
        assert {word for word, _ in instructions(text)} <= known

    def test_leaves_nothing_of_the_build_in_the_environment(self, text: str) -> None:
        environment = " ".join(rest for word, rest in instructions(text) if word == "ENV")
        for word in ("DEBIAN_FRONTEND", "stubs", "compat", "INDEX_URL", "SSL_CERT_FILE", "PROXY", "UV_"):
            assert word not in environment

    def test_never_breaks_system_packages(self, text: str) -> None:
        assert "break-system-packages" not in text

    def test_installs_by_hash_or_by_pin(self, text: str) -> None:
        for word, rest in instructions(text):
            if word == "RUN" and "pip install" in rest:
                assert "--no-deps" in rest
                assert "--only-binary :all:" in rest
                assert "--require-hashes" in rest or re.search(r"(==[\d.]+\s*)+$", rest)

    def test_keeps_no_lists_and_caches(self, text: str) -> None:
        for word, rest in instructions(text):
            if word == "RUN" and "apt-get" in rest:
                assert re.search(r";\s+rm -rf [^;]*/var/lib/apt/lists/\*", rest)
                assert "--no-install-recommends" in rest

    def test_every_continuation_goes_on(self, text: str) -> None:
        """A backslash before an empty line or at the end joins what does not belong together."""
        lines = text.splitlines()
        for number, line in enumerate(lines):
            if line.endswith("\\"):
                assert number + 1 < len(lines)
                assert lines[number + 1].startswith(" "), f"line {number + 2}"
        assert text.endswith("\n")
        assert "{{" not in text
        assert "{%" not in text

    def test_labels_say_what_it_is(self, text: str) -> None:
        labels = " ".join(rest for word, rest in instructions(text) if word == "LABEL")
        assert 'io.cubake.cuda="1' in labels


def test_profile_sets_its_environment(dockerfile: Callable[[str], str]) -> None:
    environment = [rest for word, rest in instructions(dockerfile("torch-profile-test")) if word == "ENV"]
    assert 'CUBLAS_WORKSPACE_CONFIG=":4096:8"' in " ".join(environment)
    assert "CUBLAS_WORKSPACE_CONFIG" not in dockerfile("torch-runtime-debian12")


def test_profiles_differ_only_behind_all_layers(dockerfile: Callable[[str], str]) -> None:
    """The wheels are above, so that both images share them."""
    prod, test = (
        [one for one in instructions(dockerfile(name)) if one[0] != "LABEL"]
        for name in ("torch-runtime-debian12", "torch-profile-test")
    )
    same = next(number for number, pair in enumerate(zip(prod, test, strict=False)) if pair[0] != pair[1])
    assert all(word in ("ENV", "WORKDIR", "ENTRYPOINT", "CMD") for word, _ in prod[same:] + test[same:])


def test_python_comes_from_where_it_can(dockerfile: Callable[[str], str]) -> None:
    """jammy ships 3.10, bookworm 3.11: another one is uv's standalone build (design section 6)."""
    standalone, own = dockerfile("torch-devel-standalone-python"), dockerfile("torch-runtime-debian12")
    assert "uv python install" in standalone
    assert "python3.12-dev" not in standalone
    assert "uv python install" not in own
    assert "--python /usr/bin/python3.11 /opt/venv" in own


def test_devel_compiles(dockerfile: Callable[[str], str]) -> None:
    assert re.search(r"install -y .*\bg\+\+", dockerfile("torch-devel-standalone-python"))
    assert "-devel-ubuntu22.04" in dockerfile("torch-devel-standalone-python").split("\n")[2]


def test_framework_images_start_from_a_base_without_cudnn(dockerfile: Callable[[str], str]) -> None:
    """NOTES, PyTorch 1."""
    for name in ("torch-runtime-debian12", "torch-devel-standalone-python", "tensorflow-runtime", "both-runtime"):
        first = next(rest for word, rest in instructions(dockerfile(name)) if word == "ARG")
        assert "cudnn" not in first


def test_every_wheel_of_the_lock_is_in_one_layer(
    dockerfile: Callable[[str], str], image_of: Callable[[str], Image]
) -> None:
    lock = image_of("torch-runtime-debian12").lock
    assert lock is not None
    patterns = re.findall(r"'(\^\(.*\)==)'", dockerfile("torch-runtime-debian12"))
    for package in lock.packages:
        assert sum(bool(re.match(pattern, package.line)) for pattern in patterns) == 1, package.name


def test_no_version_literal_in_templates() -> None:
    """Design section 1: versions come from the plan."""
    for path in sorted(TEMPLATES.glob("*")):
        text = re.sub(r"\{#.*?#\}", "", path.read_text(), flags=re.DOTALL)
        for number, line in enumerate(text.splitlines(), 1):
            code = re.sub(r"(^|\s)#.*", "", line)
            assert not re.search(r"\d+\.\d+", code), f"{path.name}:{number}: {line}"


@pytest.mark.parametrize("value", ["plain", 'a"b', "a\\b", "$HOME", "${X:-1}", "a b", "#x", "", "`id`", "a'b", "ü"])
def test_quoted_keeps_the_value(value: str) -> None:
    """Read back as the Dockerfile reads a double-quoted word: a backslash takes the next character as it is."""
    text = quoted(value)
    assert text[0] == text[-1] == '"'
    assert not re.search(r'(?<!\\)(\\\\)*[$"]', text[1:-1]), "something is expanded or ends the word"
    assert re.sub(r'\\(["\\$])', r"\1", text[1:-1]) == value


@pytest.mark.parametrize("value", ["a\nRUN id", "a\r\nRUN id"])
def test_quoted_never_gives_a_second_line(value: str) -> None:
    try:
        text = quoted(value)
    except ValueError:
        return
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    ("toolkit", "flavor", "has", "lacks"),
    # nvidia/cuda -base- holds cudart alone, -runtime- the libraries, -devel- the compiler; nvcc is in wheels from 13 on
    [
        ("12.4.1", "base", {"nvidia-cuda-runtime-cu12==12.4.127"}, {"nvidia-cublas-cu12==12.4.5.8"}),
        ("12.4.1", "runtime", {"nvidia-cuda-runtime-cu12==12.4.127", "nvidia-cublas-cu12==12.4.5.8"}, set()),
        ("12.5.1", "runtime", {"nvidia-cuda-runtime-cu12==12.5.82", "nvidia-cublas-cu12==12.5.3.2"}, set()),
    ],
)
def test_wheels_of_a_local_base(toolkit: str, flavor: str, has: set[str], lacks: set[str], facts: Facts) -> None:
    pins = set(base_requirements(toolkit, flavor, None, facts))
    assert has <= pins
    assert not lacks & pins
    assert not [pin for pin in pins if "cudnn" in pin or ("nvcc" in pin and flavor != "devel")]


def test_devel_base_holds_the_compiler(facts: Facts) -> None:
    names = {pin.partition("==")[0] for pin in base_requirements("13.0.3", "devel", "9.28.0.42", facts)}
    assert {"nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime"} <= names
    assert "nvidia-cudnn-cu13" in names


@pytest.mark.parametrize("toolkit", sorted(load().components.toolkits))
def test_every_local_base_can_be_described(toolkit: str, facts: Facts) -> None:
    for flavor in ("base", "runtime"):
        pins = base_requirements(toolkit, flavor, None, facts)
        assert all(re.fullmatch(r"nvidia-[a-z0-9-]+==[\d.]+", pin) for pin in pins)
    assert nccl_for(toolkit, facts)


def test_nccl_is_that_of_torch(facts: Facts) -> None:
    """torch 2.6.0 pins NCCL 2.21.5 for CUDA 12.4 (wheel METADATA)."""
    assert nccl_for("12.4.1", facts) == "2.21.5"


def test_driver_gate(facts: Facts) -> None:
    """NVIDIA_REQUIRE_CUDA of nvidia/cuda:12.4.1: spaces mean OR, commas AND (its Dockerfile)."""
    terms = require_cuda("12.4.1", facts).split(" ")
    assert terms[0] == "cuda>=12.4"
    assert "brand=tesla,driver>=470,driver<471" in terms
    assert "brand=geforce,driver>=535,driver<536" in terms
    assert not any("geforce" in term for term in require_cuda("12.5.1", facts).split(" "))
