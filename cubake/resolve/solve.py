"""Room 3's door: a cell and the facts give a stack with its reasons, or a refusal with evidence and what is near."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from cubake.facts import Facts
from cubake.matrix import Cell
from cubake.resolve import rules_gpu, rules_host, rules_images, rules_parts, rules_wheels  # noqa: F401  they register
from cubake.resolve.draft import drafts
from cubake.resolve.host import Gpu
from cubake.resolve.near import changed, clash, nearest
from cubake.resolve.rules import KNOWN_RELEASE, judge_of
from cubake.resolve.types import Draft, Evidence, Near, RefusedCell, Solved, Stack

_Against = tuple[tuple[Draft, tuple[Evidence, ...]], ...]


class Resolver:
    """Answers cells over one set of facts, each question once: cells that differ in their profile alone are one."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self._judge = facts, judge_of(facts)
        self._known: dict[object, tuple[Draft | None, tuple[Evidence, ...], _Against]] = {}
        self._nearby: dict[object, tuple[Near, ...]] = {}

    def solve(self, cell: Cell) -> Solved | RefusedCell:
        """The first draft that no rule refuses, else the evidence against the best of them."""
        draft, evidence, against = self._answer(cell)
        if draft is None:
            return RefusedCell(cell, refusing(evidence), evidence, self._near, self._clash)
        passed_over = tuple((other, refusing(found) or borrowed(found)) for other, found in against)
        return Solved(cell, stack_of(draft, cell.get("profile") or "prod"), evidence, passed_over)

    def works(self, cell: Cell) -> Draft | None:
        return self._answer(cell)[0]

    def _answer(self, cell: Cell) -> tuple[Draft | None, tuple[Evidence, ...], _Against]:
        question = _question(cell)
        answer = self._known.get(question)
        if answer is None:
            answer = self._known[question] = self._try(cell)
        return answer

    def _try(self, cell: Cell) -> tuple[Draft | None, tuple[Evidence, ...], _Against]:
        against: list[tuple[Draft, tuple[Evidence, ...]]] = []
        second: tuple[Draft, tuple[Evidence, ...], _Against] | None = None
        for draft in drafts(cell, self._facts):
            evidence = self._judge.findings(draft)
            if not any(one.refuses for one in evidence):
                if not borrowed(evidence):
                    return draft, evidence, tuple(against)
                second = second or (draft, evidence, tuple(against))
            against.append((draft, evidence))
        if second:
            return second
        if not against:
            return None, (KNOWN_RELEASE.absent(cell, self._facts),), ()
        return None, min((evidence for _, evidence in against), key=_distance), ()

    def _near(self, cell: Cell) -> tuple[Near, ...]:
        """Once for cells that differ in their profile alone: the changes are the same."""
        question = _question(cell)
        if question not in self._nearby:
            self._nearby[question] = nearest(cell, self._facts, self.works)
        profile = cell.get("profile")
        return tuple(replace(near, cell=changed(near.cell, "profile", profile)) for near in self._nearby[question])

    def _clash(self, cell: Cell) -> tuple[str, ...]:
        return clash(cell, self._facts, self.works)


def refusing(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    return tuple(one for one in evidence if one.refuses)


def borrowed(evidence: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """Why it runs by the image's cuda-compat alone: it does, but what the driver runs by itself is better."""
    return tuple(one for one in evidence if one.rule == "R-021" and one.ok)


def _distance(evidence: tuple[Evidence, ...]) -> tuple[int, bool]:
    """How far a draft is from working: by what refuses it; of equals, one that has the CUDA asked for is nearer."""
    against = refusing(evidence)
    return len(against), any(one.rule == "R-002" for one in against)


def _question(cell: Cell) -> tuple[object, ...]:
    """What decides the answer: all but the profile."""
    return (*(pair for pair in cell.axes if pair[0] != "profile"), cell.pip)


@lru_cache(maxsize=8)
def resolver_of(facts: Facts) -> Resolver:
    return Resolver(facts)


def solve(cell: Cell, facts: Facts) -> Solved | RefusedCell:
    return resolver_of(facts).solve(cell)


def stack_of(draft: Draft, profile: str) -> Stack:
    chosen = dict(draft.frameworks)
    return Stack(
        pytorch=chosen.get("pytorch"),
        tensorflow=chosen.get("tensorflow"),
        cuda=draft.cuda,
        toolkit=draft.toolkit,
        cudnn=draft.cudnn,
        python=draft.python,
        os=draft.os,
        flavor=draft.flavor,
        profile=profile,
        platform=draft.platform,
        index=draft.torch_index,
        base=draft.base,
        requirements=draft.requirements,
        constraints=draft.constraints,
    )


def draft_of(stack: Stack, driver: str | None, gpu: Gpu | None, pip: tuple[str, ...] = ()) -> Draft:
    """A stack as a draft again, on a host: what the rules about hosts judge."""
    return Draft(
        frameworks=stack.frameworks, cuda=stack.cuda, toolkit=stack.toolkit, cudnn=stack.cudnn, python=stack.python,
        os=stack.os, flavor=stack.flavor, platform=stack.platform, torch_index=stack.index, base=stack.base, extra=True,
        pip=pip, requirements=stack.requirements, constraints=stack.constraints, asked_cuda=None, asked_cudnn=None,
        driver=driver, gpu=gpu,
    )  # fmt: skip
