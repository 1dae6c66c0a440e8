"""The rules: each says of one stack whether one thing holds, and by which fact.

A rule's docstring says what it asks, why, and how to mend a refusal; its sentences stand in ``explain``. Adding a
rule is adding a class here and its two sentences there.
"""

from __future__ import annotations

from typing import ClassVar

from cubake import versions
from cubake.facts import Facts
from cubake.facts.model import Release, Source
from cubake.matrix import Cell
from cubake.resolve.draft import DISTRIBUTION, wheel_of
from cubake.resolve.types import Evidence, Stack

RULES: dict[str, Rule] = {}


class Rule:
    """Base of the rules; a subclass with an ``id`` registers itself."""

    id: ClassVar[str]

    def __init_subclass__(cls) -> None:
        RULES[cls.id] = cls()

    def check(self, cell: Cell, stack: Stack, facts: Facts) -> list[Evidence]:
        raise NotImplementedError

    def finds(self, ok: bool, fact: str, source: Source, values: dict[str, str], *, absent: bool = False) -> Evidence:
        said = f"{source.text} ({source.confidence})"
        return Evidence(self.id, ok, tuple(values.items()), fact, said, absent)


def releases(stack: Stack, facts: Facts) -> list[tuple[str, str, Release, Source]]:
    """(framework, version, row, source) of each framework in the stack."""
    found = []
    for name, version in stack.frameworks:
        file = facts.frameworks[name]
        row = file.releases[version]
        found.append((name, version, row, file.sources[row.source]))
    return found


def cuda_releases(stack: Stack, facts: Facts) -> list[tuple[str, str, Release, Source]]:
    """Those of the frameworks that are CUDA builds on the platform: of a CPU build nothing more is worth saying."""
    return [found for found in releases(stack, facts) if wheel_of(found[2], stack.platform).cuda]


def unknown(cell: Cell, facts: Facts) -> Evidence:
    """Evidence for a cell of which no stack can be drafted: it names a version that does not exist."""
    for name in DISTRIBUTION:
        file = facts.frameworks[name]
        want = cell.get(name)
        if want and not any(versions.matches(want, version) for version in file.releases):
            near = ", ".join(versions.newest_first({versions.minor(version) for version in file.releases})[:8])
            values = (("what", name), ("want", want), ("near", near))
            return Evidence("R-000", False, values, f"{name}.releases", file.sources["wheel"].text, absent=True)
    near = ", ".join(versions.newest_first(facts.cuda.toolkits))
    values = (("what", "CUDA"), ("want", cell.get("cuda") or "any"), ("near", near))
    return Evidence("R-000", False, values, "cuda.toolkits", next(iter(facts.cuda.sources.values())).text, absent=True)
