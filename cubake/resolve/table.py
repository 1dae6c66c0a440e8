"""The page docs/compatibility.md: releases of PyTorch and TensorFlow against drivers and GPU generations, by the rules.

python -m cubake.resolve.table > docs/compatibility.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from cubake import versions
from cubake.facts import Facts, load
from cubake.resolve.cells import parse_cell
from cubake.resolve.draft import drafts
from cubake.resolve.host import find_gpu
from cubake.resolve.rules import Judge
from cubake.resolve.rules_gpu import code_of, has_code
from cubake.resolve.types import DISTRIBUTION, Draft
from cubake.resolve.verdicts import of

DRIVERS = ("450", "470", "525", "535", "550", "570", "580", "595")
GPUS = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
WORDS = {True: "yes", False: "-", None: "?"}
HEAD = """# Which release runs where

Generated from the facts by the rules (`python -m cubake.resolve.table`); a test keeps it in step. One row for each CUDA
build of the newest patch of each release, the default build first.

- **Drivers**: whether the CUDA libraries run on the branch, by the floor of their CUDA major (R-020). Forward
  compatibility on data-center GPUs (R-021), a GPU's own driver (R-022) and the start gate of an image (R-023) come on
  top: ask `python build.py explain` or `which` with your host.
- **GPUs**: `yes` machine code, `PTX` compiled by the driver at first use, `no cuDNN` code but no cuDNN kernels for the
  generation (R-019), `-` none.
"""


def page(facts: Facts) -> str:
    parts = [HEAD]
    for name in DISTRIBUTION:
        columns = ["release", "CUDA", "cuDNN", "Python", *(f"R{driver}" for driver in DRIVERS), *map(_generation, GPUS)]
        parts.append(f"\n## {name}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
        parts[-1] += "".join(f"\n| {' | '.join(row)} |" for row in _rows(name, facts))
    return "\n".join(parts).replace("\n\n\n", "\n\n") + "\n"


def _generation(gpu: str) -> str:
    facts = load()
    return f"{facts.gpus.capabilities[find_gpu(gpu, facts).capability].arch} {gpu}"


def _rows(name: str, facts: Facts) -> Iterator[list[str]]:
    """One for each build of the newest patch of each minor release."""
    known = facts.frameworks[name].releases
    newest = {versions.minor(version): version for version in sorted(known, key=versions.key)}
    for version in reversed(newest.values()):
        row = known[version]
        default = row.wheels["linux/amd64"].cuda or "none"
        builds = versions.newest_first({build.cuda for build in row.indexes.values()} - {default})
        for cuda in [default, *builds]:
            cell = parse_cell([f"{name}={version} cuda={cuda} python=3.99"], facts)
            draft = next(iter(drafts(cell, facts)))
            yield [
                version if cuda == default else "",
                f"**{cuda}**" if cuda == default else cuda,
                draft.cudnn or "?",
                _pythons(row.wheels["linux/amd64"].python),
                *(_runs(draft, driver, facts) for driver in DRIVERS),
                *(_kernels(draft, gpu, facts) for gpu in GPUS),
            ]


def _pythons(tags: tuple[str, ...]) -> str:
    plain = sorted((tag for tag in tags if not tag.endswith("t")), key=versions.key)
    return f"{plain[0]} to {plain[-1]}"


def _runs(draft: Draft, driver: str, facts: Facts) -> str:
    found = Judge(facts).on_host(draft._replace(driver=driver, gpu=None))
    return WORDS[of(found)["runs"].ok]


def _kernels(draft: Draft, gpu: str, facts: Facts) -> str:
    card = find_gpu(gpu, facts)
    found = {one.rule: one.ok for one in Judge(facts).on_host(draft._replace(driver=None, gpu=card))}
    if not found["R-025"]:
        return WORDS[False]
    if found.get("R-019") is False:
        return "no cuDNN"
    (name, version), *_ = draft.frameworks
    sass, _ = code_of(name, version, draft.torch_index, draft.platform, facts)
    return WORDS[True] if has_code(gpu, sass, ()) else "PTX"


def main() -> None:
    sys.stdout.write(page(load()))


if __name__ == "__main__":
    main()
