"""All wording of the resolver: what each rule says when it holds and when it does not, and how answers are told."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cubake.matrix import Cell
from cubake.resolve.types import Draft, Evidence, Near, RefusedCell, Solved, Stack

if TYPE_CHECKING:
    from cubake.resolve.rules import Rule

SHOWN = 5  # of what was passed over, for people

# rule: (it holds, it does not, the facts do not decide). Fields come from the evidence.
SENTENCES: dict[str, tuple[str, ...]] = {
    "R-000": ("", "{what} {want} is not a release that cubake knows; known: {near}"),
    "R-001": ("", "{os} is not a distribution that cubake knows; known: {known}"),
    "R-002": (
        "{framework} is built with CUDA {cuda}; it is published for CUDA {builds}",
        "{framework} has no CUDA {asked} build for {platform}; it is published for CUDA {builds}",
    ),
    "R-003": (
        "{framework} {pins} cuDNN {cudnn}, so that is the one in the image{images}",
        "{framework} {pins} cuDNN {cudnn}; cuDNN {asked} beside it would not be the one that is loaded",
    ),
    "R-004": (
        "{framework} has a wheel for Python {python}",
        "{framework} has no wheel for Python {python}; it has {has}",
    ),
    "R-005": (
        "{framework} needs glibc {needs}; {os} has {has}",
        "{framework} needs glibc {needs}; {os} has only {has}",
    ),
    "R-006": (
        "starts from {base}",
        "there is no {flavor} image of CUDA {cuda} on {os} to start from: {why}; toolkits that have one: {others}",
    ),
    "R-007": (
        "{base} carries no cuDNN, so that of {framework} ({cudnn}) is the only one",
        "{base} carries a cuDNN beside that of {framework} ({cudnn})",
    ),
    "R-008": (
        "nvcc of CUDA {toolkit} compiles for {framework}, which is built with CUDA {cuda}",
        "nvcc of CUDA {toolkit} does not match {framework}, which is built with CUDA {cuda}",
    ),
    "R-009": (
        "torch {torch} and tensorflow {tensorflow} share one set of CUDA {cuda} libraries with cuDNN {cudnn}{how}",
        "torch {torch} and tensorflow {tensorflow} cannot share one set of CUDA libraries: {clash}; "
        "make two images of them",
    ),
    "R-010": (
        "{package} {version} belongs to torch {torch}",
        "{package} {version} does not belong to torch {torch}; take {fits}",
    ),
    "R-011": ("", "{framework} is a CPU build on {platform}"),
    "R-012": ("", "{framework} brings no CUDA libraries: its package names none"),
    "R-013": (
        "nvcc of CUDA {cuda} takes gcc up to {most}; {os} has {gcc}",
        "nvcc of CUDA {cuda} takes gcc up to {most}; {os} has {gcc}",
    ),
    "R-014": (
        "{framework} takes NumPy {takes}",
        "{framework} takes NumPy {takes}, and {asked} was asked for",
    ),
    "R-015": (
        "{framework} does not look for {missing} where its wheels put them; the image tells the loader",
        "",
    ),
    "R-016": (
        "{base} sets LD_LIBRARY_PATH to {path}, which would be searched before the wheels; the image sets it anew",
        "",
    ),
    "R-017": ("", "{framework} {text}: {remedy}"),
    "R-018": (
        "tensorflow {tensorflow} was built with cuDNN {built} and takes the {cudnn} of torch {torch}",
        "tensorflow {tensorflow} was built with cuDNN {built}; torch {torch} pins {cudnn}, {why}; make two images",
    ),
    "R-019": (
        "cuDNN {cudnn} has kernels from compute capability {least} on, so for {gpu}",
        "cuDNN {cudnn} has kernels from compute capability {least} on, none for {gpu}",
    ),
    "R-020": (
        "driver {driver} runs the libraries of CUDA {cuda}: they need {floor} or newer",
        "CUDA {major}.x needs driver >= {floor} (have {driver}, which is CUDA {level})",
    ),
    "R-021": (
        "cuda-compat of {base} runs CUDA {cuda} on driver branch {branch}, {gpu} being a data-center GPU",
        "{base} lets driver branch {branch} start for its cuda-compat, which works on data-center GPUs only: on {gpu} "
        "it ends in error 804, without it in error 35",
    ),
    "R-022": (
        "driver {driver} drives {gpu}, {arch}: it needs {needs}",
        "no image can help: {gpu}, {arch}, needs driver {needs} (have {driver})",
    ),
    "R-023": (
        "{base} lets driver {driver} (CUDA {level}) start",
        "the start gate of {base} refuses driver {driver} (CUDA {level}) with {gpu}: it wants {wants}; "
        "NVIDIA_DISABLE_REQUIRE=1 switches the gate off, with an older driver's limits: no newer PTX, no newer GPU",
        "whether {base} lets driver {driver} (CUDA {level}) start with {gpu} is not known: it wants {wants}",
    ),
    "R-024": (
        "{who} compiles PTX of CUDA {cuda}",
        "driver {driver} compiles PTX up to CUDA {level}; PTX made by CUDA {cuda} needs {wanted}",
    ),
    "R-025": (
        "{framework} has kernels for {gpu}: {how}",
        "{framework} has no kernels for {gpu}: {how}",
    ),
}


def sentence(evidence: Evidence) -> str:
    """One finding as one sentence, without its rule and source."""
    forms = SENTENCES[evidence.rule]
    form = forms[2] if evidence.ok is None else forms[0 if evidence.ok else 1]
    return form.format(**dict(evidence.values))


def as_json(evidence: Evidence) -> dict[str, Any]:
    """The document form; "ok" is null where the facts do not decide, "warning" true where it refuses nothing."""
    return {
        "rule": evidence.rule,
        "statement": sentence(evidence),
        "fact": evidence.fact,
        "source": evidence.source,
        "ok": evidence.ok,
        "warning": evidence.warns,
    }


# What a verdict says where nothing decides it.
UNKNOWN = {
    "starts": "not known: no driver was named",
    "runs": "not known: no driver was named",
    "jits": "not known: no driver was named",
    "kernels": "not known: no GPU was named",
}


IMAGE_SOURCE = "the environment of the image, as the engine here has it"
GATE = {
    True: "the image lets driver {driver} (CUDA {level}) start",
    False: "the image refuses driver {driver} (CUDA {level}): unsatisfied condition: {unsatisfied}; "
    "NVIDIA_DISABLE_REQUIRE=1 switches the gate off, with an older driver's limits: no newer PTX, no newer GPU",
    None: "whether the image lets driver {driver} (CUDA {level}) start depends on the GPU's brand, which is not known",
}


def gate_text(ok: bool | None, unsatisfied: str, driver: str, level: str | None) -> str:
    """What a gate read from an image says."""
    return GATE[ok].format(driver=driver, level=level or "of an older version", unsatisfied=unsatisfied)


def stack_document(stack: Stack) -> dict[str, str | None]:
    names = ("pytorch", "tensorflow", "cuda", "cudnn", "python", "os", "flavor", "profile", "platform")
    found = {name: getattr(stack, name) for name in names}
    return found | {"toolkit": stack.toolkit, "index": stack.index}


def near_document(near: Near) -> dict[str, Any]:
    return {
        "cell": str(near.cell),
        "changes": [{"axis": axis, "from": now or None, "to": new or None} for axis, now, new in near.changes],
    }


def answer_document(outcome: Solved | RefusedCell) -> dict[str, Any]:
    """The document of ``explain CELL`` (design section 5)."""
    solved, refused = (outcome, None) if isinstance(outcome, Solved) else (None, outcome)
    return {
        "ok": solved is not None,
        "cell": str(outcome.cell),
        "stack": stack_document(solved.stack) if solved else None,
        "because": [as_json(one) for one in outcome.because],
        "warnings": [as_json(one) for one in warnings(outcome)],
        "passed_over": [
            {"stack": drafted(draft), "because": [as_json(one) for one in against]}
            for draft, against in (solved.passed_over if solved else ())
        ],
        "clash": list(refused.clash) if refused else [],
        "nearest": [near_document(near) for near in refused.near] if refused else [],
    }


def why(solved: Solved) -> Iterator[str]:
    """Why this one, for people: each choice with its rule, its fact and where that comes from."""
    stack = solved.stack
    parts = [f"{name} {version}" for name, version in stack.frameworks]
    parts += [f"CUDA {stack.cuda}"] + ([f"cuDNN {stack.cudnn}"] if stack.cudnn else [])
    yield f"{short(solved.cell)} works:"
    yield f"  {', '.join([*parts, f'Python {stack.python}', stack.os, stack.flavor])}"
    yield ""
    yield from reasons(solved.because)
    if solved.passed_over:
        yield "\nbefore it stood, by preference:"
    for draft, against in solved.passed_over[:SHOWN]:
        yield f"  {drafted(draft)}: {'; '.join(map(sentence, against))}"
    if len(solved.passed_over) > SHOWN:
        yield f"  and {len(solved.passed_over) - SHOWN} more (--json has them all)"


def why_not(refused: RefusedCell) -> Iterator[str]:
    """Why not, what clashes, and what instead."""
    yield f"{short(refused.cell)} cannot work:\n"
    yield from reasons([*refused.because, *warnings(refused)])
    if len(refused.clash) > 1:
        yield f"\nwhat clashes: {' with '.join(refused.clash)}"
    if not refused.near:
        yield "\nnothing near it works"
        return
    yield "\nwhat works instead, least change first:"
    changes = [change_text(near) for near in refused.near]
    width = max(map(len, changes))
    yield from (f"  {text:<{width}}   {short(near.cell)}" for text, near in zip(changes, refused.near, strict=True))


def warnings(outcome: Solved | RefusedCell) -> list[Evidence]:
    """What refuses nothing and is worth saying."""
    return [one for one in (outcome.because if isinstance(outcome, Solved) else outcome.findings) if one.warns]


def reasons(evidence: Iterable[Evidence]) -> Iterator[str]:
    """One line a finding, with the place of its fact; sources stand once, at the end. ``!`` does not hold, ``?`` is not
    known, ``~`` is worth knowing."""
    sources: dict[str, int] = {}
    for one in evidence:
        number = sources.setdefault(one.source, len(sources) + 1)
        mark = "~" if one.warns else {True: " ", False: "!", None: "?"}[one.ok]
        yield f"{mark} {one.rule} {sentence(one)}  [{number}: {one.fact}]"
    yield from (f"    [{number}] {source}" for source, number in sources.items())


def short(cell: Cell) -> str:
    """The cell without what every cell has unless it is asked otherwise."""
    usual = {("os", "ubuntu22.04"), ("flavor", "runtime"), ("profile", "prod"), ("platform", "linux/amd64")}
    return str(replace(cell, axes=tuple(pair for pair in cell.axes if pair not in usual)))


def change_text(near: Near) -> str:
    return ", ".join(_change(*change) for change in near.changes)


def _change(axis: str, now: str, new: str) -> str:
    if not now:
        return f"with {axis} {new}"
    return f"{axis} {now} -> {new}" if new else f"without {axis} {now}"


def drafted(draft: Draft) -> str:
    parts = [f"{name} {version}" for name, version in draft.frameworks]
    index = f" (from PyTorch's index {draft.torch_index})" if draft.torch_index else ""
    return " ".join([*parts, f"CUDA {draft.cuda if parts else draft.toolkit}"]) + index


def rule_text(rule: Rule, examples: list[tuple[str, Solved | RefusedCell]]) -> str:
    """One rule for people: what it says, what it reads, and what it finds in its examples."""
    lines = [f"{rule.id} {type(rule).__name__}", "", inspect.cleandoc(rule.__doc__ or ""), "", "It reads the facts"]
    lines += [f"  {fact}" for fact in rule.facts]
    lines += ["", "For example"]
    for cell, outcome in examples:
        lines += [f"  {cell}", *(f"      {sentence(one)}" for one in _of(rule, outcome))]
    return "\n".join(lines)


def rule_document(rule: Rule, examples: list[tuple[str, Solved | RefusedCell]]) -> dict[str, Any]:
    return {
        "rule": rule.id,
        "name": type(rule).__name__,
        "text": inspect.cleandoc(rule.__doc__ or ""),
        "verdict": rule.verdict or None,
        "facts": list(rule.facts),
        "examples": [
            {"cell": cell, "finds": [as_json(one) for one in _of(rule, outcome)]} for cell, outcome in examples
        ],
    }


def _of(rule: Rule, outcome: Solved | RefusedCell) -> list[Evidence]:
    return [one for one in outcome.because if one.rule == rule.id]
