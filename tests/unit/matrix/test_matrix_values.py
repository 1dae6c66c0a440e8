"""What each key may hold: tables of what is taken and what is not, so that a looser rule fails a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cubake.errors import InputError
from cubake.matrix import load_matrix

Refused = Callable[[str], list[str]]

ANY = "use 'any' for the newest that fits"
# kind: (matrix with the value at %s, what its message wants, values taken, values refused)
SHAPES: dict[str, tuple[str, str, list[str], list[str]]] = {
    "pytorch": (
        "images:\n  a: {pytorch: %s}\n",
        f"wants a version such as 2.6 or 2.6.1; {ANY}",
        ["2", "2.6", "2.6.1", "1.2.3.4.5", "any", "'2.20'"],
        ["2.6.x", "latest", "v2", "2.", ".5", "1.2.3.4.5.6", "Any", "2.6+cu124", "-1", "'2 '", "٢.٦", "1_0", "2..6"],
    ),
    "tensorflow": ("images:\n  a: {tensorflow: %s}\n", ANY, ["2.19", "any"], ["nightly", "2.*", "'=2'"]),
    "cudnn": ("images:\n  a: {cuda: any, cudnn: %s}\n", ANY, ["9", "9.1.0.70", "any"], ["9.x", "v9"]),
    "cuda": (
        "images:\n  a: {cuda: %s}\n",
        f"wants X.Y or X.Y.Z, such as 12.4; {ANY}",
        ["12.4", "12.4.1", "12.10", "any"],
        ["12", "12.4.1.0", "cu124", "latest", "12.x", "٢.٦"],
    ),
    "python": (
        "images:\n  a: {cuda: any, python: %s}\n",
        "wants X.Y, such as 3.12",
        ["3.10", "3.12", "3.9"],
        ["3", "any", "3.x", "3.12.4", "3.12.4.5", "py312", "3.13t"],
    ),
    "default python": ("defaults: {python: %s}\n", "wants X.Y, such as 3.12", ["3.10"], ["3", "any"]),
    "os": (
        "defaults: {os: %s}\n",
        "wants a distribution and its version, such as ubuntu22.04",
        ["ubuntu22.04", "debian12", "ubi9", "rockylinux9.4"],
        ["ubuntu", "Ubuntu22.04", "ubuntu-22.04", "ubuntu22.04.1", "22.04", "'ubuntu 22.04'", "ubuntu:22.04"],
    ),
    "axis os": ("images:\n  a: {cuda: any, os: %s}\n", "wants a distribution", ["ubuntu22.04"], ["x"]),
    "flavor": (
        "images:\n  a: {cuda: any, flavor: %s}\n",
        "wants 'base', 'runtime' or 'devel'",
        ["base", "runtime", "devel"],
        ["full", "Base", "develop"],
    ),
    "default flavor": ("defaults: {flavor: %s}\n", "wants 'base', 'runtime' or 'devel'", ["devel"], ["full"]),
    "platform": (
        "images:\n  a: {cuda: any, platform: %s}\n",
        "wants 'linux/amd64' or 'linux/arm64'",
        ["linux/amd64", "linux/arm64"],
        ["amd64", "linux/arm/v7", "windows/amd64"],
    ),
    "default platform": ("defaults: {platform: %s}\n", "wants 'linux/amd64'", ["linux/arm64"], ["arm64"]),
    "driver": (
        "drivers: [%s]\n",
        "wants a driver version such as 550.54 or 550.54.15",
        ["550", "535.183", "550.54.15"],
        ["55", "5500", "550.54.15.1", "r550", "any", "550."],
    ),
    "gpu": (
        "gpus: [%s]\n",
        "wants a compute capability such as sm_90",
        ["sm_75", "sm_90", "sm_120"],
        ["sm_9", "sm_1200", "sm_90a", "90", "compute_90", "SM_90", "A100"],
    ),
    "entry's name": (
        "images:\n  %s: {cuda: any}\n",
        "wants up to 41 of a-z, 0-9 and -, no - in front",
        ["torch", "a", "0a-b", "a" * 41],
        ["Torch", "-a", "a_b", "a.b", "a b", "a/b", "a" * 42, "'[key]'"],
    ),
    "profile's name": ("profiles:\n  %s: {env: {A: b}}\n", "wants up to 41", ["fast"], ["Fast", "-a", "a_b", "a" * 42]),
    "env name": (
        "profiles: {a: {env: {%s: b}}}\n",
        "wants the name of an environment variable",
        ["A", "_a1", "TF_X"],
        ["1A", "A-B", "A B", "A=B", "é", "'[key]'"],
    ),
    "env name that breaks the image": (
        "profiles: {a: {env: {%s: b}}}\n",
        "a profile may not set it, since ",
        ["MY_PATH", "LD_BIND_NOW", "PYTHONPATH"],
        ["PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONHOME"],
    ),
    "env value": ("profiles: {a: {env: {A: %s}}}\n", "wants one value", ["1", "':4096:8'", "''", "true"], ["[a]"]),
    "on_conflict": (
        "images:\n  a: {cuda: any, on_conflict: %s}\n",
        "wants 'skip' or 'fail'",
        ["skip", "fail"],
        ["stop", "true"],
    ),
    "requirement": (
        "images:\n  a: {cuda: any, pip: [%s]}\n",
        "not a requirement such as numpy<3: ",
        ["numpy<3", "numpy", "'a[b,c]>=1,<2; python_version < \"3.12\"'", "A.b_c==1.*"],
        ["numpy=3", "'two words'", "http://a", "./a.whl", "'numpy --pre'", "''"],
    ),
    "requirement as an option": (
        "images:\n  a: {cuda: any, pip: %s}\n",
        "options are not",
        [],
        ["-r x", "--pre", "-e ."],
    ),
    "requirement by URL": (
        "images:\n  a: {cuda: any, pip: %s}\n",
        "a URL is not allowed",
        [],
        ["a @ http://b/c.whl", "a @ file:///b", "a@git+https://b"],
    ),
    "index": (
        "build: {index_url: '%s'}\n",
        "wants a URL: http://, https:// or file://",
        ["http://a", "https://a.b:8080/simple/", "file:///srv/wheels", "https://[::1]/x?y=1#z"],
        ["ftp://a", "a.b/simple", "/srv", "http://", "http://a b", "https://a{b}", "javascript:x", "--pre"],
    ),
    "extra indexes": ("build: {extra_index_urls: ['%s']}\n", "wants a URL", ["http://a"], ["a", "--pre"]),
    "python mirror": ("build: {python_mirror: '%s'}\n", "wants a URL", ["file:///a"], ["a"]),
    "mirror": ("build: {mirrors: {apt: '%s'}}\n", "wants a URL", ["http://a"], ["a"]),
    "mirror's name": (
        "build: {mirrors: {%s: 'http://a'}}\n",
        "wants a name such as",
        ["apt", "a.b_C-1"],
        ["-a", "a b", "é"],
    ),
    "find_links": (
        "build: {find_links: '%s'}\n",
        "wants a path or a URL: http://, https:// or file://",
        ["wheels", "../wheels", "/srv/w", "~/w", "https://a/b.html", "file:///a"],
        ["-x", "a b", "ftp://a", "a{b}", ""],
    ),
    "ca_bundle": (
        "build: {ca_bundle: '%s'}\n",
        "wants a path",
        ["/etc/ssl/ca.crt", "ca.pem"],
        ["-x", "http://a", "a,b c"],
    ),
    "network": ("build: {network: '%s'}\n", "wants a network", ["host", "none", "container:a"], ["--x", "a b", "-"]),
    "registry mirror": (
        "build: {registry_mirror: '%s'}\n",
        "wants the host of a registry, such as mirror.gcr.io",
        ["mirror.gcr.io", "localhost:5000", "https://m.a/b/", "m.a/b-c"],
        ["ftp://a", "a b", "-a", "A.b", "a..b", "a:b"],
    ),
}
WHERE = {kind: text.count("\n", 0, text.index("%s")) + 3 for kind, (text, *_) in SHAPES.items()}


@pytest.mark.parametrize(("kind", "value"), [(k, v) for k, (_, _, taken, _) in SHAPES.items() for v in taken])
def test_taken(kind: str, value: str, refused: Refused) -> None:
    assert refused(SHAPES[kind][0] % value) == []


@pytest.mark.parametrize(("kind", "value"), [(k, v) for k, (*_, wrong) in SHAPES.items() for v in wrong])
def test_refused(kind: str, value: str, refused: Refused) -> None:
    text, wants, *_ = SHAPES[kind]
    column = text.split("\n")[WHERE[kind] - 3].index("%s") + 1
    if "'%s'" in text:
        column -= 1  # the value begins at its quote
    (line,) = refused(text % value)
    assert line.startswith(f"{WHERE[kind]}:{column}: ")
    assert wants in line


@pytest.mark.parametrize(
    ("repository", "good"),
    [
        ("acme/gpu", True),
        ("gpu", True),
        ("ghcr.io/acme/gpu", True),
        ("localhost:5000/gpu", True),
        ("a-b.example.com:443/x_y/z__a/b.c", True),
        ("acme/gpu:1", False),
        ("acme/gpu@sha256:00", False),
        ("Acme/gpu", False),
        ("acme//gpu", False),
        ("/acme", False),
        ("acme/", False),
        ("https://ghcr.io/a", False),
        ("a..b/c", False),
        ("a/-b", False),
        ("a b", False),
        ("-a", False),
        ("localhost:5000", False),
    ],
)
def test_repository(repository: str, good: bool) -> None:
    text = f"version: 1\nrepository: {repository}\nimages: {{a: {{cuda: any}}}}\n"
    if good:
        assert load_matrix(Path("m"), text).repository == repository
        return
    with pytest.raises(InputError) as caught:
        load_matrix(Path("m"), text)
    wants = "wants a name in lower case without a tag, such as ghcr.io/acme/gpu"
    assert caught.value.message == f"m:2:13: repository is '{repository}': {wants}"


@pytest.mark.parametrize("version", ["2", "1.0", "01", "one"])
def test_format(version: str) -> None:
    text = f"version: {version}\nrepository: a\nimages: {{a: {{cuda: any}}}}\n"
    with pytest.raises(InputError) as caught:
        load_matrix(Path("m"), text)
    assert caught.value.message == f"m:1:10: version is '{version}': wants 1, the only format there is"
