"""What the makers of facts files share: the index, the reader of wheels, the committed file, the one who listens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cubake import versions
from cubake.refresh.cache import Cache, cache_folder
from cubake.refresh.index import Index, IndexFile
from cubake.refresh.names import WheelName
from cubake.refresh.reader import Reader
from cubake.refresh.types import Announce, Data, Sources
from cubake.refresh.web import Web


@dataclass(frozen=True)
class World:
    """All that a refresh reads from. ``committed`` are the facts files as they are, by name."""

    sources: Sources
    web: Web
    index: Index
    reader: Reader
    images: Cache
    committed: Mapping[str, Data]
    announce: Announce

    def completed(self, wheels: Iterable[WheelName]) -> list[IndexFile]:
        """The files of the wheels, each with size and date."""
        return [self.index.completed(wheel.file) for wheel in wheels]


def open_world(sources: Sources, committed: Mapping[str, Data], announce: Announce) -> World:
    """Nothing is asked of the network yet."""
    web, cache = Web(sources.ca_bundle), cache_folder(sources.cache)
    return World(
        sources=sources,
        web=web,
        index=Index(web, sources.index_url),
        reader=Reader(web, Cache(cache / "wheels"), announce),
        images=Cache(cache / "images"),
        committed=committed,
        announce=announce,
    )


def source(text: str, confidence: str) -> dict[str, str]:
    return {"text": text, "confidence": confidence}


def used_sources(own: Data, committed: Data, rows: Any) -> Data:
    """The sources that the rows name: the maker's own, then those of rows that are carried over, in their old order."""
    named = set(_named(rows))
    known = {**own, **{key: value for key, value in committed.get("sources", {}).items() if key not in own}}
    return {key: value for key, value in known.items() if key in named}


def _named(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        for key, row in value.items():
            yield from [row] if key == "source" else _named(row)


def ascending(rows: Mapping[str, Any]) -> Data:
    """The rows by version, oldest first."""
    return {version: rows[version] for version in sorted(rows, key=versions.key)}
