"""Which image of a plan fits a host: the four verdicts of each, best first, and the line that runs the best.

Pure: images and hosts in, answers out.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cubake import versions
from cubake.facts import Facts
from cubake.plan.types import Image
from cubake.resolve.host import Host, driver_cuda
from cubake.resolve.types import FRAMEWORKS
from cubake.resolve.verdicts import NEEDED, VERDICTS, Verdict, verdicts

WANTS = ("pytorch", "tensorflow", "cuda", "cudnn", "python", "os", "flavor", "profile")


@dataclass(frozen=True)
class Fit:
    """One image on one host."""

    image: Image
    verdicts: Mapping[str, Verdict]

    @property
    def good(self) -> bool:
        """Nothing needed is known to fail."""
        return all(self.verdicts[name].ok is not False for name in NEEDED)


@dataclass(frozen=True)
class Choice:
    """The images that answer what was wanted on one host, best first."""

    host: Host
    fits: tuple[Fit, ...]

    @property
    def best(self) -> Fit | None:
        return self.fits[0] if self.fits and self.fits[0].good else None


def wanted(images: Iterable[Image], wants: Mapping[str, str]) -> tuple[Image, ...]:
    """The images with all that was asked for; a version matches by its components (2.6 takes 2.6.1)."""
    return tuple(
        image
        for image in images
        if all(versions.matches(want, getattr(image.stack, axis)) for axis, want in wants.items())
    )


def choose(
    images: Iterable[Image], host: Host, facts: Facts, environments: Mapping[str, Mapping[str, str]] | None = None
) -> Choice:
    """``environments`` by image name: those of images that are there to be asked."""
    read = environments or {}
    fits = [Fit(image, verdicts(image.stack, host, facts, read.get(image.name))) for image in images]
    return Choice(host, tuple(sorted(fits, key=_rank)))


def _rank(fit: Fit) -> tuple[object, ...]:
    """What fails counts most, then what runs by cuda-compat only, cannot be compiled, or is not known; of equals the
    newest, the plainest and the one that is ready to build."""
    oks = [fit.verdicts[name].ok for name in NEEDED]
    stack = fit.image.stack
    plain = (stack.flavor == "devel", stack.profile != "prod", not fit.image.locked)
    python = tuple(-part for part in versions.key(stack.python).release)
    never = fit.verdicts["kernels"].ok is False  # a driver can be changed, a wheel cannot
    jits, runs = fit.verdicts["jits"], fit.verdicts["runs"]
    failing = (oks.count(False) + never, runs.borrowed, jits.ok is False, oks.count(None))
    return (*failing, age(fit.image), plain, python, stack.os, fit.image.name)


def age(image: Image) -> tuple[tuple[int, ...], ...]:
    """Smaller is newer: by the frameworks, then by CUDA; PyTorch stands before TensorFlow, a bare toolkit last."""
    stack = image.stack
    newest = tuple(-part for _, version in stack.frameworks for part in versions.key(version).release)
    kinds = tuple(FRAMEWORKS.index(name) for name, _ in stack.frameworks) or (len(FRAMEWORKS),)
    return kinds, newest, tuple(-part for part in versions.key(stack.cuda).release)


def cover(choices: Sequence[Choice]) -> tuple[tuple[Image, tuple[Host, ...]], ...]:
    """The fewest images that serve every host that any serves, each with its hosts: the one that serves most first."""
    good = {
        index: {fit.image.name: (rank, fit.image) for rank, fit in enumerate(_serving(choice))}
        for index, choice in enumerate(choices)
    }
    left = {index for index, images in good.items() if images}
    found = []
    while left:
        served: dict[str, set[int]] = {}
        for index in left:
            for name in good[index]:
                served.setdefault(name, set()).add(index)
        name = min(served, key=lambda name: (-len(served[name]), sum(good[i][name][0] for i in served[name]), name))
        image = next(good[index][name][1] for index in served[name])
        found.append((image, tuple(choices[index].host for index in sorted(served[name]))))
        left -= served[name]
    return tuple(found)


def _serving(choice: Choice) -> list[Fit]:
    """Those that surely fit where there are any: a doubt is no promise to a whole fleet."""
    good = [fit for fit in choice.fits if fit.good]
    sure = [fit for fit in good if all(fit.verdicts[name].ok for name in NEEDED)] or good
    return [fit for fit in sure if not fit.verdicts["runs"].borrowed] or sure


def run_line(image: Image, host: Host) -> str:
    """The ``docker run`` line; of a MIG device by its name, since a process sees one instance only."""
    device = next((gpu.uuid for gpu in host.gpus if gpu.mig and gpu.uuid), None)
    gpus = f'"device={device}"' if device else "all"
    return f"docker run --rm -it --gpus {shlex.quote(gpus)} {image.tag}"


def host_line(host: Host, facts: Facts) -> str:
    """driver 535.104.05 (CUDA 12.2), RTX 4090 (sm_89); given"""
    level = driver_cuda(host.driver, facts) if host.driver else None
    driver = f"driver {host.driver}" + (f" (CUDA {level})" if level else "") if host.driver else "a driver not named"
    names = dict.fromkeys(f"{gpu.name} ({gpu.sm})" if gpu.name else gpu.sm for gpu in host.gpus)
    return f"{driver}, {', '.join(names) or 'a GPU not named'}; {host.origin}"


def choice_document(choice: Choice, facts: Facts) -> dict[str, Any]:
    """The document of ``which`` (design section 5)."""
    host, best = choice.host, choice.best
    return {
        "host": {
            "driver": host.driver,
            "cuda": driver_cuda(host.driver, facts) if host.driver else None,
            "gpus": [
                {"name": gpu.name, "sm": gpu.sm, "kind": gpu.kind, "uuid": gpu.uuid, "mig": gpu.mig}
                for gpu in host.gpus
            ],
            "origin": host.origin,
        },
        "best": best.image.name if best else None,
        "run": run_line(best.image, host) if best else None,
        "images": [
            {
                "name": fit.image.name,
                "tag": fit.image.tag,
                "verdicts": {name: verdict.document for name, verdict in fit.verdicts.items()},
            }
            for fit in choice.fits
        ],
    }


def rows(choice: Choice) -> list[tuple[str, ...]]:
    """One line per image: its name, and a word for each verdict."""
    return [(fit.image.name, *(fit.verdicts[name].word for name in VERDICTS)) for fit in choice.fits]


def against(fit: Fit) -> list[str]:
    """Why an image does not fit, or what to know of it: the statements of the verdicts that are not plainly yes."""
    return [f"{name}: {verdict.statement}" for name, verdict in fit.verdicts.items() if verdict.ok is not True]
