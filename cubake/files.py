"""The door to the disk: whole files in, whole files out. A write is atomic: a killed process leaves the old file."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from cubake.errors import CubakeError, InputError
from cubake.plan.lock import COMMAND, Lock, parse_lock
from cubake.words import masked

LOCK = "requirements.lock"


def read(path: Path) -> str | None:
    """The text of a file, or None where there is none. InputError where it cannot be read as text."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def write(path: Path, text: str) -> None:
    """Replace a file in one step; CubakeError where the disk does not take it."""
    temporary = None
    try:
        with _taking(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
                temporary = Path(file.name)
                file.write(text)
            temporary.chmod(0o644)
            temporary.replace(path)
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def read_locks(images: Path, *, pass_over_broken: bool = False, again: str = COMMAND) -> dict[str, Lock]:
    """Every lock under an ``images/`` folder, by image name. InputError at a broken one, unless it is replaced;
    ``again`` is the command that writes it anew."""
    found = {}
    for path in sorted(images.glob(f"*/{LOCK}")):
        try:
            text = read(path)
            if text is not None:
                found[path.parent.name] = parse_lock(text, shown(path))
        except InputError as error:
            if not pass_over_broken:
                raise InputError(error.message, error.hint.replace(COMMAND, again)) from error
    return found


def read_tree(folder: Path, pattern: str) -> dict[str, str]:
    """The text of the files that match, by their path in the folder."""
    return {str(path.relative_to(folder)): read(path) or "" for path in sorted(folder.glob(pattern)) if path.is_file()}


def write_tree(folder: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        write(folder / name, text)


def remove_tree(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def shown(path: Path) -> str:
    """A path as people type it: relative to where they stand, where that is shorter."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def bundle_from_environment(option: str | None) -> bytes | None:
    """The CA bundle that builds must trust: the option, else what the environment names, as pip and requests do."""
    names = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE")
    path = option or next((os.environ[name] for name in names if os.environ.get(name)), None)
    return read_bundle(path) if path else None


def read_bundle(path: str) -> bytes:
    """The PEM text of a CA bundle; InputError where it is none. What is no plain file might never end."""
    file, hint = Path(path), "name another with --ca-bundle"
    try:
        found = file.read_bytes() if file.is_file() or not file.exists() else b""
    except OSError as error:
        raise InputError(f"{path}: the CA bundle cannot be read: {error.strerror}", hint) from error
    if b"-----BEGIN CERTIFICATE-----" not in found:
        raise InputError(f"{path}: no CA bundle: it holds no certificate in PEM form", hint)
    return found


def make_folder(path: Path) -> None:
    """Make a folder that can be written to, before work begins whose results would have no place."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise InputError(f"{path}: cannot be written to: {error.strerror}", "name another folder with --out") from error


class LogFile:
    """A log that is written line by line, readable while it grows. CubakeError where the disk does not take it."""

    def __init__(self, path: str) -> None:
        self._path = path
        with _taking(path):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._file = Path(path).open("w", encoding="utf-8", buffering=1)  # noqa: SIM115  closed by __exit__

    def line(self, text: str) -> None:
        with _taking(self._path):
            self._file.write(masked(text) + "\n")

    def __enter__(self) -> LogFile:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._file.close()


@contextmanager
def _taking(path: Path | str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CubakeError(
            f"{path}: cannot be written: {error.strerror or error}", "free some space, or check who owns it"
        ) from error
