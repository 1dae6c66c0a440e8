"""The machine that images are meant for: its driver and its GPUs, as people write them or `nvidia-smi -L` lists them,
and what follows (compute capability, brand, the CUDA version that the driver reports).

Capabilities, cards and branches come from cubake/facts/gpus.yaml. A brand is what the start gate compares to
(cubake/resolve/gate.py); a name alone tells only which ones a card may have.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from cubake import versions
from cubake.errors import InputError
from cubake.facts import Facts
from cubake.facts.model import Model
from cubake.matrix.problems import shown


@dataclass(frozen=True)
class Gpu:
    """A GPU, or a MIG device of one, which has its parent's capability.

    ``capability`` is X.Y; ``name`` as given or as NVML tells it; ``kind`` one of ``data center``, ``consumer``,
    ``workstation`` and ``jetson``, None where not known; ``brands`` those it may have, empty where not known; ``uuid``
    (GPU-… or MIG-…) is what to ask the container runtime for.
    """

    capability: str
    name: str | None = None
    kind: str | None = None
    brands: frozenset[str] = frozenset()
    uuid: str | None = None
    mig: bool = False

    @property
    def sm(self) -> str:
        return f"sm_{self.capability.replace('.', '')}"


@dataclass(frozen=True)
class Host:
    """``driver`` is None where not told; ``origin`` is ``given``, ``read here with NVML`` or ``CUBAKE_HOST``."""

    driver: str | None
    gpus: tuple[Gpu, ...]
    origin: str


_DRIVER = re.compile(r"[1-9][0-9]{2,3}(\.[0-9]{1,4}){0,2}")


def check_driver(text: str) -> str:
    """The driver version, trimmed: 535.104.05, 535.104 or the branch alone. InputError for anything else."""
    driver = text.strip()
    if not _DRIVER.fullmatch(driver):
        raise InputError(f"'{shown(text)}' is no driver version", "write it as nvidia-smi shows it: 535.104.05")
    return driver


def driver_branch(driver: str) -> int:
    """535 of 535.104.05."""
    return int(driver.split(".", maxsplit=1)[0])


def at_least(driver: str, floor: str) -> bool:
    """Whether a driver is new enough. A branch alone (535) stands for its drivers, so only branches are compared."""
    return int(driver) >= driver_branch(floor) if driver.isdigit() else versions.key(driver) >= versions.key(floor)


def driver_cuda(driver: str, facts: Facts) -> str | None:
    """The CUDA version (X.Y) that the driver reports: that of its branch, or of the nearest older one in the facts.
    None for a driver older than all of them."""
    older = [int(branch) for branch in facts.gpus.branches if int(branch) <= driver_branch(driver)]
    return facts.gpus.branches[str(max(older))].cuda if older else None


_CAPABILITY = re.compile(r"(?:sm|compute)_?([0-9]{1,2})([0-9])[af]?|([0-9]{1,2}\.[0-9])", re.IGNORECASE)
_MIG_NAME = re.compile(r"\s+MIG\s+(\d+c\.)?\d+g\.\d+gb\S*$", re.IGNORECASE)

# What tells no card from another of the same capability: vendor, form factor, memory, cooling, laptop, spin-off.
_NOISE = {
    *("nvidia", "gpu", "corporation", "generation", "laptop", "mobile", "with", "max", "q", "design", "super", "d"),
    *("pcie", "sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6", "fhhl", "sff", "nvl", "dgxs", "ac"),
    *("hbm2", "hbm2e", "hbm3", "hbm3e"),
    "pascal",  # TITAN X (Pascal), as against GeForce GTX TITAN X
}
_MEMORY = re.compile(r"\d+gb?")
_EDITION = {"blackwell", "server", "workstation", "edition"}
_LINES = {"geforce": "consumer", "tesla": "data center", "quadro": "workstation", "jetson": "jetson"}
_BRANDS = {
    "consumer": frozenset({"geforce", "geforcertx"}),
    "workstation": frozenset({"quadro", "quadrortx", "nvidiartx"}),
    "data center": frozenset({"tesla", "nvidia"}),
}
_TITAN = frozenset({"titan", "titanrtx"})


def find_gpu(text: str, facts: Facts) -> Gpu:
    """The GPU that a text means: a capability (8.9, sm_89, compute_89), or a card by its short name (H200, rtx4090) or
    as NVML tells it (NVIDIA A100-SXM4-40GB MIG 3g.20gb).

    Of names that are alike the one that is whole wins: RTX 4000 is the Quadro RTX 4000, not the RTX 4000 Ada. Raises
    InputError, with the nearest names, where no card is meant or several of different capability are.
    """
    given = text.strip()
    capability = _capability(given, facts)
    if capability:
        return Gpu(capability)
    plain = _MIG_NAME.sub("", given)
    models = _models(plain, facts)
    if not models:
        raise InputError(_unknown(plain, facts), "a GPU can also be given by its compute capability, such as sm_89")
    if len({model.capability for model, _ in models}) > 1:
        names = ", ".join(name for _, name in models)
        raise InputError(f"'{shown(plain)}' may be any of {names}", "write the whole name")
    kinds = {model.kind for model, _ in models}
    brands = [_brands(model.kind, name) for model, name in models]
    kind = kinds.pop() if len(kinds) == 1 else None
    return Gpu(models[0][0].capability, given, kind, frozenset().union(*brands), mig=plain != given)


def described(name: str, capability: str, facts: Facts) -> Gpu:
    """A GPU whose capability (X.Y) something better than its name tells. The name tells the rest where the facts know
    it, and with that capability: a card may be newer than they are."""
    try:
        found = find_gpu(name, facts)
    except InputError:
        found = Gpu("")
    if found.capability == capability:
        return found
    return Gpu(capability, name, mig=bool(_MIG_NAME.search(name)))


def _capability(text: str, facts: Facts) -> str | None:
    """X.Y where the text is a capability at all; InputError where it is one that the facts do not have."""
    number = _CAPABILITY.fullmatch(text)
    if not number:
        return None
    found = number[3] or f"{number[1]}.{number[2]}"
    if found not in facts.gpus.capabilities:
        known = ", ".join(sorted(facts.gpus.capabilities, key=versions.key))
        raise InputError(f"'{shown(text)}': no GPU of capability {found} is known", f"known are {known}")
    return found


def _models(text: str, facts: Facts) -> list[tuple[Model, str]]:
    """The rows, with the one of their names, that a text names: by its exact words if any, then looser and looser."""
    words = _words(text)
    lines = {kind for line, kind in _LINES.items() if line in words}
    for ignored in (set(), set(_LINES), set(_LINES) | _EDITION):
        wanted = _key(words, ignored)
        found = [
            (model, name)
            for model, name in _names(facts)
            if wanted in {_key(_words(form), ignored) for form in _forms(name)}
            and lines <= {model.kind}  # no GeForce A100
        ]
        if wanted and found:
            return found
    return []


def _names(facts: Facts) -> Iterable[tuple[Model, str]]:
    return ((model, name) for model in facts.gpus.models for name in model.names)


def _forms(name: str) -> list[str]:
    """The names in a name: ``GB10 (DGX Spark)`` is the GB10 and the DGX Spark."""
    outer, _, inner = name.removesuffix(")").partition(" (")
    return [outer, f"{outer} {inner}", *(part for part in inner.split(" / ") if part)]


def _words(text: str) -> list[str]:
    """In small letters, and without what tells no card from another."""
    found = re.findall(r"[a-z0-9]+", re.sub(r"\((r|tm)\)", " ", text.lower()))
    return [word for word in found if word not in _NOISE and not _MEMORY.fullmatch(word)]


def _key(words: list[str], ignored: set[str]) -> str:
    """Joined, since people write rtx4090; a line stands in front there (geforcertx4090)."""
    return "".join(word for word in words if word not in ignored)


def _brands(kind: str, name: str) -> frozenset[str]:
    """The brands that a card may have. What NVML calls a GeForce GTX TITAN X its name does not tell."""
    if "titan" in name.lower():
        return _TITAN | (_BRANDS[kind] if "geforce" in name.lower() else frozenset())
    return _BRANDS.get(kind, frozenset())


def _unknown(text: str, facts: Facts) -> str:
    names = {_key(_words(form), set(_LINES)): name for _, name in _names(facts) for form in _forms(name)}
    near = difflib.get_close_matches(_key(_words(text), set(_LINES)), names, n=3, cutoff=0.7)
    there = f"; near it: {', '.join(dict.fromkeys(names[key] for key in near))}" if near else ""
    return f"no GPU '{shown(text)}' is known{there}"


_GPU_LINE = re.compile(r"GPU \d+: (.+?) \(UUID: (GPU-[^\s()]+)\)\s*")
_MIG_LINE = re.compile(r"\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[^\s()]+)\)\s*")
_EXAMPLE = 'write {"driver": "535.104.05", "gpus": ["H100"]}, or what `nvidia-smi -L` prints'
_HOST_KEYS = {"driver", "gpu", "gpus"}
_GPU_KEYS = {"name", "capability", "uuid"}


def parse_host(text: str, facts: Facts) -> Host:
    """A host from JSON, or from the listing of `nvidia-smi -L`, which names no driver.

    JSON: ``{"driver": "535.104.05", "gpus": [GPU, …]}`` or ``"gpu": GPU``, both optional, where a GPU is a text for
    ``find_gpu`` or an object of ``name``, ``capability`` and ``uuid``. In a listing, the MIG devices of a GPU stand in
    its place: programs see no other. Raises InputError with what is wrong and where.
    """
    if text.lstrip().startswith("{"):
        return _from_json(text, facts)
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines or not _GPU_LINE.fullmatch(lines[0][1]):
        first = f"line {lines[0][0]}: '{shown(lines[0][1])}' names no GPU" if lines else "nothing is in it"
        raise InputError(f"no host: {first}", _EXAMPLE)
    return Host(None, _from_listing(lines, facts), "given")


def _from_listing(lines: list[tuple[int, str]], facts: Facts) -> tuple[Gpu, ...]:
    groups: list[list[Gpu]] = []  # a GPU, then its MIG devices
    for number, line in lines:
        gpu, mig = _GPU_LINE.fullmatch(line), _MIG_LINE.fullmatch(line)
        if gpu:
            groups.append([replace(_gpu_at(f"line {number}", gpu[1], facts), uuid=gpu[2])])
        elif mig:
            parent = groups[-1][0]
            groups[-1].append(replace(parent, name=f"{parent.name} MIG {mig[1]}", uuid=mig[2], mig=True))
        else:
            raise InputError(f"line {number}: '{shown(line)}' is no line of `nvidia-smi -L`", _EXAMPLE)
    return tuple(gpu for parent, *devices in groups for gpu in devices or [parent])


def _gpu_at(where: str, text: str, facts: Facts) -> Gpu:
    try:
        return find_gpu(text, facts)
    except InputError as wrong:
        raise InputError(f"{where}: {wrong.message}", wrong.hint) from wrong


def _from_json(text: str, facts: Facts) -> Host:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as wrong:
        raise InputError(f"line {wrong.lineno} column {wrong.colno}: {wrong.msg}", _EXAMPLE) from wrong
    except (ValueError, RecursionError) as wrong:  # a number of thousands of digits, brackets a thousand deep
        raise InputError("the JSON is not that of a host", _EXAMPLE) from wrong
    _check_keys("", value, _HOST_KEYS)
    if not value or {"gpu", "gpus"} <= value.keys():
        raise InputError("give a driver, gpus or both" if not value else "give gpu or gpus, not both", _EXAMPLE)
    driver = _text("driver", value["driver"]) if value.get("driver") is not None else None
    return Host(check_driver(driver) if driver is not None else None, _gpus(value, facts), "given")


def _gpus(value: dict[str, object], facts: Facts) -> tuple[Gpu, ...]:
    if "gpu" in value:
        return (_from_item("gpu", value["gpu"], facts),)
    items = value.get("gpus", [])
    if not isinstance(items, list):
        raise InputError("gpus: a list is wanted", _EXAMPLE)
    return tuple(_from_item(f"gpus[{index}]", item, facts) for index, item in enumerate(items))


def _from_item(where: str, item: object, facts: Facts) -> Gpu:
    if isinstance(item, str):
        return _gpu_at(where, item, facts)
    if not isinstance(item, dict):
        raise InputError(f"{where}: a text or an object is wanted", _EXAMPLE)
    _check_keys(f"{where}.", item, _GPU_KEYS)
    texts = {key: _text(f"{where}.{key}", value) for key, value in item.items() if value is not None}
    if not texts.keys() & {"name", "capability"}:
        raise InputError(f"{where}: give its name or its capability", _EXAMPLE)
    gpu = _from_texts(where, texts, facts)
    uuid = texts.get("uuid")
    return replace(gpu, uuid=uuid, mig=gpu.mig or (uuid or "").startswith("MIG-"))


def _from_texts(where: str, texts: dict[str, str], facts: Facts) -> Gpu:
    if "capability" not in texts:
        return _gpu_at(f"{where}.name", texts["name"], facts)
    gpu = _gpu_at(f"{where}.capability", texts["capability"], facts)
    if gpu.name:
        raise InputError(f"{where}.capability: '{shown(gpu.name)}' is none, such as 9.0 is", _EXAMPLE)
    return described(texts["name"], gpu.capability, facts) if "name" in texts else gpu


def _check_keys(where: str, value: dict[str, object], known: set[str]) -> None:
    for key in sorted(value.keys() - known):
        raise InputError(f"{where}{shown(key)}: there is no such key, but {', '.join(sorted(known))}", _EXAMPLE)


def _text(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where}: a text in quotes is wanted", _EXAMPLE)
    return value
