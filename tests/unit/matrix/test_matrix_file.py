"""What can be wrong with the file itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cubake.errors import InputError
from cubake.matrix import load_matrix

SMALL = "version: 1\nrepository: acme/gpu\nimages: {torch: {pytorch: 2.6}}\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def error_of(name: str) -> InputError:
    with pytest.raises(InputError) as caught:
        load_matrix(Path(name))
    return caught.value


def test_a_missing_file() -> None:
    error = error_of("matrix.yaml")
    assert (error.message, error.hint) == ("matrix.yaml: no such file", "name another with --matrix FILE")


def test_a_directory() -> None:
    Path("matrix.yaml").mkdir()
    error = error_of("matrix.yaml")
    assert (error.message, error.hint) == (
        "matrix.yaml: is a directory, not a file",
        "name a file with --matrix FILE",
    )


def test_a_pipe_is_not_waited_for() -> None:
    os.mkfifo("matrix.yaml")
    assert error_of("matrix.yaml").message == "matrix.yaml: is no plain file"


def test_a_device_without_end() -> None:
    assert error_of("/dev/zero").message == "/dev/zero: is no plain file"


def test_a_file_that_is_no_matrix_by_its_size() -> None:
    with Path("matrix.yaml").open("wb") as file:
        file.truncate(10_000_001)
    assert error_of("matrix.yaml").message == "matrix.yaml: larger than a matrix can be (10 MB)"


def test_not_utf8() -> None:
    Path("matrix.yaml").write_bytes(b"# caf\xe9\n")
    assert error_of("matrix.yaml").message == "matrix.yaml: not UTF-8: byte 5 is 0xe9"


def test_a_file_that_cannot_be_read() -> None:
    Path("plain").touch()
    assert error_of("plain/matrix.yaml").message == "plain/matrix.yaml: cannot be read: Not a directory"


def test_a_name_over_two_lines_stays_on_one() -> None:
    assert error_of("a\nb").message == "a\\nb: no such file"


def test_the_name_is_the_callers_however_long() -> None:
    name = "/".join(["folder"] * 20)
    assert error_of(name).message == f"{name}: no such file"


def test_the_file_is_read_only_without_a_text() -> None:
    Path("matrix.yaml").write_text(SMALL, encoding="utf-8")
    matrix = load_matrix(Path("matrix.yaml"))
    Path("matrix.yaml").unlink()
    assert load_matrix(Path("matrix.yaml"), SMALL) == matrix
    assert matrix.file == "matrix.yaml"


def test_line_ends_of_windows() -> None:
    Path("matrix.yaml").write_bytes(SMALL.replace("\n", "\r\n").encode())
    assert str(load_matrix(Path("matrix.yaml")).cells[0].position) == "matrix.yaml:3:10"
