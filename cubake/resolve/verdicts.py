"""The four verdicts (design section 3): whether a stack starts, runs, compiles PTX and has kernels on a host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cubake.facts import Facts
from cubake.resolve import gate
from cubake.resolve.explain import IMAGE_SOURCE, UNKNOWN, gate_text, sentence
from cubake.resolve.host import Gpu, Host, driver_cuda
from cubake.resolve.rules import RULES, judge_of
from cubake.resolve.solve import borrowed, draft_of
from cubake.resolve.types import Evidence, Stack

VERDICTS = ("starts", "runs", "jits", "kernels")
NEEDED = ("starts", "runs", "kernels")  # without these an image is of no use; without PTX most work goes on


@dataclass(frozen=True)
class Verdict:
    """``ok`` is None where neither the facts nor what is known of the host decide. ``borrowed``: by the cuda-compat of
    the image, not by the driver itself."""

    ok: bool | None
    statement: str
    source: str
    borrowed: bool = False

    @property
    def word(self) -> str:
        return {True: "yes", False: "no", None: "?"}[self.ok]

    @property
    def document(self) -> dict[str, bool | str | None]:
        return {"ok": self.ok, "statement": self.statement, "source": self.source}


def verdicts(
    stack: Stack, host: Host, facts: Facts, environment: Mapping[str, str] | None = None
) -> dict[str, Verdict]:
    """By name. A host with several GPUs has the worst verdict of them. ``environment`` is that of the image where there
    is one: its own start gate then decides, not what is known of its base."""
    judge, gpus = judge_of(facts), dict.fromkeys(host.gpus) or (None,)
    found = [of(judge.on_host(draft_of(stack, host.driver, gpu))) for gpu in gpus]
    if environment and host.driver:
        gates = [_starts(environment, host.driver, gpu, facts) for gpu in gpus]
        found = [one | {"starts": gate} for one, gate in zip(found, gates, strict=True)]
    return {name: min((one[name] for one in found), key=_worst_first) for name in VERDICTS}


def _starts(environment: Mapping[str, str], driver: str, gpu: Gpu | None, facts: Facts) -> Verdict:
    level = driver_cuda(driver, facts)
    brands = gpu.brands if gpu else frozenset[str]()
    try:
        host = gate.GateHost(driver, level, gpu.capability if gpu else None, brands)
        answer = gate.evaluate(environment, host)
    except gate.GateError as error:  # the container runtime refuses it too
        answer = gate.GateAnswer(False, str(error))
    return Verdict(answer.ok, gate_text(answer.ok, answer.unsatisfied, driver, level), IMAGE_SOURCE)


def _worst_first(verdict: Verdict) -> int:
    return {False: 0, None: 1, True: 2}[verdict.ok]


def of(evidence: tuple[Evidence, ...]) -> dict[str, Verdict]:
    """The verdicts that evidence about a cell with a host amounts to."""
    return {name: _verdict(name, [one for one in evidence if RULES[one.rule].verdict == name]) for name in VERDICTS}


def _verdict(name: str, evidence: list[Evidence]) -> Verdict:
    if not evidence:
        return Verdict(None, UNKNOWN[name], "")
    against = [one for one in evidence if one.ok is False]
    unclear = [one for one in evidence if one.ok is None]
    said = against or unclear or evidence
    ok = False if against else None if unclear else True
    sources = dict.fromkeys(one.source for one in said)
    return Verdict(ok, "; ".join(map(sentence, said)), "; ".join(sources), bool(ok and borrowed(tuple(evidence))))
