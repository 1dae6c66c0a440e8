"""Room 7's door: each image is asked, in a container of its own, whether it is what its plan promises."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from cubake.build.engine import Engine, ImageInfo
from cubake.build.types import BuildRecord, Outcome
from cubake.errors import CubakeError, InputError, Unavailable
from cubake.events import Announce, Began, Ended, Note
from cubake.options import Options
from cubake.plan import Image, Plan
from cubake.plan.document import image_document
from cubake.render.context import labels
from cubake.verify.judge import judge
from cubake.verify.runner import need_client, probes, run_suite
from cubake.verify.types import VerifyRecord
from cubake.words import count

PROBE_FOLDER = "/tmp"


@dataclass(frozen=True)
class Gpu:
    """How containers get the GPU: a request for the engine, or the reason why none can be had."""

    request: str | None
    reason: str


def verify_images(
    plan: Plan, records: Sequence[BuildRecord] | None, engine: Engine, options: Options, announce: Announce
) -> list[VerifyRecord]:
    """The verdict of every image that was built (or, without records, that the engine has), in plan order."""
    need_client()
    built = None if records is None else {r.name for r in records if r.outcome in (Outcome.BUILT, Outcome.REUSED)}
    chosen = [image for image in plan.images if image.locked and (built is None or image.name in built)]
    found = [(image, info) for image in chosen if (info := engine.image(image.tag))]
    if built is None:
        _tell_missing(plan, {image.name for image, _ in found}, options, announce)
    gpu = find_gpu(found[0][1].id, engine, options) if found else Gpu(None, "")

    def one(pair: tuple[Image, ImageInfo]) -> VerifyRecord:
        return _verify(*pair, gpu, engine, options, announce)

    with ThreadPoolExecutor(1 if gpu.request else min(options.jobs, 2)) as pool:  # one at a time on the GPU
        return list(pool.map(one, found))


def _tell_missing(plan: Plan, found: set[str], options: Options, announce: Announce) -> None:
    """Images that cannot be verified: InputError where one is named, or where there is no other."""
    missing = [image.name for image in plan.images if image.name not in found]
    named = [name for name in missing if name in options.only or not found]
    if named:
        others = f" and {count(len(named) - 1, 'other')}" if named[1:] else ""
        raise InputError(f"{named[0]}{others}: not built", f"build it first: {options.command('build')}")
    for name in missing:
        announce(Note(f"{name}: not built, so not verified"))


def find_gpu(image_id: str, engine: Engine, options: Options) -> Gpu:
    """Try what was asked; ``auto`` and ``all`` try CDI, then the nvidia runtime, and take what starts."""
    if options.gpu == "none":
        return Gpu(None, "--gpu none was asked for")
    asked = [options.gpu] if options.gpu not in ("auto", "all") else ["nvidia.com/gpu=all", "nvidia"]
    reasons = []
    for request in asked:
        try:
            with engine.container(image_id, request, None):
                return Gpu(request, "")
        except CubakeError as error:
            reasons.append(f"{request}: {error.message}")
    reason = f"this engine hands out no GPU, tried {' and '.join(asked)}"
    if options.gpu != "auto":
        raise Unavailable(
            "; ".join(reasons), "check the NVIDIA driver and the NVIDIA Container Toolkit, or use --gpu auto"
        )
    return Gpu(None, reason)


def _verify(
    image: Image, info: ImageInfo, gpu: Gpu, engine: Engine, options: Options, announce: Announce
) -> VerifyRecord:
    start = time.monotonic()
    announce(Began(image.name, "verify"))
    junit, trouble, away = None, "", ""
    try:
        with engine.container(info.id, gpu.request, None) as container:
            engine.copy_into(container, probes(), PROBE_FOLDER)
            no_gpu = None if gpu.request else gpu.reason
            junit, trouble = run_suite(container, _promised(image, info), no_gpu, engine.host)
    except Unavailable as error:
        away = error.message
    except CubakeError as error:  # an image that does not start costs its own verdict, not the others'
        trouble = error.message
    checks = judge(junit, image.checks, trouble, away)
    device = next((dict(check.measured) for check in checks if check.id == "gpu.device" and check.measured), None)
    record = VerifyRecord(
        name=image.name,
        tag=image.tag,
        image_id=info.id,
        gpu=(device | {"access": gpu.request}) if device else None,
        checks=checks,
        seconds=time.monotonic() - start,
        require_gpu=options.require_gpu,
        away=away,
    )
    detail = "; ".join(f"{check.id}: {check.reason}" for check in record.failures)
    result = "PASS" if record.passed else "NOT_RUN" if away else "FAIL"
    announce(Ended(image.name, "verify", result, record.seconds, detail))
    return record


def _promised(image: Image, info: ImageInfo) -> dict[str, Any]:
    """What the checks compare with: the plan, the lock, the labels wanted, and the configuration the image has."""
    assert image.lock is not None
    return image_document(image) | {
        "packages": {package.name: package.version for package in image.lock.packages},
        "labels": dict(labels(image)),
        "image": {"labels": dict(info.labels), "env": list(info.env)},
    }
