"""Hosts as people write them: drivers, GPUs by name and by capability, and whole hosts."""

from __future__ import annotations

import json

import pytest

from cubake.errors import InputError
from cubake.facts import Facts
from cubake.resolve.host import (
    Gpu,
    Host,
    check_driver,
    described,
    driver_branch,
    driver_cuda,
    find_gpu,
    parse_host,
)

CONSUMER = frozenset({"geforce", "geforcertx"})
WORKSTATION = frozenset({"quadro", "quadrortx", "nvidiartx"})
DATA_CENTER = frozenset({"tesla", "nvidia"})
TITAN = frozenset({"titan", "titanrtx"})


@pytest.mark.parametrize("text", ["535.104", "535", "535.104.05", "550.144.03", "384.81", " 580.65.06\n", "1000.1.1"])
def test_a_driver(text: str) -> None:
    assert check_driver(text) == text.strip()


@pytest.mark.parametrize(
    "text",
    ["", "12.4", "99", "R535", "v535.104", "535.", "535..1", "535.1.2.3", "535,104", "0535.1", "latest", "535\x1b[0m"],
)
def test_no_driver(text: str) -> None:
    with pytest.raises(InputError) as wrong:
        check_driver(text)
    assert "is no driver version" in wrong.value.message
    assert wrong.value.message.isprintable()


@pytest.mark.parametrize(
    ("driver", "branch", "cuda"),
    [
        ("535.104.05", 535, "12.2"),
        ("545.23", 545, "12.3"),
        ("470.82", 470, "11.4"),
        ("550.54", 550, "12.4"),
        ("555", 555, "12.5"),
        ("538.78", 538, "12.2"),  # no branch of its own
        ("410.48", 410, "10.0"),
        ("396.26", 396, None),
        ("9999.1", 9999, "13.5"),
    ],
)
def test_the_cuda_of_a_driver(driver: str, branch: int, cuda: str | None, facts: Facts) -> None:
    assert driver_branch(driver) == branch
    newest = max(facts.gpus.branches.items(), key=lambda item: int(item[0]))[1].cuda
    assert driver_cuda(driver, facts) == (newest if branch == 9999 else cuda)


@pytest.mark.parametrize(
    ("text", "capability"),
    [("sm_89", "8.9"), ("8.9", "8.9"), ("compute_89", "8.9"), ("SM_120", "12.0"), ("10.0", "10.0"), ("sm_90a", "9.0")],
)
def test_a_gpu_by_its_capability(text: str, capability: str, facts: Facts) -> None:
    gpu = find_gpu(text, facts)
    assert gpu == Gpu(capability)
    assert gpu.sm == f"sm_{capability.replace('.', '')}"


@pytest.mark.parametrize("text", ["sm_99", "9.9", "3.5", "compute_999"])
def test_a_capability_that_no_gpu_has(text: str, facts: Facts) -> None:
    with pytest.raises(InputError, match="no GPU of capability") as wrong:
        find_gpu(text, facts)
    assert "9.0, 10.0, 10.3, 10.7, 11.0, 12.0" in wrong.value.hint


CARDS = [
    ("RTX 4090", "8.9", "consumer", CONSUMER),
    ("rtx4090", "8.9", "consumer", CONSUMER),
    ("NVIDIA GeForce RTX 4090 D", "8.9", "consumer", CONSUMER),
    ("GeForce RTX 3090", "8.6", "consumer", CONSUMER),
    ("NVIDIA GeForce RTX 4070 Ti SUPER", "8.9", "consumer", CONSUMER),
    ("NVIDIA GeForce RTX 3080 Laptop GPU", "8.6", "consumer", CONSUMER),
    ("GTX 1060 6GB", "6.1", "consumer", CONSUMER),
    ("GeForce GTX 750", "5.0", "consumer", CONSUMER),
    ("H200", "9.0", "data center", DATA_CENTER),
    ("h100", "9.0", "data center", DATA_CENTER),
    ("NVIDIA H100 PCIe", "9.0", "data center", DATA_CENTER),
    ("NVIDIA H100 80GB HBM3", "9.0", "data center", DATA_CENTER),
    ("NVIDIA GH200 480GB", "9.0", "data center", DATA_CENTER),
    ("A100-SXM4-40GB", "8.0", "data center", DATA_CENTER),
    ("NVIDIA A100 80GB PCIe", "8.0", "data center", DATA_CENTER),
    ("A10", "8.6", "data center", DATA_CENTER),
    ("A10G", "8.6", "data center", DATA_CENTER),
    ("NVIDIA A2", "8.6", "data center", DATA_CENTER),
    ("T4", "7.5", "data center", DATA_CENTER),
    ("Tesla T4", "7.5", "data center", DATA_CENTER),
    ("Tesla V100-SXM2-16GB", "7.0", "data center", DATA_CENTER),
    ("P100", "6.0", "data center", DATA_CENTER),
    ("L4", "8.9", "data center", DATA_CENTER),
    ("L40S", "8.9", "data center", DATA_CENTER),
    ("NVIDIA B300 SXM6 AC", "10.3", "data center", DATA_CENTER),
    ("Vera Rubin", "10.7", "data center", DATA_CENTER),
    ("RTX A6000", "8.6", "workstation", WORKSTATION),
    ("RTX 4000", "7.5", "workstation", WORKSTATION),
    ("RTX 6000", "7.5", "workstation", WORKSTATION),
    ("Quadro RTX 6000", "7.5", "workstation", WORKSTATION),
    ("Quadro RTX 5000 with Max-Q Design", "7.5", "workstation", WORKSTATION),
    ("RTX 4000 Ada", "8.9", "workstation", WORKSTATION),
    ("NVIDIA RTX 6000 Ada Generation", "8.9", "workstation", WORKSTATION),
    ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "12.0", "workstation", WORKSTATION),
    ("RTX PRO 6000", "12.0", None, WORKSTATION | DATA_CENTER),  # there are two, of one capability
    ("DGX Spark", "12.1", "workstation", WORKSTATION),
    ("TITAN V", "7.0", "workstation", TITAN),
    ("NVIDIA TITAN RTX", "7.5", "consumer", TITAN),
    ("TITAN X (Pascal)", "6.1", "consumer", TITAN),
    ("GTX TITAN X", "5.2", "consumer", TITAN | CONSUMER),
    ("AGX Orin", "8.7", "jetson", frozenset()),
    ("Thor", "11.0", "jetson", frozenset()),
]


@pytest.mark.parametrize(("text", "capability", "kind", "brands"), CARDS, ids=[card[0] for card in CARDS])
def test_a_gpu_by_its_name(text: str, capability: str, kind: str | None, brands: frozenset[str], facts: Facts) -> None:
    assert find_gpu(text, facts) == Gpu(capability, text, kind, brands)


def test_every_name_in_the_facts_means_its_own_row(facts: Facts) -> None:
    for row in facts.gpus.models:
        for name in row.names:
            gpu = find_gpu(name, facts)
            assert (gpu.capability, gpu.kind) == (row.capability, row.kind), name
            assert gpu.brands or row.kind == "jetson", name


def test_a_mig_device_by_its_name(facts: Facts) -> None:
    text = "NVIDIA A100-SXM4-40GB MIG 3g.20gb"
    assert find_gpu(text, facts) == Gpu("8.0", text, "data center", DATA_CENTER, mig=True)
    assert find_gpu("NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb+me", facts).mig


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("RTX 4095", "GeForce RTX 4090"),
        ("4090", "GeForce RTX 4090"),
        ("A1000", "NVIDIA A100"),
        ("V100S", "NVIDIA V100"),
        ("GeForce A100", "NVIDIA A100"),  # no GeForce is called so
        ("Quadro T4", "NVIDIA T4"),
        ("RTX A6001", "NVIDIA RTX A6000"),
        ("Tesla H1O0", "NVIDIA H100"),
    ],
)
def test_a_name_that_is_nearly_one(text: str, near: str, facts: Facts) -> None:
    with pytest.raises(InputError) as wrong:
        find_gpu(text, facts)
    assert f"no GPU '{text}' is known; near it: " in wrong.value.message
    assert near in wrong.value.message
    assert "sm_89" in wrong.value.hint


@pytest.mark.parametrize(
    "text", ["", " ", "NVIDIA", "RTX", "GeForce", "Radeon RX 7900", "80GB", "sm_", "\x1b[31m", "x" * 999]
)
def test_a_name_that_is_none(text: str, facts: Facts) -> None:
    with pytest.raises(InputError) as wrong:
        find_gpu(text, facts)
    assert wrong.value.message.isprintable()
    assert len(wrong.value.message) < 200


def test_what_is_known_better_than_by_name(facts: Facts) -> None:
    assert described("NVIDIA H200", "9.0", facts) == Gpu("9.0", "NVIDIA H200", "data center", DATA_CENTER)
    assert described("NVIDIA Z999", "15.1", facts) == Gpu("15.1", "NVIDIA Z999")
    assert described("NVIDIA H200", "9.9", facts) == Gpu("9.9", "NVIDIA H200")  # then it is another card
    assert described("NVIDIA Z999 MIG 1g.5gb", "15.1", facts).mig


# --- hosts

H100 = Gpu("9.0", "H100", "data center", DATA_CENTER)


@pytest.mark.parametrize(
    ("value", "driver", "gpus"),
    [
        ({"driver": "535.104.05", "gpus": ["H100"]}, "535.104.05", (H100,)),
        ({"driver": "535", "gpu": "H100"}, "535", (H100,)),
        ({"gpu": {"name": "H100"}}, None, (H100,)),
        ({"gpus": [{"capability": "9.0"}, "sm_89"]}, None, (Gpu("9.0"), Gpu("8.9"))),
        ({"gpu": {"capability": "sm_90", "name": "H100", "uuid": None}}, None, (H100,)),
        ({"gpu": {"capability": "12.0", "name": "Z999"}}, None, (Gpu("12.0", "Z999"),)),
        ({"gpu": {"capability": "9.0", "uuid": "GPU-1"}}, None, (Gpu("9.0", uuid="GPU-1"),)),
        ({"gpu": {"capability": "9.0", "uuid": "MIG-1"}}, None, (Gpu("9.0", uuid="MIG-1", mig=True),)),
        ({"driver": "470.82.01"}, "470.82.01", ()),
        ({"driver": None, "gpus": []}, None, ()),
    ],
)
def test_a_host_in_json(value: object, driver: str | None, gpus: tuple[Gpu, ...], facts: Facts) -> None:
    assert parse_host(json.dumps(value, indent=1), facts) == Host(driver, gpus, "given")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing is in it"),
        ("  \n", "nothing is in it"),
        ('{"driver": "535"', "line 1 column 17: "),
        ('{"driver":\n "535",}', "line 2 column"),
        ("{}", "give a driver, gpus or both"),
        ('["H100"]', "line 1: '[\"H100\"]' names no GPU"),
        ('{"driver": 535.104}', "driver: a text in quotes is wanted"),
        ('{"driver": "12.4"}', "'12.4' is no driver version"),
        ('{"gpu": "H100", "gpus": []}', "give gpu or gpus, not both"),
        ('{"drivers": "535"}', "drivers: there is no such key, but driver, gpu, gpus"),
        ('{"gpus": "H100"}', "gpus: a list is wanted"),
        ('{"gpus": ["H100", 9.0]}', "gpus[1]: a text or an object is wanted"),
        ('{"gpus": ["H100", "H101"]}', "gpus[1]: no GPU 'H101' is known; near it: NVIDIA H100"),
        ('{"gpus": [{"name": "H101"}]}', "gpus[0].name: no GPU 'H101'"),
        ('{"gpus": [{"name": "H100", "memory": "80"}]}', "gpus[0].memory: there is no such key"),
        ('{"gpus": [{"uuid": "GPU-1"}]}', "gpus[0]: give its name or its capability"),
        ('{"gpu": {"capability": 9.0}}', "gpu.capability: a text in quotes is wanted"),
        ('{"gpu": {"capability": "9.9"}}', "gpu.capability: '9.9': no GPU of capability 9.9"),
        ('{"gpu": {"capability": "H100"}}', "gpu.capability: 'H100' is none"),
        ('{"gpu": ' + "[" * 100_000, "not that of a host"),
        ('{"gpu": ' + "9" * 10_000 + "}", "not that of a host"),
    ],
)
def test_a_host_that_is_wrong(text: str, message: str, facts: Facts) -> None:
    with pytest.raises(InputError) as wrong:
        parse_host(text, facts)
    assert message in wrong.value.message


LISTING = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)
  MIG 3g.20gb     Device  0: (UUID: MIG-41b3359c-e721-56e5-8009-12e5797ed514)
  MIG 1c.3g.20gb  Device  1: (UUID: MIG-65b79fff-6d3c-5490-a288-b31ec705f310)
GPU 1: NVIDIA GeForce RTX 3090 (UUID: GPU-00000000-0000-0000-0000-000000000001)
"""
OLDER = """\
GPU 0: A100-SXM4-40GB (UUID: GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0)
  MIG 1g.5gb Device 0: (UUID: MIG-GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0/1/0)
"""


@pytest.mark.parametrize("text", [LISTING, LISTING.replace("\n", "\r\n"), f"\n{LISTING}\n"])
def test_a_listing_of_nvidia_smi(text: str, facts: Facts) -> None:
    host = parse_host(text, facts)
    assert (host.driver, host.origin) == (None, "given")
    assert host.gpus == (
        Gpu(
            "8.0",
            "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
            "data center",
            DATA_CENTER,
            "MIG-41b3359c-e721-56e5-8009-12e5797ed514",
            mig=True,
        ),
        Gpu(
            "8.0",
            "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb",
            "data center",
            DATA_CENTER,
            "MIG-65b79fff-6d3c-5490-a288-b31ec705f310",
            mig=True,
        ),
        Gpu("8.6", "NVIDIA GeForce RTX 3090", "consumer", CONSUMER, "GPU-00000000-0000-0000-0000-000000000001"),
    )


def test_mig_devices_as_older_drivers_list_them(facts: Facts) -> None:
    (gpu,) = parse_host(OLDER, facts).gpus
    assert gpu.mig
    assert (gpu.capability, gpu.uuid) == ("8.0", "MIG-GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0/1/0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("No devices found.\n", "line 1: 'No devices found.' names no GPU"),
        (LISTING.split("\n", maxsplit=1)[1], "line 1: '  MIG 3g.20gb"),
        (f"{LISTING}Unable to determine the device handle\n", "line 5: 'Unable to determine the device handle' is no"),
        (
            LISTING.replace("3090", "3095"),
            "line 4: no GPU 'NVIDIA GeForce RTX 3095' is known; near it: GeForce RTX 3090",
        ),
        ("H100", "line 1: 'H100' names no GPU"),
    ],
)
def test_a_listing_that_is_wrong(text: str, message: str, facts: Facts) -> None:
    with pytest.raises(InputError) as wrong:
        parse_host(text, facts)
    assert message in wrong.value.message
    assert wrong.value.hint
