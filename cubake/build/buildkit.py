"""BuildKit's progress stream, decoded: JSON lines whose ``moby.buildkit.trace`` records hold a protobuf message.

Pure: bytes in, events out. The stream may split anywhere, also inside a character, and a tool's own output may be any
bytes; the reader never raises on either. The message types are moby.buildkit.v1 (api/services/control/control.proto),
of which only the fields that are shown are declared here.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.message import DecodeError

_STRING, _BYTES, _INT64, _BOOL, _MESSAGE = 9, 12, 3, 8, 11
_TIME = ".google.protobuf.Timestamp"
# message: ((field, number, type, repeated, message type), ...)
_FIELDS: dict[str, tuple[tuple[str, int, int, bool, str], ...]] = {
    "Vertex": (
        ("digest", 1, _STRING, False, ""),
        ("name", 3, _STRING, False, ""),
        ("cached", 4, _BOOL, False, ""),
        ("started", 5, _MESSAGE, False, _TIME),
        ("completed", 6, _MESSAGE, False, _TIME),
        ("error", 7, _STRING, False, ""),
    ),
    "VertexStatus": (
        ("ID", 1, _STRING, False, ""),
        ("vertex", 2, _STRING, False, ""),
        ("current", 4, _INT64, False, ""),
        ("total", 5, _INT64, False, ""),
    ),
    "VertexLog": (("vertex", 1, _STRING, False, ""), ("msg", 4, _BYTES, False, "")),
    "StatusResponse": (
        ("vertexes", 1, _MESSAGE, True, ".cubake.Vertex"),
        ("statuses", 2, _MESSAGE, True, ".cubake.VertexStatus"),
        ("logs", 3, _MESSAGE, True, ".cubake.VertexLog"),
    ),
}


@dataclass(frozen=True)
class StepEvent:
    """A step of the build: ``state`` is started, done, cached or failed; ``seconds`` is known when it ended."""

    digest: str
    name: str
    state: str
    seconds: float = 0.0
    error: str = ""


@dataclass(frozen=True)
class OutputEvent:
    """One line that a step printed."""

    digest: str
    line: str


@dataclass(frozen=True)
class BytesEvent:
    """Progress of a transfer in a step; ``total`` is 0 where it is not known."""

    digest: str
    current: int
    total: int


@dataclass(frozen=True)
class BuiltEvent:
    image_id: str


@dataclass(frozen=True)
class ErrorEvent:
    message: str


BuildEvent = StepEvent | OutputEvent | BytesEvent | BuiltEvent | ErrorEvent


def json_records(chunks: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The JSON objects of a stream, one a line, however the transport cut it. What is not JSON is passed over."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield from _record(line)
    yield from _record(rest)


def _record(line: bytes) -> Iterator[dict[str, Any]]:
    text = line.decode("utf-8", "replace").strip()
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):  # an engine behind a proxy may send several objects on one line
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            return
        if isinstance(value, dict):
            yield value
        at = end
        while at < len(text) and text[at].isspace():
            at += 1


class Decoder:
    """Turns records into events; keeps the unfinished last line of each step."""

    def __init__(self) -> None:
        self._partial: dict[str, bytes] = {}
        self._state: dict[str, str] = {}

    def events(self, records: Iterable[dict[str, Any]]) -> Iterator[BuildEvent]:
        for record in records:
            yield from self._one(record)
        for digest, rest in self._partial.items():
            if rest:
                yield OutputEvent(digest, _text(rest))

    def _one(self, record: dict[str, Any]) -> Iterator[BuildEvent]:
        detail = record.get("errorDetail")
        if error := record.get("error") or (detail.get("message") if isinstance(detail, dict) else detail):
            yield ErrorEvent(str(error))
        aux = record.get("aux")
        if record.get("id") == "moby.buildkit.trace" and isinstance(aux, str):
            yield from self._trace(aux)
        elif isinstance(aux, dict) and "ID" in aux:
            yield BuiltEvent(str(aux["ID"]))

    def _trace(self, encoded: str) -> Iterator[BuildEvent]:
        message = _response()()
        try:
            message.ParseFromString(base64.b64decode(encoded))
        except (ValueError, DecodeError):
            return
        for vertex in message.vertexes:
            yield from self._vertex(vertex)
        for status in message.statuses:
            yield BytesEvent(status.vertex, status.current, status.total)
        for log in message.logs:
            yield from self._log(log.vertex, log.msg)

    def _vertex(self, vertex: Any) -> Iterator[BuildEvent]:
        """A vertex is sent again and again as it changes: an event only where its state is new."""
        state = "failed" if vertex.error else "cached" if vertex.cached else "started"
        if state == "started" and vertex.HasField("completed"):
            state = "done"
        if not (vertex.HasField("started") or vertex.HasField("completed") or vertex.error or vertex.cached):
            return
        if self._state.get(vertex.digest) == state:
            return
        self._state[vertex.digest] = state
        seconds = _seconds(vertex.started, vertex.completed) if vertex.HasField("completed") else 0.0
        yield StepEvent(vertex.digest, vertex.name, state, seconds, vertex.error)

    def _log(self, digest: str, data: bytes) -> Iterator[BuildEvent]:
        *lines, rest = (self._partial.get(digest, b"") + data).split(b"\n")
        self._partial[digest] = rest
        for line in lines:
            yield OutputEvent(digest, _text(line))


def _text(line: bytes) -> str:
    """A line as a terminal would leave it: what a carriage return overwrote is gone."""
    return line.decode("utf-8", "replace").rstrip("\r").rsplit("\r", maxsplit=1)[-1]


def _seconds(start: timestamp_pb2.Timestamp, end: timestamp_pb2.Timestamp) -> float:
    return max(0.0, (end.ToNanoseconds() - start.ToNanoseconds()) / 1e9)


@cache
def _response() -> Any:
    """The message class of StatusResponse, made from the table above."""
    file = descriptor_pb2.FileDescriptorProto(name="cubake/buildkit.proto", package="cubake", syntax="proto3")
    file.dependency.append(timestamp_pb2.DESCRIPTOR.name)
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for field, number, kind, repeated, type_name in fields:
            added = message.field.add(name=field, number=number, type=kind, label=3 if repeated else 1)
            if type_name:
                added.type_name = type_name
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("cubake.StatusResponse"))
