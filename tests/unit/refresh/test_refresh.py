"""A whole refresh: what is written and what is not, what one silent source costs, what a check finds."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from cubake.errors import InputError
from cubake.refresh import Change, FileResult, Missing, Refreshed, Sources, document, text, yamlfile
from cubake.refresh.make import MAKERS
from tests.unit.refresh.fakes import FakeIndex, File, Run, torch
from tests.unit.refresh.stock import add_2_14, toolkit

Result = Callable[[Refreshed, str], FileResult]
ONLINE = ("pytorch", "tensorflow", "components", "cudnn")
LATER = date(2026, 12, 24)


def statuses(done: Refreshed) -> dict[str, str]:
    return {file.name: file.status for file in done.files}


def test_every_file_is_made_of_its_source(run: Run) -> None:
    done = run(*ONLINE)
    assert statuses(done) == dict.fromkeys(ONLINE, "changed")
    assert done.exit_code == 0
    for name in ONLINE:
        maker = MAKERS[name]
        assert maker.model.model_validate(yamlfile.parse(run.text(name)))


def test_the_second_run_changes_nothing_and_reads_no_wheel(run: Run, index: FakeIndex) -> None:
    run(*ONLINE)
    texts, asked = [run.text(name) for name in ONLINE], len(index.parts())
    again = run(*ONLINE, day=LATER)
    assert statuses(again) == dict.fromkeys(ONLINE, "unchanged")
    assert [run.text(name) for name in ONLINE] == texts
    assert len(index.parts()) == asked


def test_both_forms_of_the_index_give_the_same_bytes(run: Run, index: FakeIndex, tmp_path: Path) -> None:
    """Sizes and dates, which the HTML form lacks, are asked of the files."""
    for file in (file for files in index.projects.values() for file in files):
        file.uploaded = "2026-09-02"  # what the server's Last-Modified says
    empty = {name: run.text(name) for name in ONLINE}
    run(*ONLINE)
    texts = [run.text(name) for name in ONLINE]
    index.form = "html"
    for name, content in empty.items():
        (run.folder / f"{name}.yaml").write_text(content)
    fresh = Run(run.folder, replace(run.sources, cache=tmp_path / "other"))
    assert statuses(fresh(*ONLINE)) == dict.fromkeys(ONLINE, "changed")
    assert [run.text(name) for name in ONLINE] == texts


def test_a_new_release_appears(run: Run, index: FakeIndex, result: Result) -> None:
    run("pytorch")
    add_2_14(index)
    done = run("pytorch", day=LATER)
    assert text(done).splitlines()[0] == "+ pytorch 2.14.0 (CUDA 13.0, cuDNN 9.24.0.43, released 2026-09-02)"
    assert [change.kind for change in result(done, "pytorch").changes] == ["+"]
    assert next(iter(run.rows("pytorch"))) == "2.14.0"
    assert list(run.rows("pytorch")["2.14.0"]["indexes"]) == ["cu130"]


def test_the_date_changes_with_the_rows_alone(run: Run, index: FakeIndex) -> None:
    run("components", "cudnn")
    index.add("cuda-toolkit", toolkit("13.0.4", "nvidia-cublas==13.1.2.*"))
    run("components", "cudnn", day=LATER)
    assert yamlfile.date_of(run.text("components")) == "2026-12-24"
    assert yamlfile.date_of(run.text("cudnn")) == "2026-11-30"


def test_a_file_of_another_style_is_rewritten_under_its_date(run: Run, result: Result) -> None:
    run("cudnn")
    right = run.text("cudnn")
    (run.folder / "cudnn.yaml").write_text(right.replace("'5.0'", '"5.0"'))
    done = run("cudnn", day=LATER)
    assert result(done, "cudnn").status == "changed"
    assert result(done, "cudnn").changes == ()
    assert run.text("cudnn") == right


def test_a_value_that_differs_is_told(run: Run, result: Result) -> None:
    run("tensorflow")
    changed = run.text("tensorflow").replace("<2.1.0,>=1.26.0", "<2.1.0,>=1.25.0")
    (run.folder / "tensorflow.yaml").write_text(changed)
    done = run("tensorflow")
    assert text(done).splitlines()[0] == "~ tensorflow 2.18.0 numpy: '<2.1.0,>=1.25.0' -> '<2.1.0,>=1.26.0'"
    assert json.loads(json.dumps(document(done)))["files"][0]["changes"] == [
        {
            "kind": "~",
            "row": "2.18.0",
            "field": "numpy",
            "old": "<2.1.0,>=1.25.0",
            "new": "<2.1.0,>=1.26.0",
            "text": text(done).splitlines()[0],
        }
    ]


class TestFloor:
    def test_too_few_rows_are_refused(self, run: Run, index: FakeIndex, result: Result) -> None:
        run("pytorch", "cudnn")
        before = run.text("pytorch")
        index.projects["torch"] = [file for file in index.projects["torch"] if "2.2.0" not in file.name]
        done = run("pytorch", "cudnn", day=LATER)
        assert result(done, "pytorch").status == "refused"
        assert result(done, "pytorch").reason.startswith(
            "pytorch: the package index (torch) gives 1 of the 2 rows there were; nothing is written"
        )
        assert run.text("pytorch") == before
        assert (result(done, "cudnn").status, done.exit_code) == ("unchanged", 1)

    def test_too_few_values_are_refused(self, run: Run, index: FakeIndex, result: Result) -> None:
        run("components")
        for file in index.projects["cuda-toolkit"]:
            if "13.0.3" in file.name:
                file.content = toolkit("13.0.3.0", "nvidia-cublas==13.1.1.3.*").content
        assert "values there were" in result(run("components"), "components").reason

    def test_data_that_the_model_does_not_take_is_refused(self, run: Run, index: FakeIndex, result: Result) -> None:
        odd = torch("2.2.0", "12.1", arch="sm_90 sm_90a")
        index.file("torch-2.2.0-cp311-cp311-manylinux1_x86_64.whl").content = odd
        before = run.text("pytorch")
        found = result(run("pytorch"), "pytorch")
        assert found.status == "refused"
        assert found.reason.startswith("pytorch: releases 2.2.0 wheels linux/amd64 sass 1: ")
        assert run.text("pytorch") == before


class TestSilence:
    def test_a_project_that_is_down_costs_its_own_file(self, run: Run, index: FakeIndex, result: Result) -> None:
        index.busy["/simple/nvidia-cudnn-cu12/"] = [(503, {})] * 9
        done = run(*ONLINE)
        assert statuses(done) == dict.fromkeys(ONLINE, "changed") | {"cudnn": "skipped"}
        assert "answers 503" in result(done, "cudnn").reason
        assert done.exit_code == 4

    def test_the_registry_alone_is_forgiven_beside_others(self, run: Run) -> None:
        away = Run(run.folder, replace(run.sources, registry="127.0.0.1:1"))
        assert statuses(away("base_images", "cudnn")) == {"cudnn": "changed", "base_images": "skipped"}
        assert away("base_images", "cudnn").exit_code == 0
        assert away("base_images").exit_code == 4

    def test_an_index_that_is_down(self, folder: Path, tmp_path: Path) -> None:
        silent = Sources("http://127.0.0.1:1/simple", registry="127.0.0.1:1", cache=tmp_path / "cache")
        run = Run(folder, silent)
        done = run()
        assert set(statuses(done).values()) == {"skipped", "kept"}
        assert all("does not answer" in file.reason for file in done.files if file.status == "skipped")
        assert done.exit_code == 4
        assert run(check=True).exit_code == 4


class TestByHand:
    def test_tables_are_named_and_left(self, run: Run, result: Result) -> None:
        before = {name: run.text(name) for name in ("cuda", "gpus", "os", "advisories")}
        done = run("cuda", "gpus", "os", "advisories")
        assert set(statuses(done).values()) == {"kept"}
        assert result(done, "cuda").reason == f"kept by hand, as of {yamlfile.date_of(before['cuda'])}"
        assert {name: run.text(name) for name in before} == before
        assert done.exit_code == 0

    def test_a_table_that_grew_old_is_a_warning(self, run: Run) -> None:
        for name in ("cuda", "os"):
            aged = run.text(name).replace(f"as of {yamlfile.date_of(run.text(name))}", "as of 2026-06-03", 1)
            (run.folder / f"{name}.yaml").write_text(aged)
        done = run("cuda", "os", check=True, day=date(2026, 12, 1))
        assert [line.split()[0] for line in done.warnings] == ["cuda.yaml", "os.yaml"]
        assert done.exit_code == 0
        assert run("cuda", "os", check=True, day=date(2026, 11, 30)).warnings == ()

    def test_a_toolkit_that_the_table_lacks(self, run: Run, index: FakeIndex) -> None:
        run("components")
        index.add("cuda-toolkit", toolkit("19.6.0", "nvidia-cublas==19.*"))
        done = run("components", check=True)
        assert done.problems == (
            "cuda.yaml has no row for CUDA 19.6: NVIDIA's tables name its drivers and GPUs, add it by hand",
        )
        assert done.missing == (Missing("components", "19.6.0", "2026-09-02"),)
        assert done.exit_code == 1
        assert done.warnings == ()
        written = run("components")
        assert (written.warnings, written.problems, written.exit_code) == (done.problems, (), 0)

    @pytest.mark.parametrize("check", [True, False])
    def test_a_release_whose_driver_the_table_lacks_is_a_warning(self, run: Run, index: FakeIndex, check: bool) -> None:
        run("components")
        index.add("cuda-toolkit", toolkit("13.0.9", "nvidia-cublas==13.*"))
        done = run("components", check=check)
        assert (done.problems, len(done.warnings)) == ((), 1)
        assert done.warnings[0].startswith("cuda.yaml names no driver of CUDA 13.0.9: ")


class TestCheck:
    def test_nothing_is_missing(self, run: Run, index: FakeIndex) -> None:
        run(*ONLINE)
        asked = len(index.parts())
        done = run(*ONLINE, check=True)
        assert (done.missing, done.exit_code, len(index.parts())) == ((), 0, asked)
        assert "pytorch      unchanged nothing is missing" in text(done)

    def test_a_newer_release_is_missing(self, run: Run, index: FakeIndex) -> None:
        run(*ONLINE)
        before = run.text("pytorch")
        add_2_14(index)
        done = run(*ONLINE, check=True)
        assert done.missing == (Missing("pytorch", "2.14.0", "2026-09-02"),)
        assert done.exit_code == 1
        assert run.text("pytorch") == before
        assert "missing pytorch 2.14.0 (released 2026-09-02)" in text(done)
        assert document(done)["missing"] == [{"file": "pytorch", "row": "2.14.0", "released": "2026-09-02"}]

    @pytest.mark.parametrize(
        ("name", "row"),
        [("pytorch", "2.2.0"), ("tensorflow", "2.12.0"), ("components", "12.5.0"), ("cudnn", "9.10.2.21")],
    )
    def test_a_row_removed_by_hand_is_missing_and_comes_back(self, run: Run, name: str, row: str) -> None:
        run(name)
        whole = run.text(name)
        data = yamlfile.parse(whole)
        del data[yamlfile.ROWS[name]][row]
        (run.folder / f"{name}.yaml").write_text(yamlfile.dump(name, data, "2026-11-30"))
        assert [missing.row for missing in run(name, check=True).missing] == [row]
        done = run(name)
        assert [(change.kind, change.row) for change in done.files[0].changes] == [("+", row)]
        assert run.text(name).splitlines()[1:] == whole.splitlines()[1:]


class TestInput:
    def test_no_name_matches(self, run: Run) -> None:
        with pytest.raises(InputError, match="no facts file matches --only jax"):
            run("jax")

    def test_names_are_globs(self, run: Run) -> None:
        assert list(statuses(run("c*", check=True))) == ["components", "cudnn", "cuda"]

    def test_a_file_is_missing(self, run: Run) -> None:
        (run.folder / "gpus.yaml").unlink()
        with pytest.raises(InputError, match=r"gpus\.yaml: there is no such file"):
            run()

    @pytest.mark.parametrize("content", ["a: [", "- 1\n", "", "text"])
    def test_a_file_is_broken(self, run: Run, content: str) -> None:
        (run.folder / "cudnn.yaml").write_text(content)
        with pytest.raises(InputError, match=r"cudnn\.yaml: cannot be read"):
            run()


def test_rows_that_are_gone_are_told() -> None:
    done = Refreshed(False, (FileResult("pytorch", "changed", changes=(Change("-", "pytorch", "2.1.0"),)),))
    assert text(done).splitlines() == ["- pytorch 2.1.0", "", "pytorch      changed   1 change"]


def test_problems_and_warnings_are_told_last() -> None:
    done = Refreshed(True, (), problems=("p",), warnings=("w",))
    assert text(done).splitlines() == ["warning: w", "error: p"]


def test_a_release_for_other_systems_alone_is_none(run: Run, index: FakeIndex) -> None:
    index.add("torch", File("torch-3.0.0-cp311-cp311-win_amd64.whl", b""))
    run("pytorch")
    assert "3.0.0" not in run.rows("pytorch")
