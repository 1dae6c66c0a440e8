"""BuildKit's progress stream. The bytes are made by hand from the published field numbers of moby.buildkit.v1
(moby/buildkit, api/services/control/control.proto), so that the decoder's own table is not its judge:

    StatusResponse: vertexes 1, statuses 2, logs 3, warnings 4
    Vertex: digest 1, inputs 2, name 3, cached 4, started 5, completed 6, error 7, progressGroup 8
    VertexStatus: ID 1, vertex 2, name 3, current 4, total 5, timestamp 6, started 7, completed 8
    VertexLog: vertex 1, timestamp 2, stream 3, msg 4
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from cubake.build.buildkit import (
    BuildEvent,
    BuiltEvent,
    BytesEvent,
    Decoder,
    ErrorEvent,
    OutputEvent,
    StepEvent,
    json_records,
)

LF = b"\n"


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def block(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def at(seconds: int, nanos: int = 0) -> bytes:
    return number(1, seconds) + number(2, nanos)


def vertex(digest: str, name: str, **more: Any) -> bytes:
    data = block(1, digest) + block(2, "sha256:input") + block(3, name)
    data += number(4, 1) if more.get("cached") else b""
    data += block(5, more["started"]) if "started" in more else b""
    data += block(6, more["completed"]) if "completed" in more else b""
    data += block(7, more["error"]) if "error" in more else b""
    return block(1, data)


def status(digest: str, current: int, total: int) -> bytes:
    return block(
        2,
        block(1, "extracting")
        + block(2, digest)
        + block(3, "n")
        + number(4, current)
        + number(5, total)
        + block(6, at(1)),
    )


def log(digest: str, text: bytes) -> bytes:
    return block(3, block(1, digest) + block(2, at(1)) + number(3, 1) + block(4, text))


def trace(*messages: bytes) -> dict[str, Any]:
    return {"id": "moby.buildkit.trace", "aux": base64.b64encode(b"".join(messages)).decode()}


def line(*messages: bytes) -> bytes:
    return json.dumps(trace(*messages)).encode() + LF


def read(*chunks: bytes) -> list[BuildEvent]:
    return list(Decoder().events(json_records(chunks)))


def record(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + LF


STREAM = (
    line(vertex("a", "[1/2] FROM docker.io/library/debian"))  # announced, not begun: nothing to tell
    + line(vertex("a", "[1/2] FROM docker.io/library/debian", started=at(100)))
    + line(vertex("a", "[1/2] FROM docker.io/library/debian", started=at(100)), status("a", 512, 4096))
    + line(vertex("a", "[1/2] FROM docker.io/library/debian", started=at(100), completed=at(102, 500_000_000)))
    + line(vertex("b", "[2/2] RUN naïve", started=at(103)), log("b", "größe: 1\nzwei".encode()))
    + line(log("b", b" und drei\n"))
    + line(vertex("b", "[2/2] RUN naïve", started=at(103), completed=at(104)))
    + line(vertex("c", "COPY x", cached=True, started=at(104), completed=at(104)))
    + record({"id": "moby.image.id", "aux": {"ID": "sha256:abc"}})
)
EVENTS: list[BuildEvent] = [
    StepEvent("a", "[1/2] FROM docker.io/library/debian", "started"),
    BytesEvent("a", 512, 4096),
    StepEvent("a", "[1/2] FROM docker.io/library/debian", "done", 2.5),
    StepEvent("b", "[2/2] RUN naïve", "started"),
    OutputEvent("b", "größe: 1"),
    OutputEvent("b", "zwei und drei"),
    StepEvent("b", "[2/2] RUN naïve", "done", 1.0),
    StepEvent("c", "COPY x", "cached"),
    BuiltEvent("sha256:abc"),
]


def test_a_whole_build() -> None:
    assert read(STREAM) == EVENTS


def test_a_stream_cut_at_every_byte() -> None:
    for cut in range(len(STREAM) + 1):
        assert read(STREAM[:cut], STREAM[cut:]) == EVENTS, f"cut at {cut}"


def test_a_stream_of_single_bytes_and_empty_chunks() -> None:
    assert read(*(STREAM[index : index + 1] for index in range(len(STREAM)))) == EVENTS
    assert read(b"", STREAM, b"", b"") == EVENTS


def test_raw_utf8_cut_inside_a_character() -> None:
    raw = record({"errorDetail": {"message": "größe überschritten"}, "error": "größe überschritten"})
    assert all(read(raw[:cut], raw[cut:]) == [ErrorEvent("größe überschritten")] for cut in range(len(raw)))


@pytest.mark.parametrize("gap", [b"", b" ", b"\r", b"\t  "])
def test_two_objects_on_one_line(gap: bytes) -> None:
    first, second = record({"error": "one"})[:-1], record({"error": "two"})[:-1]
    assert read(first + gap + second + gap + LF) == [ErrorEvent("one"), ErrorEvent("two")]


def test_the_last_line_needs_no_end() -> None:
    assert read(record({"error": "cut off"})[:-1]) == [ErrorEvent("cut off")]


@pytest.mark.parametrize(
    "noise",
    [
        b"\xff\xfe\xfd\n", b"<html>502</html>\n", b"[1, 2]\n", b"3\n", b"null\n", b'{"a": \n', b"\n\n", b"\r\n",
        b'{"stream": "old builder"}\n', b'{"id": "moby.buildkit.trace", "aux": "%%%"}\n',
        b'{"id": "moby.buildkit.trace", "aux": "AAA"}\n', b'{"id": "moby.buildkit.trace", "aux": "//8="}\n',
        b'{"id": "moby.buildkit.trace", "aux": null}\n', b'{"id": "moby.buildkit.trace", "aux": 7}\n',
        '{"id": "moby.buildkit.trace", "aux": "größe"}\n'.encode(), b'{"aux": {}}\n', b'{"errorDetail": null}\n',
        b'{"errorDetail": "text"}\n',
    ],
)  # fmt: skip
def test_noise_is_passed_over(noise: bytes) -> None:
    """The module promises never to raise on what a stream holds."""
    found = read(noise + STREAM)
    assert [event for event in found if not isinstance(event, ErrorEvent)] == EVENTS


@pytest.mark.parametrize(
    "value",
    [
        {"error": "failed to solve", "errorDetail": {"message": "failed to solve"}},
        {"errorDetail": {"code": 1, "message": "failed to solve"}},
        {"error": "failed to solve"},
    ],
)
def test_an_error_record_is_one_error(value: dict[str, Any]) -> None:
    assert read(record(value)) == [ErrorEvent("failed to solve")]


def test_a_failed_step() -> None:
    why = 'process "/bin/sh -c false" did not complete successfully: exit code: 1'
    failed = line(vertex("b", "RUN false", started=at(10), completed=at(13), error=why))
    assert read(failed) == [StepEvent("b", "RUN false", "failed", 3.0, why)]


def test_a_step_is_told_once_for_each_state() -> None:
    again = line(vertex("a", "x", started=at(1)))
    assert read(again * 5) == [StepEvent("a", "x", "started")]


def test_a_clock_that_went_back_gives_no_negative_time() -> None:
    assert read(line(vertex("a", "x", started=at(9), completed=at(8)))) == [StepEvent("a", "x", "done", 0.0)]


def test_a_progress_bar_leaves_its_last_state() -> None:
    data = b"10%\r 20%\r100%\r\nnext\n"
    assert read(line(log("b", data))) == [OutputEvent("b", "100%"), OutputEvent("b", "next")]


def test_output_of_any_bytes() -> None:
    """A log line is bytes: what is no UTF-8 is replaced, and a character cut by BuildKit's packets is whole again."""
    assert read(line(log("b", b"\xff\xfe ok\n"))) == [OutputEvent("b", "�� ok")]
    euro = "€".encode()
    assert read(line(log("b", euro[:1])), line(log("b", euro[1:] + b"\n"))) == [OutputEvent("b", "€")]


def test_output_without_line_end_is_told_at_the_end() -> None:
    assert read(line(log("b", b"Segmentation fault"))) == [OutputEvent("b", "Segmentation fault")]


def test_output_of_two_steps_is_kept_apart() -> None:
    stream = line(log("a", b"one "), log("b", b"two ")) + line(log("a", b"1\n"), log("b", b"2\n"))
    assert read(stream) == [OutputEvent("a", "one 1"), OutputEvent("b", "two 2")]


def test_large_numbers() -> None:
    assert read(line(status("a", 3_000_000_000, 4_300_000_000))) == [BytesEvent("a", 3_000_000_000, 4_300_000_000)]
