"""Words that messages share: no password in an address, no "1 images"."""

from __future__ import annotations

import pytest

from cubake.errors import CubakeError
from cubake.words import count, masked


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:secret@index.example/simple", "https://…@index.example/simple"),
        ("https://secret@index.example/", "https://…@index.example/"),
        ("https://u:x@secret@i.example/", "https://…@i.example/"),
        ("http://user:se/cret@127.0.0.1:9/simple", "http://…@127.0.0.1:9/simple"),
        ("invalid 'http://u:secret@a/' and http://u:secret@b", "invalid 'http://…@a/' and http://…@b"),
    ],
)
def test_no_password_stays(text: str, shown: str) -> None:
    assert masked(text) == shown
    error = CubakeError(f"cannot reach {text}", text)
    assert "secret" not in error.message + error.hint + str(error)


@pytest.mark.parametrize(
    "text",
    ["https://index.example:8080/a@b", "file:///srv/wheels@1", "user@host", "http://[::1]:80/a@b", "https://a/ b@c"],
)
def test_an_at_sign_elsewhere_is_none(text: str) -> None:
    assert masked(text) == text


def test_count() -> None:
    assert [count(number, "image") for number in (0, 1, 2)] == ["0 images", "1 image", "2 images"]
