"""Which images of a plan a run is about, and what stops the run before it does anything. Pure."""

from __future__ import annotations

import fnmatch
from dataclasses import replace

from cubake.errors import CubakeError, InputError, Refused
from cubake.options import Options
from cubake.plan import Plan
from cubake.words import count

SHOWN = 20  # refused cells that a message names; `plan` shows all


def select(planned: Plan, options: Options) -> Plan:
    """The part of a plan that --only names. A plan without images stays: its refusals say why there are none."""
    if not options.only or not planned.images:
        return planned
    images = tuple(i for i in planned.images if any(fnmatch.fnmatchcase(i.name, glob) for glob in options.only))
    if not images:
        raise InputError(f"no image matches --only {' '.join(options.only)}", f"{options.command('plan')} lists them")
    return replace(planned, images=images, refused=())


def select_some(planned: Plan, options: Options) -> Plan:
    """The same for a verb that passes over refused cells: it needs an image that is left."""
    chosen = select(planned, options)
    if not chosen.images:
        refuse_conflicts(chosen, options)
    return chosen


def refuse_conflicts(planned: Plan, options: Options) -> None:
    found = conflict(planned, options)
    if found:
        raise found


def conflict(planned: Plan, options: Options) -> CubakeError | None:
    """What stops a run: refused cells that the matrix does not let be skipped, or all of them where no image is left.
    A name that does not exist at all is a wrong file; two things that do not fit are a refusal."""
    from cubake.resolve.explain import sentence  # only for a message

    failing = [refused for refused in planned.refused if refused.cell.on_conflict == "fail"]
    stopping = failing or ([] if planned.images else list(planned.refused))
    if not stopping:
        return None
    lines = [
        f"{one.cell.position}: {one.cell} cannot work: {'; '.join(map(sentence, one.because))}"
        for one in stopping[:SHOWN]
    ]
    if stopping[SHOWN:]:
        lines.append(f"and {count(len(stopping) - SHOWN, 'more cell')}")
    absent = any(evidence.absent for one in failing for evidence in one.because)
    kind = InputError if absent else Refused
    way_out = "`on_conflict: skip` leaves it out" if failing else "not one image is left"
    return kind("\n".join(lines), f"{options.command('plan')} shows what would work instead; {way_out}")
