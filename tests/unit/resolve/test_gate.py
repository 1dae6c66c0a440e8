"""The start gate: the expressions of nvidia/cuda images on hosts of which it is known what the runtime does."""

from __future__ import annotations

import random
from itertools import product

import pytest

from cubake.facts import Facts
from cubake.resolve.gate import GateAnswer, GateError, GateHost, branches_of, evaluate, expression

BRANDS = (
    "geforce",
    "geforcertx",
    "nvidia",
    "nvidiartx",
    "quadro",
    "quadrortx",
    "tesla",
    "titan",
    "titanrtx",
    "unknown",
)
IMAGE_12_4_1 = expression("12.4", (470, 525, 535), BRANDS)
OK, UNDECIDED = GateAnswer(True, ""), GateAnswer(None, "")
SEED, ROUNDS = 20, 3000


def refused(text: str) -> GateAnswer:
    return GateAnswer(False, text)


def host(driver: str | None = None, cuda: str | None = None, arch: str | None = None, brands: str = "") -> GateHost:
    return GateHost(driver, cuda, arch, frozenset(brands.split()))


def ask(text: str, on: GateHost) -> GateAnswer:
    return evaluate({"NVIDIA_REQUIRE_CUDA": text}, on)


GEFORCE = "geforce geforcertx"

TABLE_12_4_1 = [
    # driver, its CUDA, brands it may have, what the runtime does
    ("535.104.05", "12.2", "geforce", OK),
    ("535.104.05", "12.2", GEFORCE, OK),  # either way; neither half of it is certain
    ("535.104.05", "12.2", "", UNDECIDED),
    ("535.104.05", "12.2", "grid", refused("cuda>=12.4")),
    ("535.104.05", "12.2", "tesla grid", UNDECIDED),
    ("535", "12.2", "tesla", OK),
    ("545.23.08", "12.3", "geforce", refused("cuda>=12.4")),
    ("545.23.08", "12.3", "", refused("cuda>=12.4")),  # on no brand is that branch let in
    ("536.40", "12.2", "geforce", refused("cuda>=12.4")),
    ("530.30.02", "12.1", "tesla", refused("cuda>=12.4")),
    ("525.147.05", "12.0", "nvidia", OK),
    ("470.82.01", "11.4", "geforce", OK),
    ("470.82.01", "11.4", "Tesla", OK),  # as the runtime writes it
    ("469.99", "11.4", "tesla", refused("cuda>=12.4")),
    ("550.54.15", "12.4", "tesla", OK),
    ("550.144.03", "12.4", "", OK),
    ("555.42.02", "12.5", "geforce", OK),
    ("580.65.06", "13.0", "", OK),
    (None, "12.4", "", OK),
    (None, "12.3", "", UNDECIDED),
    ("535.104.05", None, "geforce", OK),
    ("545.23.08", None, "geforce", UNDECIDED),
    (None, None, "", UNDECIDED),
]


@pytest.mark.parametrize(("driver", "cuda", "brands", "answer"), TABLE_12_4_1)
def test_image_12_4_1(driver: str | None, cuda: str | None, brands: str, answer: GateAnswer) -> None:
    assert ask(IMAGE_12_4_1, host(driver, cuda, "8.9", brands)) == answer


TABLE = [
    # spaces are OR, commas are AND
    ("cuda>=12 brand=tesla", host(cuda="12.0", brands="geforce"), OK),
    ("cuda>=12,brand=tesla", host(cuda="12.0", brands="geforce"), refused("cuda>=12,brand=tesla")),
    ("cuda>=12,brand=tesla cuda>=11,brand=geforce", host(cuda="11.8", brands="geforce"), OK),
    ("cuda>=12 cuda>=13,brand=tesla", host(cuda="11.8"), refused("cuda>=12")),
    ("  cuda>=12   cuda>=13 ", host(cuda="11.8"), refused("cuda>=12")),
    (",cuda>=12,", host(cuda="12.1"), OK),
    ("", host(), OK),
    (" ", host(), OK),
    # versions: number by number, missing numbers are 0
    ("cuda>=12.4", host(cuda="12.10"), OK),
    ("cuda>=12.10", host(cuda="12.4"), refused("cuda>=12.10")),
    ("cuda=12.4", host(cuda="12.4.0"), OK),
    ("cuda=12", host(cuda="12.4"), refused("cuda=12")),
    ("cuda>=12.4.1", host(cuda="12.4"), refused("cuda>=12.4.1")),
    ("driver=550.144.3", host(driver="550.144.03"), OK),
    ("driver>550.144.03", host(driver="550.144.3"), refused("driver>550.144.03")),
    ("driver>=535.54.03,driver<535.161", host(driver="535.104.05"), OK),
    ("driver<=535", host(driver="535.104.05"), refused("driver<=535")),
    ("driver!=535.104.05", host(driver="535.104.05"), refused("driver!=535.104.05")),
    ("arch>=8.0", host(arch="10.0"), OK),
    ("arch<9", host(arch="8.9"), OK),
    ("arch>9.0", host(arch="9.0"), refused("arch>9.0")),
    # names and brands in any case of letters
    ("CUDA>=12", host(cuda="12.4"), OK),
    ("brand=GeForce", host(brands="geforce"), OK),
    ("brand!=TESLA", host(brands="tesla"), refused("brand!=TESLA")),
    ("brand!=tesla", host(brands="geforce geforcertx"), OK),
    ("brand!=tesla", host(brands="tesla nvidia"), UNDECIDED),
    ("brand=tesla brand!=tesla", host(brands="tesla nvidia"), OK),
    # what is not known decides nothing, unless the rest does
    ("cuda>=12,arch>=9", host(cuda="11.8"), refused("cuda>=12,arch>=9")),
    ("cuda>=12,arch>=9", host(cuda="12.4"), UNDECIDED),
    ("cuda>=12 arch>=9", host(cuda="12.4"), OK),
    ("cuda>=12 arch>=9", host(cuda="11.8"), UNDECIDED),
]


@pytest.mark.parametrize(("text", "on", "answer"), TABLE)
def test_language(text: str, on: GateHost, answer: GateAnswer) -> None:
    assert ask(text, on) == answer


MALFORMED = [
    "cuda", "cuda>=", ">=12", "cuda=>12", "cuda==12", "cuda!12", "cuda>=twelve", "cuda>=12.x", "cuda>=.4",
    "cuda>=12>=3", "memory>=16", "brand>=tesla", "cuda >=12", "cuda>=12\tbrand=tesla", "cuda>=99 gpu=1", "cuda>=-1",
    "cuda>=\u0661\u0662", "csv-mounts=all", "cuda>=12..4",
]  # fmt: skip


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_expression_is_named(text: str) -> None:
    with pytest.raises(GateError, match=r"^NVIDIA_REQUIRE_CUDA: '"):
        ask(text, host("535.104.05", "12.2", "8.9", "geforce"))


def test_the_malformed_constraint_is_named_though_another_alternative_holds() -> None:
    with pytest.raises(GateError, match=r"'memory>=16'.* not 'memory'"):
        ask("cuda>=11 brand=tesla,memory>=16", host(cuda="12.2"))


def test_every_variable_must_hold() -> None:
    both = {"NVIDIA_REQUIRE_CUDA": "cuda>=12.4", "NVIDIA_REQUIRE_ARCH": "arch>=9.0 arch=8.9", "PATH": "arch>=99"}
    assert evaluate(both, host(cuda="12.4", arch="8.9")) == OK
    assert evaluate(both, host(cuda="12.4", arch="8.6")) == refused("arch>=9.0")
    assert evaluate(both, host(cuda="12.2", arch="8.9")) == refused("cuda>=12.4")
    assert evaluate(both, host(cuda="12.2")) == refused("cuda>=12.4")
    assert evaluate(both, host(cuda="12.4")) == UNDECIDED
    assert evaluate({}, host()) == OK


@pytest.mark.parametrize("value", ["true", "1", "TRUE", "True", "t", "T"])
def test_the_gate_can_be_switched_off(value: str) -> None:
    environment = {"NVIDIA_REQUIRE_CUDA": "cuda>=99 nonsense", "NVIDIA_DISABLE_REQUIRE": value}
    assert evaluate(environment, host(cuda="12.4")) == OK


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NVIDIA_DISABLE_REQUIRES", "true"),
        ("DISABLE_REQUIRE", "1"),
        *(("NVIDIA_DISABLE_REQUIRE", value) for value in ("", "0", "false", "yes", "on", "tRUE", " 1", "2")),
    ],
)
def test_other_switches_leave_it_on(name: str, value: str) -> None:
    assert evaluate({"NVIDIA_REQUIRE_CUDA": "cuda>=13.0", name: value}, host(cuda="12.4")) == refused("cuda>=13.0")


def test_a_jetpack_variable_is_no_requirement() -> None:
    assert evaluate({"NVIDIA_REQUIRE_JETPACK": "csv-mounts=all"}, host()) == OK


@pytest.mark.parametrize(
    ("version", "asked"),
    [("12.4.1", "cuda>=12.4"), ("8.0.61", "cuda>=8.0"), ("v11.8", "cuda>=11.8"), ("13", "cuda>=13.0")],
)
@pytest.mark.parametrize("required", [{}, {"NVIDIA_REQUIRE_CUDA": ""}], ids=["missing", "empty"])
def test_an_image_without_the_variable_asks_for_its_own_cuda(
    version: str, asked: str, required: dict[str, str]
) -> None:
    assert evaluate({"CUDA_VERSION": version, **required}, host(cuda="7.5")) == refused(asked)
    assert evaluate({"CUDA_VERSION": version, **required}, host(cuda="13.1")) == OK


def test_cuda_version_is_nothing_beside_the_variable() -> None:
    assert evaluate({"CUDA_VERSION": "13.0.1", "NVIDIA_REQUIRE_CUDA": "cuda>=12.4"}, host(cuda="12.4")) == OK
    with pytest.raises(GateError, match="CUDA_VERSION: 'latest'"):
        evaluate({"CUDA_VERSION": "latest"}, host())


def test_expression_is_written_branch_by_branch() -> None:
    assert expression("12.4", (470, 535), iter(("tesla", "unknown"))) == (
        "cuda>=12.4 brand=tesla,driver>=470,driver<471 brand=unknown,driver>=470,driver<471 "
        "brand=tesla,driver>=535,driver<536 brand=unknown,driver>=535,driver<536"
    )
    assert expression("13.0", (), BRANDS) == "cuda>=13.0"


@pytest.mark.parametrize(
    ("text", "branches"),
    [
        (IMAGE_12_4_1, (470, 525, 535)),
        ("brand=tesla,driver>=535,driver<536 driver<471,brand=tesla,driver>=470", (470, 535)),
        ("cuda>=12.4 driver>=550", ()),
        ("driver>=470,driver<480", ()),
        ("driver>=470 driver<471", ()),
        ("driver>470,driver<471", ()),
        ("driver>=470.57,driver<471", ()),
        ("", ()),
    ],
)
def test_branches_of(text: str, branches: tuple[int, ...]) -> None:
    assert branches_of(text) == branches


def test_branches_of_what_is_malformed() -> None:
    with pytest.raises(GateError, match=r"^'driver>'"):
        branches_of("driver>")


def test_the_gates_of_the_facts(facts: Facts) -> None:
    gates = [image.gate for image in facts.base_images.images.values() if image.gate]
    assert gates
    for gate in gates:
        text = expression(gate.cuda, gate.branches, gate.brands)
        assert branches_of(text) == (tuple(sorted(gate.branches)) if gate.brands else ())
        assert ask(text, host(cuda=gate.cuda)) == OK
        for branch, brand in product(gate.branches, gate.brands):
            assert ask(text, host(f"{branch}.99.01", "1.0", None, brand)) == OK
            assert ask(text, host(f"{branch}.99.01", "1.0", None, "nvs")) == refused(f"cuda>={gate.cuda}")


# Against another evaluator, which knows everything of its host and has tuples for versions.

ORDERS = {"=": {0}, "!=": {-1, 1}, "<": {-1}, "<=": {-1, 0}, ">": {1}, ">=": {0, 1}}


def plain(text: str, known: dict[str, str]) -> bool:
    return any(all(plain_constraint(part, known) for part in parts.split(",")) for parts in text.split())


def plain_constraint(text: str, known: dict[str, str]) -> bool:
    sign = next(sign for sign in ("!=", "<=", ">=", "<", ">", "=") if sign in text)
    name, value = text.split(sign)
    if name == "brand":
        return (known[name] == value) == (sign == "=")
    left, right = numbers(known[name]), numbers(value)
    return (left > right) - (left < right) in ORDERS[sign]


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in (*version.split("."), "0", "0", "0")[:3])


def some_constraint(dice: random.Random) -> str:
    name = dice.choice(["cuda", "driver", "arch", "brand"])
    if name == "brand":
        return f"brand{dice.choice(['=', '!='])}{dice.choice(['tesla', 'geforce', 'geforcertx'])}"
    return f"{name}{dice.choice(['=', '!=', '<', '<=', '>', '>='])}{some_version(dice)}"


def some_version(dice: random.Random) -> str:
    return ".".join(dice.choice(["0", "1", "2", "02", "10"]) for _ in range(dice.randint(1, 3)))


def some_expression(dice: random.Random) -> str:
    alternatives = [[some_constraint(dice) for _ in range(dice.randint(1, 3))] for _ in range(dice.randint(1, 3))]
    return " ".join(",".join(alternative) for alternative in alternatives)


def test_random_expressions_against_another_evaluator() -> None:
    dice = random.Random(SEED)
    seen: set[bool | None] = set()
    for _ in range(ROUNDS):
        text = some_expression(dice)
        known = {name: some_version(dice) for name in ("driver", "cuda", "arch")}
        brand = dice.choice(["tesla", "geforce", "geforcertx"])
        whole = ask(text, GateHost(**known, brands=frozenset({brand})))
        assert whole.ok is plain(text, known | {"brand": brand}), (text, known, brand)
        assert whole.unsatisfied == ("" if whole.ok else text.split()[0])
        seen.add(whole.ok)
        # Knowing less never turns the answer round.
        less = {name: value if dice.random() < 0.5 else None for name, value in known.items()}
        brands = frozenset({brand, "tesla"}) if dice.random() < 0.5 else frozenset[str]()
        part = ask(text, GateHost(**less, brands=brands)).ok
        assert part in (None, whole.ok), (text, less, brands)
        seen.add(part)
    assert seen == {True, False, None}
