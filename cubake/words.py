"""Words that the messages of every room share. Pure."""

from __future__ import annotations

import re

# Who asks, in an address: up to the last @ before the path; or further, where a password holds a bare slash.
_ASKER = re.compile(r"(?<=://)(?:[^\s/]*|[^\s/:\[]*:(?!\d+/)\S*)@")


def masked(text: str) -> str:
    """The text with the user and the password of every address taken out."""
    return _ASKER.sub("…@", text)


def count(number: int, noun: str) -> str:
    """1 image, 2 images."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
