"""The rows that each facts file gets from an index with a little of everything (conftest.fill)."""

from __future__ import annotations

import pytest

from cubake.refresh import Sources
from tests.unit.refresh.fakes import FakeIndex, File, Run, metadata, torch, wheel
from tests.unit.refresh.stock import add_2_14

AMD, ARM = "linux/amd64", "linux/arm64"


class TestPytorch:
    def test_a_release(self, run: Run, index: FakeIndex) -> None:
        run("pytorch")
        assert list(run.rows("pytorch")) == ["2.10.0", "2.2.0"]
        row = run.rows("pytorch")["2.10.0"]
        wheels = row.pop("wheels")
        assert row == {
            "released": "2026-01-21",
            "requires_python": ">=3.10",
            "source": "wheel",
            "family": {"torchvision": ["0.25.0"], "torchaudio": ["2.11.0"]},
            "family_lacks": {"torchvision": ["3.10"], "torchaudio": ["3.10"]},  # the torch here has cp310 beside cp311
            "indexes": {
                "cu128": {
                    "cuda": "12.8", "cudnn": "9.10.2.21", "sass": ["sm_70", "sm_90"], "default": True,
                    "source": "wheel", "ptx": ["compute_90"],
                }
            },
        }  # fmt: skip
        assert wheels[AMD] == {
            "cuda": "12.8",
            "cudnn": "9.10.2.21",
            "nccl": "2.27.5",
            "python": ["3.10", "3.11", "3.13t"],
            "glibc": "2.28",
            "bytes": max(len(file.content) for file in index.projects["torch"]),
            "sass": ["sm_70", "sm_90"],
            "requires": {"nvidia-cudnn-cu12": "==9.10.2.21", "nvidia-nccl-cu12": "==2.27.5"},
            "ptx": ["compute_90"],
            "build": "3",
        }

    def test_markers_are_those_of_the_platform(self, run: Run) -> None:
        """METADATA of the CPU wheel on Arm lists NVIDIA's wheels behind a marker."""
        run("pytorch")
        assert run.rows("pytorch")["2.10.0"]["wheels"][ARM].keys() == {"cuda", "python", "glibc", "bytes"}
        assert run.rows("pytorch")["2.10.0"]["wheels"][ARM]["cuda"] is None

    def test_numpy_1_is_told_by_the_module(self, run: Run) -> None:
        run("pytorch")
        rows = run.rows("pytorch")
        assert (rows["2.2.0"]["numpy"], "numpy" in rows["2.10.0"]) == ("<2", False)

    def test_pins_behind_the_extras_of_the_metapackage(self, run: Run, index: FakeIndex) -> None:
        add_2_14(index)
        run("pytorch")
        wheels = run.rows("pytorch")["2.14.0"]["wheels"]
        assert wheels[ARM]["requires"] == {
            "nvidia-cublas": "==13.1.1.3.*",
            "nvidia-cuda-runtime": "==13.0.96.*",
            "nvidia-cudnn-cu13": "==9.24.0.43",
            "nvidia-nccl-cu13": "==2.30.7",
            "nvidia-nvjitlink": "<14,>=13.0.88",
        }
        assert [wheels[name]["sass"] for name in (AMD, ARM)] == [["sm_75", "sm_120"], ["sm_80", "sm_110"]]
        assert "build" not in wheels[AMD]

    def test_a_build_tag_counts_where_it_replaces(self, run: Run, index: FakeIndex) -> None:
        """A build tag that stands alone, as on torch 2.0.0 for Arm, tells nothing."""
        first = "torch-2.10.0-cp311-cp311-manylinux_2_28_x86_64.whl"
        index.projects["torch"] = [file for file in index.projects["torch"] if file.name != first]
        run("pytorch")
        assert "build" not in run.rows("pytorch")["2.10.0"]["wheels"][AMD]

    def test_a_metapackage_that_is_not_there(self, run: Run, index: FakeIndex) -> None:
        add_2_14(index)
        index.projects["cuda-toolkit"] = [file for file in index.projects["cuda-toolkit"] if "13.0.3" not in file.name]
        (file, *_) = run("pytorch").files
        assert file.status == "refused"
        assert file.reason == "no cuda-toolkit==13.0.3 is on the index, and a torch wheel requires it"

    def test_yanked_files_count_as_none(self, run: Run, index: FakeIndex) -> None:
        for file in index.projects["torch"]:
            file.yanked = file.yanked or "2.10.0-3" in file.name or "2.2.0" in file.name
        run("pytorch")
        assert list(run.rows("pytorch")) == ["2.10.0"]
        wheel_row = run.rows("pytorch")["2.10.0"]["wheels"][AMD]
        assert "build" not in wheel_row
        assert "ptx" not in wheel_row

    def test_a_yanked_sibling_serves_for_want_of_another(self, run: Run, index: FakeIndex) -> None:
        index.projects["torchvision"] = [index.file("torchvision-0.25.1-cp311-cp311-manylinux_2_28_x86_64.whl")]
        run("pytorch")
        assert run.rows("pytorch")["2.10.0"]["family"]["torchvision"] == ["0.25.1"]
        assert run.rows("pytorch")["2.2.0"]["family"]["torchvision"] == []

    def test_an_open_sibling_serves_where_none_is_exact(self, run: Run, index: FakeIndex) -> None:
        add_2_14(index)
        run("pytorch")
        families = {version: row["family"]["torchvision"] for version, row in run.rows("pytorch").items()}
        assert families == {"2.14.0": ["0.29.1"], "2.10.0": ["0.25.0"], "2.2.0": []}

    def test_a_requirement_that_is_none_is_refused(self, run: Run, index: FakeIndex) -> None:
        index.file("torch-2.2.0-cp311-cp311-manylinux1_x86_64.whl").content = torch(
            "2.2.0", "12.1", "a !! b", arch="sm_50"
        )
        (file, *_) = run("pytorch").files
        assert (file.status, "'a !! b' in a wheel's METADATA is no requirement" in file.reason) == ("refused", True)


class TestPytorchsOwnIndex:
    @pytest.fixture
    def own(self, run: Run, index: FakeIndex) -> Run:
        """The index answers under /whl too, with two builds of 2.10.0 and others that do not count."""
        other = torch("2.10.0", "13.0", "nvidia-cudnn-cu13==9.15.1.9", arch="sm_75 sm_120 compute_120")
        index.form = "html"
        index.add(
            "torch",
            File("torch-2.10.0%2Bcu130-cp311-cp311-manylinux_2_28_x86_64.whl", other),
            File("torch-2.10.0%2Bcu128-cp311-cp311-linux_x86_64.whl", torch("2.10.0", "12.8", arch="sm_70")),
            File("torch-2.10.0%2Bcu130-cp311-cp311-manylinux_2_28_aarch64.whl", b""),
            File("torch-2.10.0%2Bcpu-cp311-cp311-manylinux_2_28_x86_64.whl", b""),
            File("torch-9.9.0%2Bcu130-cp311-cp311-manylinux_2_28_x86_64.whl", b""),
        )
        own_index = index.url.replace("/simple", "/whl")
        sources = Sources(run.sources.index_url, pytorch_index=own_index, cache=run.sources.cache)
        return Run(run.folder, sources)

    def test_its_builds_are_read(self, own: Run) -> None:
        own("pytorch")
        assert own.rows("pytorch")["2.10.0"]["indexes"] == {
            "cu128": {"cuda": "12.8", "cudnn": None, "sass": ["sm_70"], "default": True, "source": "index-wheel"},
            "cu130": {
                "cuda": "13.0", "cudnn": "9.15.1.9", "sass": ["sm_75", "sm_120"], "default": False,
                "source": "index-wheel", "ptx": ["compute_120"],
            },
        }  # fmt: skip
        assert list(own.rows("pytorch")["2.2.0"]["indexes"]) == ["cu121"]

    def test_what_it_does_not_tell_is_kept(self, own: Run) -> None:
        """The wheel for cu128 names no cuDNN; the committed row does."""
        text = own.text("pytorch").replace(
            "releases: {}",
            "releases: {2.10.0: {indexes: {cu128: {cudnn: '9.9.9'}}}}",
        )
        (own.folder / "pytorch.yaml").write_text(text)
        own("pytorch")
        assert own.rows("pytorch")["2.10.0"]["indexes"]["cu128"]["cudnn"] == "9.9.9"

    @pytest.mark.parametrize("content", [b"no zip", torch("2.10.0", None)], ids=["unreadable", "for CPUs"])
    def test_a_build_that_is_none_costs_its_release_alone(self, own: Run, index: FakeIndex, content: bytes) -> None:
        index.file("torch-2.10.0%2Bcu128-cp311-cp311-linux_x86_64.whl").content = content
        assert own("pytorch").files[0].status == "changed"
        assert own.rows("pytorch")["2.10.0"]["indexes"]["cu128"]["source"] == "wheel"
        assert any("the index builds of 2.10.0" in line for line in own.said)

    def test_where_it_is_silent_the_rows_stay(self, own: Run, run: Run) -> None:
        own("pytorch")
        before = own.text("pytorch")
        done = run("pytorch")
        assert done.files[0].status == "unchanged"
        assert run.text("pytorch") == before
        assert any("the builds of its own index are left as they were" in line for line in run.said)


class TestTensorflow:
    def test_a_release(self, run: Run, index: FakeIndex) -> None:
        run("tensorflow")
        assert list(run.rows("tensorflow")) == ["2.18.0", "2.12.0"]
        row = run.rows("tensorflow")["2.18.0"]
        assert {key: row[key] for key in row if key != "wheels"} == {
            "released": "2024-10-25", "requires_python": ">=3.9", "source": "wheel", "numpy": "<2.1.0,>=1.26.0",
        }  # fmt: skip
        files = [file for file in index.projects["tensorflow"] if "2.18.0" in file.name]
        assert row["wheels"][AMD] == {
            "cuda": "12.5",
            "cudnn": "9.3.0.75",
            "nccl": "2.21.5",
            "python": ["3.11", "3.12"],
            "glibc": "2.17",
            "bytes": max(len(file.content) for file in files if "x86_64" in file.name),
            "sass": ["sm_60", "sm_89"],
            "ptx": ["compute_90"],
            "requires": {
                "nvidia-cublas-cu12": "==12.5.3.2",
                "nvidia-cudnn-cu12": "<10.0,>=9.3.0.75",
                "nvidia-nccl-cu12": "==2.21.5",
            },
            "runpath": ["nvidia/cudnn/lib", "nvidia/cublas/lib"],
        }
        assert row["wheels"][ARM] == {
            "cuda": None, "python": ["3.11"], "glibc": "2.17",
            "bytes": next(len(file.content) for file in files if "aarch64" in file.name),
        }  # fmt: skip

    def test_before_the_extra_a_committed_cudnn_is_kept(self, run: Run) -> None:
        run("tensorflow")
        row = run.rows("tensorflow")["2.12.0"]["wheels"]
        assert (row[AMD]["cudnn"], row[AMD]["requires"], row[AMD]["runpath"]) == (None, {}, [])
        assert row[ARM]["cuda"] is None  # a thin wheel without build_info
        text = run.text("tensorflow")
        at = text.index("cudnn: null")
        (run.folder / "tensorflow.yaml").write_text(text[:at] + "cudnn: '8.6'" + text[at + len("cudnn: null") :])
        assert run("tensorflow").files[0].status == "unchanged"
        assert run.rows("tensorflow")["2.12.0"]["wheels"][AMD]["cudnn"] == "8.6"


class TestComponents:
    def test_releases_and_their_wheels(self, run: Run) -> None:
        run("components")
        rows = run.rows("components")
        assert list(rows) == ["12.5.0", "12.5.1", "13.0.3"]
        assert rows["13.0.3"] == {
            "packages": {
                "nvidia-cublas": "13.1.1.3", "nvidia-cuda-runtime": "13.0.96", "nvidia-nvjitlink": "13.0.88",
            },
            "source": "metapackage",
        }  # fmt: skip

    def test_the_correction_of_12_5_1(self, run: Run) -> None:
        run("components")
        assert run.rows("components")["12.5.1"] == {
            "packages": {"nvidia-cublas-cu12": "12.5.3.2", "nvidia-npp-cu12": "12.3.0.116"},
            "source": "tensorflow-2.18",
        }

    def test_the_correction_ends_with_the_defect(self, run: Run, index: FakeIndex) -> None:
        pin = "nvidia-cublas-cu12==12.5.9.*; sys_platform == 'linux' and extra == 'all'"
        index.file("cuda_toolkit-12.5.1-py2.py3-none-any.whl").content = wheel(metadata("cuda-toolkit", "12.5.1", pin))
        run("components")
        assert run.rows("components")["12.5.1"] == {
            "packages": {"nvidia-cublas-cu12": "12.5.9"},
            "source": "metapackage",
        }
        assert "tensorflow-2.18" not in run.text("components")

    def test_what_corrects_may_not_vanish(self, run: Run, index: FakeIndex) -> None:
        index.projects["tensorflow"] = []
        (file, *_) = run("components").files
        assert (file.status, "tensorflow 2.18.0" in file.reason) == ("refused", True)

    def test_nccl_is_kept(self, run: Run) -> None:
        text = run.text("components").replace("sources: {}", "sources: {old: {text: t, confidence: high}}")
        (run.folder / "components.yaml").write_text(text + "nccl: {cu11: {version: '2.21.5', source: old}}\n")
        run("components")
        assert "  cu11: {version: '2.21.5', source: old}\n" in run.text("components")
        assert "  old: {text: t, confidence: high}\n" in run.text("components")


class TestCudnn:
    def test_versions(self, run: Run, index: FakeIndex) -> None:
        run("cudnn")
        name = "nvidia_cudnn_cu12-9.10.2.21-py3-none-manylinux_2_27_x86_64.whl"
        assert run.rows("cudnn") == {
            "9.10.2.21": {
                "soname": 9,
                "min_capability": "5.0",
                "wheels": {"cu12": {"bytes": len(index.file(name).content), "platforms": [AMD, ARM]}},
                "source": "index",
            },
            "9.24.0.43": {
                "soname": 9,
                "min_capability": "7.5",
                "wheels": {
                    "cu13": {
                        "bytes": len(index.projects["nvidia-cudnn-cu13"][0].content), "platforms": [AMD],
                        "yanked": True,
                    }
                },
                "source": "index",
            },
        }  # fmt: skip
