"""What a build stands on: the tools image (uv, CA bundle), and the base, from a registry or made on the spot."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from pathlib import Path

from uv import find_uv_bin

from cubake import versions
from cubake.build.engine import Engine, ImageInfo
from cubake.build.one import Job, build_one
from cubake.build.rootfs import REPOSITORY, make_rootfs
from cubake.build.types import BuildOptions
from cubake.errors import Refused, Unavailable
from cubake.events import Announce, Began, Ended, Note
from cubake.facts import Facts
from cubake.plan.lock import PYTORCH_INDEX
from cubake.render import Templates
from cubake.render.context import UV, base_context
from cubake.resolve import Stack
from cubake.resolve.bases import LOCAL_CUDA

_TOOLS_DOCKERFILE = "FROM scratch\nCOPY uv ca.pe[m] /\n"


@dataclass(frozen=True)
class FoundBase:
    """``how`` is engine (it was there), registry (pulled) or local (made here)."""

    reference: str
    image: ImageInfo
    how: str


@dataclass
class Bases:
    """Finds each base once, however many images start from it."""

    engine: Engine
    options: BuildOptions
    facts: Facts
    templates: Templates
    announce: Announce
    logs: str
    _found: dict[str, FoundBase] = field(default_factory=dict)
    _tools: str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tools(self) -> str:
        """The image with uv and the CA bundle, mounted while building and in no layer."""
        if self._tools is None:
            uv, ca = Path(find_uv_bin()).read_bytes(), self.options.ca_bundle
            digest = hashlib.sha256(UV.encode() + (ca or b"")).hexdigest()[:12]
            tag = f"cubake/tools:{digest}"
            context = {"Dockerfile": _TOOLS_DOCKERFILE.encode(), "uv": uv} | ({"ca.pem": ca} if ca else {})
            job = Job("tools", tag, context, {"uv": UV, "ca": digest}, {}, f"{self.logs}/tools.log")
            build_one(job, self.engine, lambda _: None)
            self._tools = tag
        return self._tools

    def find(self, stack: Stack) -> FoundBase:
        """The base of a stack by the caller's choice. Refused where that base cannot be made, Unavailable where it
        cannot be had."""
        assert stack.base is not None
        reference = stack.base.reference
        with self._lock:
            if reference not in self._found:
                self._found[reference] = self._look(stack)
            return self._found[reference]

    def _look(self, stack: Stack) -> FoundBase:
        assert stack.base is not None
        reference, how = stack.base.reference, self.options.base
        if stack.base.kind == "local":
            if how == "registry":
                raise Refused(f"{reference}: NVIDIA publishes no image for {stack.os}", "use --base auto or local")
            return self._local(stack)
        if how != "local":
            published = self._published(reference)
            if published:
                return published
            if how == "registry":
                raise Unavailable(
                    f"{reference}: the registry does not give it",
                    "check the network, name a mirror (build.registry_mirror in the matrix file), or use --base local",
                )
            self.announce(Note(f"{reference}: no registry gives it; making a local base"))
        return self._local(stack)

    def _published(self, reference: str) -> FoundBase | None:
        there = self.engine.image(reference)
        if there:
            return FoundBase(reference, there, "engine")
        mirror = self.options.registry_mirror
        asked = f"{mirror.rstrip('/')}/{reference}" if mirror else reference
        self.announce(Note(f"pulling {asked}"))
        pulled = self.engine.pull(asked)
        return FoundBase(asked, pulled, "registry") if pulled else None

    def _local(self, stack: Stack) -> FoundBase:
        base = stack.base
        assert base is not None
        flavor = base.flavor.rsplit("-", maxsplit=1)[-1]
        if flavor == "devel" and int(versions.major(base.toolkit)) < 13:
            raise Refused(
                f"{base.reference}: a local devel base needs nvcc, which NVIDIA's wheels hold from CUDA 13 on",
                "build it where a registry answers (--base registry), or take the runtime flavour",
            )
        if base.toolkit not in self.facts.components.toolkits:
            raise Refused(f"{base.reference}: there are no wheels of CUDA {base.toolkit}", "use --base registry")
        reference = f"{LOCAL_CUDA}:{base.reference.rpartition(':')[2]}"
        return FoundBase(reference, self._make(stack, reference), "local")

    def _make(self, stack: Stack, reference: str) -> ImageInfo:
        name = f"base {reference}"
        self.announce(Began(name, "base"))
        row = self.facts.os.releases[stack.os]
        family = stack.os.rstrip("0123456789.")
        mirror = dict(self.options.archive_mirrors).get(family)
        rootfs = make_rootfs(stack.os, row, self.engine, mirror, f"{self.logs}/rootfs-{stack.os}.log")
        tools = self.tools()
        context = base_context(stack, tools, f"{REPOSITORY}:{stack.os}", reference, self.facts)
        dockerfile, layout = self.templates.base(context), self.templates.layout()
        root = self.engine.image(rootfs)
        job = Job(
            name=name,
            tag=reference,
            context={"Dockerfile": dockerfile.encode(), "layout.sh": layout.encode()},
            parts={
                "dockerfile": dockerfile.replace(tools, "tools"),
                "layout": layout,
                "rootfs": root.id if root else "",
            },
            args=build_args(self.options),
            log=f"{self.logs}/{reference.replace('/', '-').replace(':', '-')}.log",
            network=self.options.network,
        )
        done = build_one(job, self.engine, self.announce)
        self.announce(Ended(name, "base", done.outcome, done.seconds))
        return done.image


def build_args(options: BuildOptions, index: str | None = None) -> dict[str, str]:
    """Build arguments every build takes; ``index`` is PyTorch's own, for an image whose wheels come from there.

    Proxies are predefined arguments: BuildKit keeps them out of image and cache.
    """
    args = dict(options.proxies)
    if options.index_url:
        args["INDEX_URL"] = options.index_url
    extra = [*([f"{PYTORCH_INDEX}/{index}"] if index else []), *options.extra_index_urls]
    if extra:
        args["EXTRA_INDEX_URLS"] = " ".join(extra)
    if options.python_mirror:
        args["PYTHON_MIRROR"] = options.python_mirror
    return args
