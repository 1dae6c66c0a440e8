"""Which image of a plan fits a host: what was wanted, which is best, which few serve a fleet, and the line to run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from cubake.facts import Facts
from cubake.plan import Image, Plan
from cubake.plan.which import (
    Choice,
    against,
    choice_document,
    choose,
    cover,
    host_line,
    rows,
    run_line,
    wanted,
)
from cubake.resolve.host import Gpu, Host, find_gpu

MATRIX = """\
images:
  old: {pytorch: 2.6.0, python: ["3.11", "3.12"]}
  new: {pytorch: [2.8.0, 2.11.0], python: "3.11"}
  pascal: {pytorch: 2.8.0, cuda: "12.6", python: "3.11"}
  devel: {pytorch: 2.8.0, python: "3.11", flavor: devel}
  test: {pytorch: 2.8.0, python: "3.11", profile: test}
  flow: {tensorflow: 2.19.1, python: "3.11"}
  both: {pytorch: 2.7.1, tensorflow: 2.20.0, python: "3.11"}
  kit: {cuda: 12.6.3, flavor: devel, python: "3.12"}
"""
Pick = Callable[..., Choice]


@pytest.fixture(scope="module")
def images(planned: Callable[[str], Plan]) -> tuple[Image, ...]:
    plan = planned(MATRIX)
    assert plan.refused == ()
    return plan.images


@pytest.fixture(scope="module")
def host_of(facts: Facts) -> Callable[..., Host]:
    return lambda driver, *cards: Host(driver, tuple(find_gpu(card, facts) for card in cards), "given")


@pytest.fixture(scope="module")
def pick(images: tuple[Image, ...], host_of: Callable[..., Host], facts: Facts) -> Pick:
    """The choice on a host, of the images whose name begins so."""
    return lambda driver, *cards, start="": choose(
        [image for image in images if image.name.startswith(start)], host_of(driver, *cards), facts
    )


def best(choice: Choice) -> str | None:
    return choice.best.image.name if choice.best else None


class TestWanted:
    @pytest.mark.parametrize(
        ("wants", "count"),
        [
            ({}, 10),
            ({"pytorch": "2.8"}, 4),
            ({"pytorch": "2"}, 8),
            ({"pytorch": "any"}, 8),
            ({"pytorch": "2.80"}, 0),
            ({"tensorflow": "any"}, 2),
            ({"pytorch": "any", "tensorflow": "any"}, 1),
            ({"cuda": "12.6"}, 3),
            ({"cuda": "12"}, 9),
            ({"python": "3.12"}, 2),
            ({"flavor": "devel"}, 2),
            ({"profile": "test"}, 1),
            ({"cudnn": "9.1"}, 2),
            ({"os": "debian12"}, 0),
        ],
    )
    def test_by_every_axis(self, wants: dict[str, str], count: int, images: tuple[Image, ...]) -> None:
        assert len(wanted(images, wants)) == count

    def test_a_version_goes_by_components(self, images: tuple[Image, ...]) -> None:
        """2.1 is not 2.11."""
        assert wanted(images, {"pytorch": "2.1"}) == ()


class TestBest:
    def test_the_newest_that_fits(self, pick: Pick) -> None:
        assert best(pick("580.95.05", "RTX 4090")) == "pytorch2.11.0-cuda13.0-cudnn9.19-py3.11-ubuntu22.04-runtime"
        assert best(pick("570.124.06", "RTX 4090")) == "pytorch2.8.0-cuda12.8-cudnn9.10-py3.11-ubuntu22.04-runtime"

    def test_the_gate_decides_where_libraries_would_run(self, pick: Pick) -> None:
        """R550 runs CUDA 12.8, but its gate lets no GeForce in: torch 2.6 (CUDA 12.4) is the newest that starts."""
        assert (best(pick("550.144.03", "RTX 4090")) or "").startswith("pytorch2.6.0-cuda12.4")

    def test_kernels_decide_where_the_driver_would_do(self, pick: Pick) -> None:
        """torch 2.8 has Pascal in its cu126 build alone (pytorch issue 157517)."""
        assert best(pick("570.124.06", "GTX 1080")) == "pytorch2.8.0-cuda12.6-cudnn9.10-py3.11-ubuntu22.04-runtime"

    def test_an_image_of_the_drivers_own_cuda_is_better_than_a_newer_one(
        self, planned: Callable[[str], Plan], host_of: Callable[..., Host], facts: Facts
    ) -> None:
        """The 12.4.1 gate lets a GeForce of R535 (CUDA 12.2) start, but its PTX is newer than that driver; cu118's is
        not."""
        plan = planned("images:\n  new: {pytorch: 2.6.0}\n  old: {pytorch: 2.6.0, cuda: '11.8'}\n")
        choice = choose(plan.images, host_of("535.104.05", "RTX 3090"), facts)
        assert [(fit.image.stack.cuda, fit.good, fit.verdicts["jits"].ok) for fit in choice.fits] == [
            ("11.8", True, True),
            ("12.4", True, False),
        ]

    def test_what_surely_fits_before_what_may(self, pick: Pick) -> None:
        """The gate of CUDA 13.0 and 12.8 compares brands, which sm_89 does not tell; R550 is new enough for 12.4."""
        choice = pick("550.144.03", "sm_89", start="pytorch")
        assert (best(choice) or "").startswith("pytorch2.6.0")

    def test_of_equals_the_plainest(self, pick: Pick) -> None:
        """runtime before devel, prod before another profile, the older Python before the newer."""
        names = [fit.image.name for fit in pick("580.95.05", "RTX 4090", start="pytorch2.8.0-cuda12.8").fits]
        assert names == [
            "pytorch2.8.0-cuda12.8-cudnn9.10-py3.11-ubuntu22.04-runtime",
            "pytorch2.8.0-cuda12.8-cudnn9.10-py3.11-ubuntu22.04-runtime-test",
            "pytorch2.8.0-cuda12.8-cudnn9.10-py3.11-ubuntu22.04-devel",
        ]
        old = [fit.image.stack.python for fit in pick("580.95.05", "RTX 4090", start="pytorch2.6.0").fits]
        assert sorted(old) == ["3.11", "3.12"]

    def test_of_equals_the_one_that_is_locked(
        self, images: tuple[Image, ...], host_of: Callable[..., Host], facts: Facts
    ) -> None:
        (one,) = wanted(images, {"pytorch": "2.11"})
        unlocked = replace(one, name="a-name-that-comes-first", lock=None)
        choice = choose([unlocked, one], host_of("580.95.05", "L4"), facts)
        assert choice.best is not None and choice.best.image is one

    def test_none_where_nothing_fits(self, pick: Pick) -> None:
        choice = pick("550.144.03", "RTX 5090")
        assert choice.best is None
        assert len(choice.fits) == 10, "each is told with its reasons"
        assert not any(fit.good for fit in choice.fits)

    def test_a_host_of_which_nothing_is_known_takes_the_newest(self, pick: Pick) -> None:
        """Nothing is known to fail."""
        assert (best(pick(None)) or "").startswith("pytorch2.11.0")

    def test_of_no_images_none(self, host_of: Callable[..., Host], facts: Facts) -> None:
        assert choose([], host_of("580.95.05", "L4"), facts).best is None

    def test_the_order_of_images_does_not_matter(
        self, images: tuple[Image, ...], host_of: Callable[..., Host], facts: Facts
    ) -> None:
        for host in (host_of("550.144.03", "L4"), host_of("580.95.05", "RTX 5090"), host_of(None)):
            forward, backward = choose(images, host, facts), choose(images[::-1], host, facts)
            assert [fit.image.name for fit in forward.fits] == [fit.image.name for fit in backward.fits]

    def test_a_host_with_two_gpus_needs_what_serves_both(self, pick: Pick) -> None:
        """CUDA 12.8 for the one, no machine code for the other: torch has no build with both (arch lists)."""
        assert best(pick("570.124.06", "RTX 5090", "GTX 1080")) is None
        assert (best(pick("570.124.06", "RTX 4090", "GTX 1080", start="pytorch")) or "").startswith(
            "pytorch2.8.0-cuda12.6"
        )


class TestCover:
    def names(self, *choices: Choice) -> dict[str, int]:
        return {image.name.partition("-cudnn")[0]: len(hosts) for image, hosts in cover(choices)}

    def test_one_image_for_hosts_that_one_serves(self, pick: Pick) -> None:
        found = self.names(pick("580.95.05", "RTX 4090"), pick("580.95.05", "RTX 5090"), pick("595.45.04", "L4"))
        assert found == {"pytorch2.11.0-cuda13.0": 3}

    def test_two_images_where_one_cannot_serve_all(self, pick: Pick) -> None:
        """A GeForce on R550 needs CUDA 12.4, Blackwell 12.8 (open case RW13)."""
        found = self.names(pick("550.54.14", "RTX 4090"), pick("570.144", "RTX 5090"))
        assert found == {"pytorch2.6.0-cuda12.4": 1, "pytorch2.8.0-cuda12.8": 1}

    def test_an_older_image_that_serves_all_is_one_image(self, pick: Pick) -> None:
        """Best for each alone would be two; torch 2.6 serves both."""
        old, new = pick("550.54.14", "RTX 4090"), pick("580.95.05", "RTX 4090")
        assert best(old) != best(new)
        assert self.names(old, new) == {"pytorch2.6.0-cuda12.4": 2}

    def test_the_one_that_serves_most_stands_first(self, pick: Pick) -> None:
        choices = [pick("550.54.14", "RTX 4090"), *(pick("570.144", card) for card in ("RTX 5090", "B200", "RTX 5080"))]
        assert list(self.names(*choices).items()) == [("pytorch2.8.0-cuda12.8", 3), ("pytorch2.6.0-cuda12.4", 1)]

    def test_a_host_that_nothing_serves_is_in_no_group(self, pick: Pick) -> None:
        served, lost = pick("570.144", "RTX 5090"), pick("550.54.14", "RTX 5090")
        assert [hosts for _, hosts in cover([served, lost])] == [(served.host,)]
        assert cover([lost]) == ()
        assert cover([]) == ()

    def test_a_doubt_is_no_promise_to_a_fleet(self, pick: Pick) -> None:
        """On sm_89 with R550 only the CUDA 12.4 images surely start; those of 12.5 and newer compare the brand."""
        assert list(self.names(pick("550.144.03", "sm_89", start="pytorch"))) == ["pytorch2.6.0-cuda12.4"]

    def test_each_host_stands_once(self, pick: Pick) -> None:
        choices = [
            pick(driver, card) for driver in ("550.54.14", "570.144", "580.95.05") for card in ("L4", "RTX 5090")
        ]
        hosts = [host for _, group in cover(choices) for host in group]
        assert len(hosts) == len(set(hosts)) == 5  # all but R550 with Blackwell


MIG = Gpu("8.0", "NVIDIA A100 MIG 1g.5gb", "data center", frozenset({"tesla", "nvidia"}), "MIG-aaaa", mig=True)


class TestLines:
    def test_run(self, images: tuple[Image, ...], host_of: Callable[..., Host]) -> None:
        image = images[0]
        assert run_line(image, host_of("580.95.05", "L4")) == f"docker run --rm -it --gpus all {image.tag}"
        assert run_line(image, host_of("580.95.05", "L4", "L4")) == f"docker run --rm -it --gpus all {image.tag}"
        assert run_line(image, host_of(None)) == f"docker run --rm -it --gpus all {image.tag}"

    def test_run_on_a_mig_device_by_its_name(self, images: tuple[Image, ...]) -> None:
        """A process sees one instance only (pytorch issue 130181); the quotes keep the shell's hands off."""
        second = replace(MIG, uuid="MIG-bbbb")
        line = run_line(images[0], Host("535.104.05", (MIG, second), "read here with NVML"))
        assert line == f"docker run --rm -it --gpus '\"device=MIG-aaaa\"' {images[0].tag}"

    def test_run_on_a_mig_device_of_which_no_name_is_known(self, images: tuple[Image, ...]) -> None:
        line = run_line(images[0], Host("535.104.05", (replace(MIG, uuid=None),), "given"))
        assert "--gpus all" in line

    def test_host(self, host_of: Callable[..., Host], facts: Facts) -> None:
        assert host_line(host_of("535.104.05", "RTX 4090"), facts) == (
            "driver 535.104.05 (CUDA 12.2), RTX 4090 (sm_89); given"
        )
        assert host_line(host_of(None, "sm_90"), facts) == "a driver not named, sm_90; given"
        assert host_line(host_of("550"), facts) == "driver 550 (CUDA 12.4), a GPU not named; given"
        assert host_line(host_of("340.108"), facts) == "driver 340.108, a GPU not named; given"
        eight = Host("570.86", host_of(None, "H100").gpus * 8, "read here with NVML")
        assert host_line(eight, facts) == "driver 570.86 (CUDA 12.8), H100 (sm_90); read here with NVML"

    def test_rows_and_what_is_against_an_image(self, pick: Pick) -> None:
        choice = pick("550.144.03", "RTX 4090", start="pytorch2.8.0-cuda12.8")
        assert [row[1:] for row in rows(choice)] == [("no", "yes", "no", "yes")] * 3
        told = against(choice.fits[0])
        assert [line.partition(":")[0] for line in told] == ["starts", "jits"]
        assert "it wants cuda>=12.8" in told[0]
        assert against(pick("580.95.05", "RTX 4090", start="pytorch2.8.0-cuda12.8").fits[0]) == []


class TestDocument:
    def test_has_the_keys_of_the_contract(self, pick: Pick, facts: Facts) -> None:
        """Design section 5."""
        document = choice_document(pick("580.95.05", "RTX 4090"), facts)
        assert {"host", "best", "images"} <= document.keys()
        assert document["best"] == document["images"][0]["name"], "best first"
        assert document["run"].endswith(document["images"][0]["tag"])
        assert document["host"] == {
            "driver": "580.95.05",
            "cuda": "13.0",
            "gpus": [{"name": "RTX 4090", "sm": "sm_89", "kind": "consumer", "uuid": None, "mig": False}],
            "origin": "given",
        }
        for image in document["images"]:
            assert set(image["verdicts"]) == {"starts", "runs", "jits", "kernels"}
            for verdict in image["verdicts"].values():
                assert verdict.keys() == {"ok", "statement", "source"}

    def test_where_nothing_fits_there_is_nothing_to_run(self, pick: Pick, facts: Facts) -> None:
        document = choice_document(pick("550.144.03", "RTX 5090"), facts)
        assert (document["best"], document["run"]) == (None, None)
        assert len(document["images"]) == 10

    def test_a_driver_that_is_not_named(self, pick: Pick, facts: Facts) -> None:
        document = choice_document(pick(None, "L4"), facts)
        assert (document["host"]["driver"], document["host"]["cuda"]) == (None, None)
