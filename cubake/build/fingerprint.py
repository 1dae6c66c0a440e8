"""The fingerprint of an image: a digest of named parts, kept in its labels, so that what did not change is not built
and what did is named."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

LABEL = "io.cubake.fingerprint"
PARTS = "io.cubake.fingerprint.parts"


def labels(parts: Mapping[str, str]) -> dict[str, str]:
    """The two labels: the digest of all parts, and a short digest of each."""
    short = {name: hashlib.sha256(value.encode()).hexdigest()[:12] for name, value in sorted(parts.items())}
    text = json.dumps(short, separators=(",", ":"))
    return {LABEL: hashlib.sha256(text.encode()).hexdigest(), PARTS: text}


def changed(wanted: Mapping[str, str], found: Mapping[str, str]) -> tuple[str, ...]:
    """The parts that differ between wanted labels and an image's; empty where the fingerprints are equal."""
    if wanted[LABEL] == found.get(LABEL):
        return ()
    try:
        before = json.loads(found.get(PARTS, "{}"))
    except ValueError:
        before = {}
    if not isinstance(before, dict):
        before = {}
    now = json.loads(wanted[PARTS])
    return tuple(name for name in now if now[name] != before.get(name)) or ("parts",)
