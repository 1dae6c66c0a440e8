"""The rules: each says of one draft whether one thing holds, and by which fact.

A rule is a class in one of the ``rules_*`` modules. Its docstring says what it asks, why, and how to mend a refusal;
``facts`` names what it reads; ``examples`` are cells for which it holds or refuses, and are tests; its sentences stand
in ``explain``. The keyword parameters of ``check`` are the fields of the draft it depends on, and all it can see: what
it found for them is found once (``Judge``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from functools import lru_cache
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

from cubake import versions
from cubake.facts import Facts
from cubake.facts.model import Release, Source
from cubake.matrix import Cell
from cubake.resolve.draft import Frameworks, wheel_of
from cubake.resolve.types import DISTRIBUTION, Draft, Evidence

RULES: dict[str, Rule] = {}


class Example(NamedTuple):
    """A cell, and whether the rule holds (True), refuses (False) or warns (None) there."""

    cell: str
    holds: bool | None


class Rule:
    """Base of the rules; a subclass with an ``id`` registers itself. ``verdict`` is the one of the four verdicts
    (design section 3) that it decides, if any."""

    id: ClassVar[str]
    facts: ClassVar[tuple[str, ...]]
    examples: ClassVar[tuple[Example, ...]]
    verdict: ClassVar[str] = ""
    reads: ClassVar[tuple[str, ...]]
    check: ClassVar[Callable[..., list[Evidence]]]

    def __init_subclass__(cls) -> None:
        cls.reads = tuple(inspect.signature(cls.check).parameters)[2:]  # after self and facts
        RULES[cls.id] = cls()

    def finds(
        self, ok: bool | None, fact: str, source: Source, values: dict[str, str], *, absent: bool = False,
        warns: bool = False,
    ) -> Evidence:  # fmt: skip
        return Evidence(self.id, ok, tuple(values.items()), fact, said(source), absent, warns)


def said(source: Source) -> str:
    return f"{source.text} ({source.confidence})"


_Known = tuple[Rule, Callable[[Draft], Hashable], dict[Hashable, tuple[Evidence, ...]]]


class Judge:
    """All rules over one set of facts, in the order of their ids."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._rules: list[_Known] = [
            (rule, attrgetter(*rule.reads), {}) for _, rule in sorted(RULES.items()) if rule.reads
        ]

    def findings(self, draft: Draft) -> tuple[Evidence, ...]:
        return self._ask(draft, self._rules)

    def on_host(self, draft: Draft) -> tuple[Evidence, ...]:
        """What the rules that decide a verdict find, those about the host."""
        return self._ask(draft, [one for one in self._rules if one[0].verdict])

    def _ask(self, draft: Draft, rules: list[_Known]) -> tuple[Evidence, ...]:
        found: list[Evidence] = []
        for rule, pick, known in rules:
            seen = pick(draft)
            evidence = known.get(seen)
            if evidence is None:
                evidence = known[seen] = tuple(check(rule, draft, self._facts))
            found += evidence
        return tuple(found)


@lru_cache(maxsize=8)
def judge_of(facts: Facts) -> Judge:
    return Judge(facts)


def check(rule: Rule, draft: Draft, facts: Facts) -> list[Evidence]:
    """What one rule finds, shown nothing but the fields it names."""
    shown: dict[str, Any] = {name: getattr(draft, name) for name in rule.reads}
    return rule.check(facts, **shown)


def releases(frameworks: Frameworks, facts: Facts) -> list[tuple[str, str, Release, Source]]:
    """(framework, version, row, source) of each framework."""
    found = []
    for name, version in frameworks:
        file = facts.frameworks[name]
        row = file.releases[version]
        found.append((name, version, row, file.sources[row.source]))
    return found


def cuda_releases(frameworks: Frameworks, platform: str, facts: Facts) -> list[tuple[str, str, Release, Source]]:
    """Those of the frameworks that are CUDA builds on the platform: of a CPU build nothing more is worth saying."""
    return [found for found in releases(frameworks, facts) if wheel_of(found[0], found[1], platform, facts).cuda]


def build_fact(name: str, version: str, torch_index: str | None, facts: Facts) -> tuple[str, Source]:
    """Where the build that is used stands in the facts, and by which source: that of a wheel, or of an index."""
    file = facts.frameworks[name]
    row = file.releases[version]
    build = row.indexes.get(torch_index) if torch_index else None
    if build is None:
        return f"{name}.releases.{version}.wheels", file.sources[row.source]
    return f"{name}.releases.{version}.indexes.{torch_index}", file.sources[build.source]


class KnownRelease(Rule):
    """Every version named must be a release in the facts: what nobody published cannot be installed, and of what came
    out since nothing is known.

    Name one of those that are known; `build.py refresh` adds what came out since.
    """

    id = "R-000"
    facts = ("pytorch.releases", "tensorflow.releases", "cuda.toolkits")
    examples = (Example("pytorch=2.99", False), Example("cuda=12.7 flavor=runtime", False))

    def check(self, facts: Facts) -> list[Evidence]:
        return []  # drafts hold known releases only: of a cell that names another there is no draft

    def absent(self, cell: Cell, facts: Facts) -> Evidence:
        """Evidence for a cell of which no draft can be made."""
        for name in DISTRIBUTION:
            file = facts.frameworks[name]
            want = cell.get(name)
            if want and not any(versions.matches(want, version) for version in file.releases):
                minors = versions.newest_first({versions.minor(version) for version in file.releases})
                near = ", ".join([*minors[:8], "and older ones"] if minors[8:] else minors)
                values = {"what": name, "want": want, "near": near}
                return self.finds(False, f"{name}.releases", file.sources["wheel"], values, absent=True)
        near = ", ".join(versions.newest_first(facts.cuda.toolkits))
        values = {"what": "CUDA", "want": cell.get("cuda") or "any", "near": near}
        return self.finds(False, "cuda.toolkits", next(iter(facts.cuda.sources.values())), values, absent=True)


KNOWN_RELEASE = KnownRelease()
