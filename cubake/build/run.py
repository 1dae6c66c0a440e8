"""Room 6's door: builds a plan's images side by side, shared prefixes first; a failure stops only what needs it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from cubake.build.bases import Bases, build_args
from cubake.build.engine import Engine
from cubake.build.one import Job, build_one
from cubake.build.types import BuildOptions, BuildRecord, Outcome
from cubake.errors import CubakeError, Interrupted, Refused, Unavailable
from cubake.events import Announce, Began, Ended
from cubake.plan import Image
from cubake.plan.lock import COMMAND
from cubake.render.context import UV

Files = Mapping[str, str]  # Dockerfile and requirements.lock of one image


def build_images(
    images: tuple[Image, ...], files: Mapping[str, Files], bases: Bases, announce: Announce
) -> list[BuildRecord]:
    """Build every image; the records in plan order. Interrupted after Ctrl-C, when every build has been stopped."""

    def build(image: Image) -> BuildRecord:
        return _build(image, files.get(image.name, {}), bases, announce)

    return schedule(images, build, bases.options, bases.engine)


def prefix(image: Image) -> tuple[str, ...]:
    """What decides the layers an image shares first: its base, its Python, and the wheels of its first layer."""
    first = image.layers[0].packages if image.layers else ()
    return (image.stack.base.reference if image.stack.base else "", image.stack.python, *(p.sha256 for p in first))


def schedule(
    images: tuple[Image, ...], build: Callable[[Image], BuildRecord], options: BuildOptions, engine: Engine | None
) -> list[BuildRecord]:
    """At most ``jobs`` at once. The first image of each shared prefix runs alone; those that share it start when it
    is done: started together on an uncached prefix, each would make the prefix again."""
    waiting, records, led = list(images), dict[str, BuildRecord](), set[tuple[str, ...]]()
    running: dict[Future[BuildRecord], Image] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        try:
            while waiting or running:
                for image in list(waiting):
                    busy = {prefix(other) for other in running.values()} - led
                    if len(running) < options.jobs and prefix(image) not in busy:
                        waiting.remove(image)
                        running[pool.submit(build, image)] = image
                done, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    image = running.pop(future)
                    records[image.name] = future.result()
                    led.add(prefix(image))
                    if options.fail_fast and records[image.name].outcome is Outcome.FAILED:
                        records |= {i.name: _record(i, Outcome.BLOCKED, "stopped by --fail-fast") for i in waiting}
                        waiting.clear()
        except KeyboardInterrupt:
            if engine is not None:
                engine.cancel_builds()
            raise Interrupted("interrupted: the builds were stopped", "run again: what was built is kept") from None
    return [records[image.name] for image in images]


def _build(image: Image, files: Files, bases: Bases, announce: Announce) -> BuildRecord:
    start = time.monotonic()
    announce(Began(image.name, "build"))
    try:
        record = _attempt(image, files, bases, announce, start)
    except (Refused, Unavailable) as error:
        hint = f" ({error.hint})" if error.hint else ""
        record = _record(image, Outcome.BLOCKED, f"{error.message}{hint}", error.exit_code, time.monotonic() - start)
    except CubakeError as error:
        said = error.message.removeprefix(f"{image.name}: ")
        record = _record(image, Outcome.FAILED, said, error.exit_code, time.monotonic() - start)
    announce(Ended(image.name, "build", record.outcome, record.seconds, record.error or ", ".join(record.changed)))
    return record


def _attempt(image: Image, files: Files, bases: Bases, announce: Announce, start: float) -> BuildRecord:
    if not image.locked:
        why = "its lock answers another question than the matrix asks now" if image.stale else "it has no lock"
        file = image.position.file
        matrix = "" if file == "matrix.yaml" else f" --matrix {file}"
        raise Refused(f"{image.name}: {why}", f"lock it: {COMMAND}{matrix} --only '{image.name}'")
    base = bases.find(image.stack)
    options = bases.options
    log = f"{bases.logs}/{image.name}.log"
    job = Job(
        name=image.name,
        tag=image.tag,
        context={name: text.encode() for name, text in files.items()},
        parts={
            "dockerfile": files["Dockerfile"],
            "lock": files["requirements.lock"],
            "base": base.image.id,
            "tools": UV,
            "sources": repr((options.index_url, options.extra_index_urls, options.python_mirror)),
        },
        args=build_args(options, image.stack.index) | {"BASE": base.reference, "TOOLS": bases.tools()},
        log=log,
        network=options.network,
        no_cache=options.no_cache,
    )
    done = build_one(job, bases.engine, announce)
    return BuildRecord(
        name=image.name,
        tag=image.tag,
        outcome=done.outcome,
        seconds=time.monotonic() - start,
        image_id=done.image.id,
        bytes=done.image.bytes,
        base=f"{base.reference} ({base.how})",
        changed=done.changed,
        log=log if done.outcome is Outcome.BUILT else None,
    )


def _record(image: Image, outcome: Outcome, error: str, code: int = 1, seconds: float = 0.0) -> BuildRecord:
    return BuildRecord(image.name, image.tag, outcome, seconds, error=error, code=code)
