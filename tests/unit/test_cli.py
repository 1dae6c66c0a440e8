"""The command line as people meet it: exit codes, messages, documents; never a traceback, never a half-done job.

Each test runs the command in a folder of its own, with no engine and no network.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cubake import verbs
from cubake.cli import main
from cubake.options import Options
from cubake.plan import Image, Plan

HEAD = "version: 1\nrepository: registry.example/gpu\n"
TORCH = "images:\n  torch: {pytorch: 2.6.0, python: '3.11', os: debian12}\n"
NAME = "pytorch2.6.0-cuda12.4-cudnn9.1-py3.11-debian12-runtime"
NO_ENGINE = {"DOCKER_HOST": "unix:///nonexistent/docker.sock", "UV_OFFLINE": "1"}


@dataclass
class Done:
    code: int
    out: str
    err: str


class Place:
    """A folder with a matrix file and a way to run the command in it."""

    def __init__(self, folder: Path, program: Path, *, is_copy: bool = False) -> None:
        self.folder, self.program, self.is_copy = folder, program, is_copy

    def matrix(self, text: str, name: str = "matrix.yaml") -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def files(self) -> dict[str, bytes]:
        return {str(p.relative_to(self.folder)): p.read_bytes() for p in sorted(self.folder.rglob("*")) if p.is_file()}

    def __call__(self, *arguments: str) -> Done:
        done = self.apart(*arguments) if self.is_copy else self.here(*arguments)
        assert "Traceback" not in done.out + done.err, done.err
        assert "internal error" not in done.err, done.err
        return done

    def here(self, *arguments: str) -> Done:
        """In this process, which has read the facts already; an exception that escapes fails the test."""
        out, err, code = io.StringIO(), io.StringIO(), 0
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(self.folder)
            patch.setattr(sys, "argv", ["build.py", *arguments])
            for name, value in NO_ENGINE.items():
                patch.setenv(name, value)
            try:
                main()
            except SystemExit as end:
                code = int(end.code or 0)
        return Done(code, out.getvalue(), err.getvalue())

    def apart(self, *arguments: str) -> Done:
        done = subprocess.run(
            [sys.executable, str(self.program), *arguments],
            cwd=self.folder,
            env=os.environ | NO_ENGINE,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def place(tmp_path: Path, root: Path) -> Place:
    folder = tmp_path / "work"
    folder.mkdir()
    return Place(folder, root / "build.py")


@pytest.fixture
def locked(place: Place, unlocked: Callable[[str], Plan], make_lock: Callable[[Image], str]) -> Place:
    """A matrix whose image is locked and rendered."""
    place.matrix(HEAD + TORCH)
    write_locks(place, unlocked(TORCH), make_lock)
    assert place("render").code == 0
    return place


def write_locks(place: Place, plan: Plan, make_lock: Callable[[Image], str]) -> None:
    for image in plan.images:
        path = place.folder / "images" / image.name / "requirements.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make_lock(image))


def test_help_and_no_arguments_say_the_same(place: Place) -> None:
    done = place("--help")
    assert done.code == 0
    assert "--matrix" in done.out
    assert "Exit codes" in done.out
    assert place().out == done.out


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), (["biuld"], 2), (["plan"], 2), (["clean"], 4)])
def test_the_program_itself(arguments: list[str], code: int, place: Place) -> None:
    """As a process of its own: the code reaches the shell, and nothing but words reaches the user."""
    done = place.apart(*arguments)
    assert done.code == code
    assert bool(done.out) is (code == 0)
    assert bool(done.err) is (code != 0)
    assert "Traceback" not in done.err


def test_version(place: Place) -> None:
    done = place("--version")
    assert done.code == 0
    assert done.out.startswith("cubake")


VERBS = ("plan", "lock", "render", "build", "verify", "report", "base", "clean")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str, place: Place) -> None:
    done = place(verb, "--help")
    assert done.code == 0
    assert len(done.out.splitlines()) > 5


def test_an_unknown_verb_gets_a_suggestion(place: Place) -> None:
    done = place("biuld")
    assert done.code == 2
    assert "Did you mean 'build'?" in done.err
    assert place("xyzzy").code == 2


@pytest.mark.parametrize("arguments", [("plan", "--olny", "x"), ("build", "--jobs", "0"), ("build", "--jobs", "many"),
                                       ("build", "--base", "moon"), ("plan", "extra")])  # fmt: skip
def test_wrong_options_are_the_callers(arguments: tuple[str, ...], place: Place) -> None:
    done = place(*arguments)
    assert done.code == 2
    assert done.err


@pytest.mark.parametrize("verb", ["plan", "lock", "render", "build", "verify", "report", "base"])
def test_a_missing_matrix(verb: str, place: Place) -> None:
    done = place(verb)
    assert (done.code, done.out) == (2, "")
    assert "matrix.yaml: no such file" in done.err
    assert "--matrix" in done.err
    assert place.files() == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "matrix.yaml"),
        ("{", "matrix.yaml:"),
        ("images: [", "matrix.yaml:"),
        ("- a\n- b\n", "matrix.yaml:1:1"),
        (HEAD + "images:\n  a: {pytroch: 2.6}\n", "matrix.yaml:4:7"),
        (HEAD + "images:\n  a: {pytorch: 2.6, pytorch: 2.5}\n", "matrix.yaml:4:"),
        (HEAD + "imagse: {}\n" + TORCH, "matrix.yaml:3:1"),
    ],
)
def test_a_wrong_matrix_is_named_with_its_place(text: str, says: str, place: Place) -> None:
    place.matrix(text)
    for arguments in (["plan"], ["--matrix"], ["render", "--check"]):
        done = place(*arguments)
        assert (done.code, done.out) == (2, ""), arguments
        assert done.err.startswith(says)
    assert set(place.files()) == {"matrix.yaml"}


def test_did_you_mean(place: Place) -> None:
    place.matrix(HEAD + "images:\n  a: {pytroch: 2.6}\n")
    assert "pytorch" in place("plan").err


def test_a_matrix_that_is_a_folder_or_no_text(place: Place) -> None:
    (place.folder / "matrix.yaml").mkdir()
    assert place("plan").code == 2
    (place.folder / "other.yaml").write_bytes(b"version: \xff\n")
    done = place("plan", "--matrix", "other.yaml")
    assert done.code == 2
    assert "UTF-8" in done.err


def test_only_that_matches_nothing(place: Place) -> None:
    place.matrix(HEAD + TORCH)
    done = place("plan", "--only", "tensorflow*")
    assert done.code == 2
    assert "no image matches --only tensorflow*" in done.err


def test_only_chooses(place: Place) -> None:
    place.matrix(HEAD + "images:\n  kit: {cuda: ['12.6', '12.8', '13.0'], python: '3.10'}\n")
    done = place("plan", "--json", "--only", "cuda12.6*", "--only", "*13.0*")
    assert done.code == 0
    assert [image["stack"]["cuda"] for image in json.loads(done.out)["images"]] == ["12.6", "13.0"]


def test_plan_json_has_the_keys_of_the_contract(place: Place) -> None:
    place.matrix(HEAD + "images:\n  torch: {pytorch: ['2.6', '2.99'], python: '3.11', os: debian12}\n")
    done = place("plan", "--json")
    assert done.code == 0
    document = json.loads(done.out)
    (image,) = document["images"]
    assert image["name"] == NAME
    assert image["tag"] == f"registry.example/gpu:{NAME}"
    assert image.keys() >= {"name", "tag", "stack", "base", "layers", "driver", "arch", "because", "checks"}
    assert image["stack"]["pytorch"] == "2.6.0"
    assert image["stack"]["tensorflow"] is None
    assert image["driver"] == {"library_floor": "525.60.13", "ptx_floor": "550.54.15"}
    (refused,) = document["refused"]
    assert refused.keys() >= {"cell", "line", "because", "nearest"}
    assert refused["line"] == 4
    assert done.err == ""


def test_plan_for_people(place: Place) -> None:
    place.matrix(HEAD + "drivers: ['470.57', '550.54.15']\n" + TORCH)
    done = place("plan")
    assert done.code == 0
    assert NAME in done.out
    assert "driver 470.57: new enough for the CUDA libraries of 0" in done.out
    assert "driver 550.54.15: new enough for the CUDA libraries of 1" in done.out
    assert "\x1b" not in done.out, "no colours on a pipe"


CLASH = "images:\n  torch: {pytorch: 2.6.0, cuda: '12.1', python: '3.11'}\n"


@pytest.mark.parametrize(
    "arguments", [["plan"], ["plan", "--json"], ["build"], ["--matrix"], ["--matrix", "--dry-run"]]
)
def test_a_cell_that_cannot_work_is_refused(arguments: list[str], place: Place) -> None:
    place.matrix(HEAD + CLASH)
    done = place(*arguments)
    assert done.code == 3
    said = done.out + done.err
    assert "pytorch 2.6.0 has no CUDA 12.1 build" in said
    assert "matrix.yaml:4:3" in said
    assert set(place.files()) == {"matrix.yaml"}


def test_a_cell_of_a_product_is_skipped_with_its_reason(place: Place) -> None:
    place.matrix(HEAD + "images:\n  torch: {pytorch: 2.6.0, cuda: ['12.1', '12.4'], python: '3.11'}\n")
    done = place("plan")
    assert done.code == 0
    assert "R-002" in done.out
    assert "instead" in done.out


@pytest.mark.parametrize("conflict", ["skip", "fail"])
def test_on_conflict_is_obeyed(conflict: str, place: Place) -> None:
    entry = f"{{pytorch: 2.6.0, cuda: ['12.1', '12.4'], python: '3.11', on_conflict: {conflict}}}"
    place.matrix(HEAD + f"images:\n  torch: {entry}\n")
    assert place("plan").code == (3 if conflict == "fail" else 0)


NOTHING = "images:\n  torch: {pytorch: 2.6.0, cuda: ['12.0', '12.1'], python: '3.11'}\n"


@pytest.mark.parametrize("arguments", [["--matrix"], ["--matrix", "--dry-run"], ["plan"], ["lock"], ["render"],
                                       ["render", "--check"], ["build"], ["verify"], ["report"], ["base"],
                                       ["plan", "--only", "x"]])  # fmt: skip
def test_a_matrix_of_which_nothing_is_left_is_refused(arguments: list[str], locked: Place) -> None:
    """Each cell may be skipped, and yet a run that makes nothing at all is no success."""
    locked.matrix(HEAD + NOTHING)
    before = locked.files()
    done = locked(*arguments)
    assert done.code == 3
    for cuda in ("12.0", "12.1"):
        assert f"pytorch 2.6.0 has no CUDA {cuda} build" in done.out + done.err
    assert locked.files() == before


def test_a_refusal_of_many_cells_names_some(place: Place) -> None:
    wanted = ", ".join(f"'10.{minor}'" for minor in range(30))
    place.matrix(HEAD + f"images:\n  torch: {{pytorch: 2.6.0, cuda: [{wanted}], python: '3.11'}}\n")
    done = place("render")
    assert done.code == 3
    assert done.err.count("matrix.yaml:4:3") == 20
    assert "and 10 more cells\n" in done.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["plan", "--olny", "x"], 2), (["biuld"], 2), (["plan", "--matrix", "none"], 2), (["build"], 3), (["clean"], 4)],
)
def test_an_error_is_a_document_too(arguments: list[str], code: int, place: Place) -> None:
    place.matrix(HEAD + CLASH)
    done = place(*arguments, "--json")
    assert done.code == code
    error = json.loads(done.out)["error"]
    assert error["exit_code"] == code
    assert error["message"].splitlines()[0] in done.err
    assert error["hint"] in done.err
    assert place(*arguments).out == ""


def test_an_interrupted_run_is_a_document_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(options: Options) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(verbs, "plan", interrupt)
    done = place("plan", "--json")
    assert (done.code, json.loads(done.out)["error"]["exit_code"]) == (130, 130)


@pytest.mark.parametrize(
    ("arguments", "right"),
    [
        (["--matrix", "other.yaml", "plan"], "plan --matrix other.yaml"),
        (["-v", "--only", "a b", "render", "--check"], "render -v --only 'a b' --check"),
        (["--only", "plan", "plan"], "plan --only plan"),
        (["--json", "build", "--jobs", "3"], "build --json --jobs 3"),
    ],
)
def test_options_before_a_verb_are_not_lost(arguments: list[str], right: str, place: Place) -> None:
    place.matrix(HEAD + TORCH)
    done = place(*arguments)
    assert done.code == 2
    assert f"options stand after the verb: python build.py {right}\n" in done.err


@pytest.mark.parametrize("option", ["--only", "--matrix"])
def test_clean_takes_no_option_that_it_would_not_heed(option: str, place: Place) -> None:
    done = place("clean", option, "x")
    assert done.code == 2
    assert option in done.err


WRONG = [
    ("--network", "a b"), ("--network", "-x"), ("--index-url", "index.example"), ("--index-url", "http://a b"),
    ("--index-url", ""), ("--extra-index-url", "ftp://a"), ("--ca-bundle", "a b"),
]  # fmt: skip


@pytest.mark.parametrize(("option", "value"), WRONG)
def test_an_option_is_held_to_the_rules_of_the_matrix_file(option: str, value: str, locked: Place) -> None:
    done = locked("build", option, value)
    assert done.code == 2
    assert f"'{option}': {value!r}: wants a " in done.err


def test_one_wrong_address_among_others(locked: Place) -> None:
    done = locked("lock", "--extra-index-url", "https://a", "--extra-index-url", "ftp://user:hunter2@b")
    assert done.code == 2
    assert "'--extra-index-url': 'ftp://…@b': wants a URL" in done.err
    assert locked("lock", "--find-links", "a b").code == 2


@pytest.mark.parametrize("verb", ["build", "lock"])
@pytest.mark.parametrize("text", ["", "version: 1\n", None])
def test_a_ca_bundle_that_is_none(verb: str, text: str | None, locked: Place) -> None:
    path = locked.folder / "ca.pem"
    if text is None:
        os.mkfifo(path)
    else:
        path.write_text(text)
    done = locked(verb, "--ca-bundle", "ca.pem")
    assert done.code == 2
    assert "ca.pem: no CA bundle" in done.err


@pytest.mark.parametrize("option", ["--index-url", "--extra-index-url", "--find-links"])
@pytest.mark.parametrize("password", ["hunter2", "hun/ter2", "x@hunter2"])
def test_lock_shows_no_password(option: str, password: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the resolver says holds the addresses as they were given."""
    url = f"http://user:{password}@127.0.0.1:9/simple"

    def fail(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        said = f"error: Failed to fetch: {command[command.index(url)]}\n  cause: {url}/torch/"
        return subprocess.CompletedProcess(command, 2, "", said)

    place.matrix(HEAD + TORCH)
    monkeypatch.setattr(subprocess, "run", fail)
    for more in ([], ["--json"], ["-v"]):
        done = place("lock", option, url, *more)
        assert done.code == 4
        assert "http://…@127.0.0.1:9/simple" in done.err
        assert not [part for part in password.split("/") if part in done.out + done.err]


def test_a_password_of_the_engines_address_is_not_shown(locked: Place) -> None:
    command = [sys.executable, str(locked.program), "clean", "-v", "--json"]
    env = os.environ | {"DOCKER_HOST": "http://user:hunter2@h:1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 4
    assert "Traceback" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr


def test_closed_output(locked: Place) -> None:
    command = f"{sys.executable} {locked.program} plan >&-"
    done = subprocess.run(
        ["bash", "-c", command], cwd=locked.folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: stdout is closed: results have nowhere to go"
    assert "Traceback" not in done.stderr


def test_one_of_a_thing_is_one(locked: Place) -> None:
    assert "1 image, 0 cells refused, 0 excluded" in locked("plan").out
    assert locked("lock").out == "1 image locked\n"
    (locked.folder / "images" / NAME / "Dockerfile").unlink()
    assert "1 file written" in locked("render").out


def test_commands_that_are_named_hold_the_matrix_file(locked: Place) -> None:
    """What a message tells to type must do it for this matrix file."""
    (locked.folder / "matrix.yaml").rename(locked.folder / "other one.yaml")
    name = ("--matrix", "other one.yaml")
    said = "--matrix 'other one.yaml'"
    lock = locked.folder / "images" / NAME / "requirements.lock"
    assert f"python build.py render {said}" in locked("build", *name).err, "plan.json names the file"
    assert f"python build.py plan {said}" in locked("plan", "--only", "x", *name).err
    lock.write_text(lock.read_text().replace("==", "==9", 1))
    assert f"python build.py lock {said}" in locked("plan", *name).err
    lock.unlink()
    assert f"python build.py lock {said}" in locked("plan", *name).out
    assert f"python build.py lock {said}" in locked("render", *name).err
    assert f"python build.py render {said}" in locked("render", "--check", *name).out


@pytest.mark.parametrize("arguments", [["--matrix"], ["build"], ["verify"], ["base"], ["clean"]])
def test_no_engine(arguments: list[str], locked: Place) -> None:
    """Nothing is written before it is known that the work can be done."""
    before = locked.files()
    done = locked(*arguments)
    assert (done.code, done.out) == (4, "")
    assert "no Docker Engine answers" in done.err
    assert "->" in done.err
    assert "DOCKER_HOST" in done.err
    assert locked.files() == before


def test_no_engine_and_nothing_rendered_yet(
    place: Place, unlocked: Callable[[str], Plan], make_lock: Callable[[Image], str]
) -> None:
    place.matrix(HEAD + TORCH)
    write_locks(place, unlocked(TORCH), make_lock)
    before = place.files()
    assert place("--matrix").code == 4
    assert place.files() == before


def test_a_password_in_an_address_needs_no_engine_to_be_refused(locked: Place) -> None:
    done = locked("build", "--index-url", "https://user:hunter2@index.example/simple")
    assert done.code == 2
    assert "hunter2" not in done.out + done.err


def test_a_missing_ca_bundle_is_the_callers(locked: Place) -> None:
    done = locked("build", "--ca-bundle", "/nonexistent.pem")
    assert done.code in (2, 4)  # whichever is found first
    assert done.err


def test_report_without_records(locked: Place) -> None:
    done = locked("report")
    assert done.code == 2
    assert "holds no records" in done.err


def test_dry_run_writes_nothing(locked: Place) -> None:
    before = locked.files()
    assert locked("--matrix", "--dry-run").code == 0
    assert locked("build", "--dry-run").code == 0
    assert locked.files() == before


def test_render_writes_and_then_is_in_step(locked: Place) -> None:
    names = {f"images/{NAME}/{name}" for name in ("Dockerfile", "plan.json", "requirements.lock")}
    assert set(locked.files()) == {"matrix.yaml", *names}
    done = locked("render")
    assert done.code == 0
    assert "in step" in done.out
    done = locked("render", "--check")
    assert done.code == 0
    assert "in step" in done.out


@pytest.mark.parametrize("name", ["Dockerfile", "plan.json"])
@pytest.mark.parametrize("how", ["edited", "gone"])
def test_check_names_a_rendered_file(name: str, how: str, locked: Place) -> None:
    path = locked.folder / "images" / NAME / name
    if how == "gone":
        path.unlink()
    else:
        path.write_text(path.read_text().replace("12.4", "12.5", 1))
    before = locked.files()
    done = locked("render", "--check")
    assert done.code == 1
    assert f"images/{NAME}/{name}" in done.out
    assert locked.files() == before, "a check writes nothing"
    built = locked("build")
    assert built.code == 2
    assert f"images/{NAME}/{name}" in built.err


def test_check_names_an_edited_lock(locked: Place) -> None:
    path = locked.folder / "images" / NAME / "requirements.lock"
    path.write_text(path.read_text().replace("numpy==2.2.6", "numpy==2.2.5"))
    for arguments in (["render", "--check"], ["build"], ["plan"]):
        done = locked(*arguments)
        assert done.code == 2, arguments
        assert done.err.startswith(f"images/{NAME}/requirements.lock:2:1: edited by hand")


def test_check_names_a_stale_lock(locked: Place) -> None:
    locked.matrix(HEAD + TORCH.replace("os: debian12", "os: debian12, pip: scipy"))
    done = locked("render", "--check")
    assert done.code == 1
    assert f"images/{NAME}/requirements.lock" in done.out


def test_check_names_an_image_that_was_never_locked(locked: Place) -> None:
    """A pull request that adds an image and forgets its lock must not pass."""
    locked.matrix(HEAD + TORCH + "  new: {pytorch: 2.5.1, python: '3.11', os: debian12}\n")
    done = locked("render", "--check")
    assert done.code == 1
    assert "pytorch2.5.1" in done.out


def test_check_names_an_image_that_is_no_longer_asked_for(locked: Place) -> None:
    locked.matrix(HEAD + "images:\n  kit: {cuda: '12.6', python: '3.10', os: debian12}\n")
    done = locked("render", "--check")
    assert done.code == 1
    assert f"images/{NAME}/" in done.out


def test_render_removes_what_is_no_longer_asked_for_and_nothing_else(locked: Place) -> None:
    other = locked.folder / "images" / "by-hand" / "Dockerfile"
    other.parent.mkdir()
    other.write_text("FROM scratch\n")
    foreign = locked.folder / "images" / "of-another" / "plan.json"
    foreign.parent.mkdir()
    foreign.write_text('{"matrix": "another.yaml"}')
    locked.matrix(HEAD + "images:\n  kit: {cuda: '12.6', python: '3.10', os: debian12}\n")
    assert locked("render").code == 0
    assert not (locked.folder / "images" / NAME).exists()
    assert other.is_file()
    assert foreign.is_file()


@pytest.fixture
def copied(root: Path, tmp_path: Path, unlocked: Callable[[str], Plan], make_lock: Callable[[Image], str]) -> Place:
    """A copy of the program itself, so that its templates and facts may be changed."""
    program = tmp_path / "program"
    for name in ("cubake", "templates"):
        shutil.copytree(root / name, program / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "build.py", program)
    folder = tmp_path / "work"
    folder.mkdir()
    place = Place(folder, program / "build.py", is_copy=True)
    place.matrix(HEAD + TORCH)
    write_locks(place, unlocked(TORCH), make_lock)
    assert place("render").code == 0
    return place


def test_check_finds_a_changed_template(copied: Place) -> None:
    assert copied("render", "--check").code == 0
    template = copied.program.parent / "templates" / "Dockerfile.j2"
    template.write_text(template.read_text().replace("WORKDIR /workspace", "WORKDIR /work"))
    done = copied("render", "--check")
    assert done.code == 1
    assert f"images/{NAME}/Dockerfile: line " in done.out


def test_check_finds_a_changed_fact(copied: Place) -> None:
    path = copied.program.parent / "cubake" / "facts" / "cuda.yaml"
    path.write_text(path.read_text().replace("550.54.15", "550.54.99"))
    done = copied("render", "--check")
    assert done.code == 1
    assert f"images/{NAME}/plan.json" in done.out


def test_a_broken_template_is_named(copied: Place) -> None:
    template = copied.program.parent / "templates" / "Dockerfile.j2"
    template.write_text(template.read_text() + "{{ no_such_name }}\n")
    done = copied("render", "--check")
    assert done.code == 2
    assert "templates/Dockerfile.j2" in done.err


def test_json_of_check(locked: Place) -> None:
    path = locked.folder / "images" / NAME / "Dockerfile"
    path.write_text(path.read_text() + "RUN id\n")
    done = locked("render", "--check", "--json")
    assert done.code == 1
    document: dict[str, Any] = json.loads(done.out)
    assert [one["path"] for one in document["drift"]] == [f"images/{NAME}/Dockerfile"]


def test_a_matrix_in_another_folder(locked: Place) -> None:
    """Rendered files stand beside the matrix file, wherever the command runs."""
    done = locked("render", "--check", "--matrix", f"../{locked.folder.name}/matrix.yaml")
    assert done.code == 0


def test_a_reader_that_goes_away(locked: Place) -> None:
    command = f"{sys.executable} {locked.program} plan | head -c 1 > /dev/null"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=locked.folder,
        env=os.environ | NO_ENGINE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_disk_that_takes_nothing(locked: Place) -> None:
    """The folder to write to is a file."""
    locked.matrix(HEAD + TORCH)
    shutil.rmtree(locked.folder / "images" / NAME)
    (locked.folder / "out").write_text("")
    assert locked("report").code == 2


def test_a_lock_that_was_edited_is_mended_by_the_command_that_is_named(locked: Place) -> None:
    """`lock` must not stop at the lock that it is asked to replace; here no index answers, and it gets that far."""
    path = locked.folder / "images" / NAME / "requirements.lock"
    path.write_text(path.read_text().replace("==", "==9", 1))
    done = locked("lock", "--index-url", "http://127.0.0.1:9/simple")
    assert "edited by hand" not in done.err
    assert done.code == 4


def test_check_of_a_part_looks_at_that_part(locked: Place) -> None:
    assert locked("render").code == 0
    (locked.folder / "images" / NAME / "Dockerfile").write_text("FROM scratch\n")
    locked.matrix(HEAD + TORCH + "  new: {pytorch: 2.5.1, python: '3.11', os: debian12}\n")
    assert locked("render", "--check", "--only", f"{NAME}*").code == 1
    assert locked("render", "--check", "--only", f"{NAME}*").out.count("Dockerfile") == 1
