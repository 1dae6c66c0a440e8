"""One build, from its files to an image: reuse what has the fingerprint, else build, log, and say why it failed."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from cubake.build import fingerprint
from cubake.build.buildkit import BuildEvent, BuiltEvent, BytesEvent, ErrorEvent, OutputEvent, StepEvent
from cubake.build.engine import BuildRequest, Engine, ImageInfo
from cubake.build.types import Outcome
from cubake.errors import CubakeError, Failed
from cubake.events import Announce, Line, Progress, Step, step_title
from cubake.files import LogFile
from cubake.words import masked

# How engines of different age quote the whole command of a step before they say what happened to it.
_COMMAND = re.compile(r'(process ".*" did not complete successfully|executor failed running \[.*\])', re.DOTALL)
TAIL = 15  # lines of the failing step that are shown


@dataclass(frozen=True)
class Job:
    """A build to do; ``parts`` make the fingerprint."""

    name: str
    tag: str
    context: Mapping[str, bytes]
    parts: Mapping[str, str]
    args: Mapping[str, str]
    log: str
    network: str | None = None
    no_cache: bool = False


@dataclass(frozen=True)
class Done:
    outcome: Outcome
    image: ImageInfo
    changed: tuple[str, ...]
    seconds: float


@dataclass
class _Watch:
    """What has to be remembered of a running build to explain its failure."""

    names: dict[str, str] = field(default_factory=dict)
    tails: dict[str, deque[str]] = field(default_factory=dict)
    failed: str = ""
    error: str = ""
    image_id: str = ""


def build_one(job: Job, engine: Engine, announce: Announce) -> Done:
    """Build or reuse. Failed with the last lines of the failing step; Unavailable where the engine went away."""
    start = time.monotonic()
    labels = fingerprint.labels(job.parts)
    there = engine.image(job.tag)
    changed = fingerprint.changed(labels, there.labels) if there else ()
    if there and not changed and not job.no_cache:
        return Done(Outcome.REUSED, there, (), time.monotonic() - start)
    request = BuildRequest(job.args, labels, job.network, job.no_cache)
    watch = _Watch()
    with LogFile(job.log) as log:
        for event in engine.build(job.context, job.tag, request):
            _follow(event, job.name, watch, log, announce)
    if watch.error or not watch.image_id:
        raise Failed(_failure(job, watch))
    image = engine.image(watch.image_id)
    if image is None:
        raise CubakeError(f"{job.tag}: built, but the engine does not show it", "run again")
    if there and there.id != image.id:
        engine.drop(there.id)  # several GB that nobody can name any more
    return Done(Outcome.BUILT, image, changed, time.monotonic() - start)


def _follow(event: BuildEvent, name: str, watch: _Watch, log: LogFile, announce: Announce) -> None:
    match event:
        case StepEvent(digest, step, state, seconds, error):
            watch.names[digest] = step
            log.line(f"{step}: {state}" + (f" {seconds:.1f}s" if seconds else "") + (f": {error}" if error else ""))
            if state == "failed" and "context canceled" not in error:  # the others were stopped because of it
                watch.failed = digest
            announce(Step(name, step, state, seconds))
        case OutputEvent(digest, line):
            watch.tails.setdefault(digest, deque(maxlen=TAIL)).append(line)
            log.line(f"  {line}")
            announce(Line(name, masked(line)))
        case BytesEvent(_, current, total):
            announce(Progress(name, current, total))
        case BuiltEvent(image_id):
            watch.image_id = image_id
        case ErrorEvent(message):
            watch.error = message
            log.line(f"error: {message}")


def _failure(job: Job, watch: _Watch) -> str:
    step = watch.names.get(watch.failed, "")
    error = watch.error.strip() or "the engine ended the build without an image"
    error = _COMMAND.sub("the command failed", error).splitlines()[-1]
    lines = [f"{job.name}: {step_title(step) if step else 'the build'} failed: {error}"]
    lines += [f"    {line}" for line in watch.tails.get(watch.failed, ())]
    return "\n".join([*lines, f"    (whole log: {job.log})"])
