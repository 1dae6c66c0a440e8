"""Which characters may stand where. The tables are written out here, so that widening a rule fails a test."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

Refused = Callable[[str], list[str]]

CONTROL = "\x00\x01\x07\x08\t\n\x0b\x0c\r\x1b\x1f\x7f\x80\x85\x9f\u061c\u200e\u200f\u2028\u2029"
CONTROL += "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\ufff9"
SMUGGLERS = "$`\\\"';|&<>"
WHY = "it could smuggle an instruction into the Dockerfile"

# place: (text of the matrix with the value at %s, position, path, smugglers that its grammar needs)
PLACES = {
    "entry's name": ("images: {%s: {cuda: '12.4'}}\n", "3:10", "the key %s in images", ""),
    "top key": ("%s: 1\n", "3:1", "the key %s in the file", ""),
    "axis": ("images:\n  a: {cuda: %s}\n", "4:13", "images.a.cuda", ""),
    "axis in a list": ("images:\n  a: {cuda: [%s]}\n", "4:14", "images.a.cuda[0]", ""),
    "os": ("defaults: {os: %s}\n", "3:16", "defaults.os", ""),
    "driver": ("drivers: [%s]\n", "3:11", "drivers[0]", ""),
    "url": ("build: {index_url: %s}\n", "3:20", "build.index_url", ""),
    "path": ("build: {find_links: %s}\n", "3:21", "build.find_links", ""),
    "mirror's name": ("build: {mirrors: {%s: 'http://a'}}\n", "3:19", "the key %s in build.mirrors", ""),
    "env name": ("profiles: {a: {env: {%s: '1'}}}\n", "3:22", "the key %s in profiles.a.env", ""),
    "profile of an exclusion": ("exclude: [{profile: %s, reason: no}]\n", "3:21", "exclude[0].profile", ""),
    "one requirement": ("images:\n  a: {cuda: '12.4', pip: %s}\n", "4:26", "images.a.pip", "\"';<>"),
    "requirement": ("images:\n  a: {cuda: '12.4', pip: [%s]}\n", "4:27", "images.a.pip[0]", "\"';<>"),
    "env value": ("profiles: {a: {env: {X: %s}}}\n", "3:25", "profiles.a.env.X", "';|&<>"),
    "reason": ("exclude: [{cuda: '11.8', reason: %s}]\n", "3:34", "exclude[0].reason", SMUGGLERS),
    "description": ("images:\n  a: {cuda: '12.4', description: %s}\n", "4:34", "images.a.description", SMUGGLERS),
    "profile's description": ("profiles: {a: {description: %s}}\n", "3:29", "profiles.a.description", SMUGGLERS),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("char", CONTROL + SMUGGLERS, ids=lambda char: f"U+{ord(char):04X}")
def test_characters(place: str, char: str, refused: Refused) -> None:
    text, position, path, allowed = PLACES[place]
    lines = refused(text % json.dumps(f"1{char}2"))
    smuggled = [line for line in lines if WHY in line]
    if char in allowed:
        assert smuggled == []
        return
    kind = "control " if char in CONTROL else ""
    assert len(smuggled) == 1
    assert smuggled[0].startswith(f"{position}: {path.partition('%s')[0]}")
    assert f"holds the {kind}character " in smuggled[0]
    assert f"U+{ord(char):04X}" in smuggled[0]
    assert smuggled[0].endswith(f" as character 2: {WHY}")
    assert lines == smuggled  # the shape of the same value is not told as well


@pytest.mark.parametrize(
    "text",
    [
        "profiles: {a: {env: {reason: '$'}}}\n",
        "profiles: {a: {env: {description: '$'}}}\n",
        "images: {a: {cuda: '12.4', reason: '$'}}\n",
        "images: {pip: {cuda: '>'}}\n",
        "images: {description: {cuda: '>'}}\n",
    ],
)
def test_a_free_name_elsewhere_frees_nothing(text: str, refused: Refused) -> None:
    assert refused(text)


def test_the_whole_message(refused: Refused) -> None:
    assert refused("defaults: {os: 'ubuntu$(id)'}\n") == [
        f"3:16: defaults.os holds the character $ (U+0024, dollar sign) as character 7: {WHY}"
    ]
    assert refused('defaults: {os: "a\\nRUN id"}\n') == [
        f"3:16: defaults.os holds the control character U+000A as character 2: {WHY}"
    ]


@pytest.mark.parametrize("char", sorted(set(CONTROL) - set("\t\n\r")), ids=lambda char: f"U+{ord(char):04X}")
def test_control_characters_are_refused_even_in_comments(char: str, refused: Refused) -> None:
    code = f"U+{ord(char):04X}"
    assert refused(f"# one\r\n# é{char}\n") == [f"4:4: holds the control character {code}: {WHY}"]


def test_block_scalars_hold_line_ends(refused: Refused) -> None:
    assert refused("build:\n  index_url: |\n    http://a\n") == [
        f"4:14: build.index_url holds the control character U+000A as character 9: {WHY}"
    ]


def test_a_bad_key_is_shown_harmlessly(refused: Refused) -> None:
    (line,) = refused('images:\n  "a\\n\\e[31m": {cuda: "12.4"}\n')
    assert line.startswith("4:3: the key 'a\\n\\x1b[31m' in images holds the control character U+000A")
