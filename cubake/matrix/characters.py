"""Which characters a scalar may hold: everything here ends in a Dockerfile, a label or a command line, so the rule is
strict for all of the file, and wider only where the value's own grammar needs more."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from cubake.matrix.problems import Path, shown

_WHY = "it could smuggle an instruction into the Dockerfile"

# Controls, the Unicode line separators, characters that reorder what a reader sees, halves of a
# pair, byte order marks and non-characters.
_INVISIBLE = (
    "\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff"
)
# In the file as such, tabs and line ends are layout; YAML decides later what becomes of them.
_CONTROL_IN_FILE = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f{_INVISIBLE}]")


def _none_of(unsafe: str) -> re.Pattern[str]:
    return re.compile(f"[\x00-\x1f{_INVISIBLE}{re.escape(unsafe)}]")


_STRICT = _none_of("$`\\\"';|&<>")
_REQUIREMENT = _none_of("$`\\|&")  # PEP 508 needs < > ; and quotes
_ENV_VALUE = _none_of('$`\\"')  # rendered between double quotes
_FREE = _none_of("")


def refusal(path: Path, text: str, *, is_key: bool = False) -> str | None:
    """Why this text may not stand at this path, or None."""
    found = (_STRICT if is_key else _unsafe_at(path)).search(text)
    return f"holds {_name(found.group())} as character {found.start() + 1}: {_WHY}" if found else None


def control_characters(text: str) -> Iterator[tuple[int, str]]:
    """Offset and refusal of each control character in the whole file, comments included."""
    for found in _CONTROL_IN_FILE.finditer(text):
        yield found.start(), f"holds {_name(found.group())}: {_WHY}"


def _unsafe_at(path: Path) -> re.Pattern[str]:
    match path:
        case ("images" | "profiles", _, "description") | ("exclude", _, "reason"):
            return _FREE
        case ("facts", _, "sources", *_) | ("facts", "advisories", *_):
            return _FREE  # words for people
        case ("images", _, "pip") | ("images", _, "pip", int()) | ("facts", *_):
            return _REQUIREMENT
        case ("profiles", _, "env", _):
            return _ENV_VALUE
        case _:
            return _STRICT


def _name(char: str) -> str:
    code = f"U+{ord(char):04X}"
    if _FREE.match(char):
        return f"the control character {code}"
    return f"the character {shown(char)} ({code}, {unicodedata.name(char).lower()})"
