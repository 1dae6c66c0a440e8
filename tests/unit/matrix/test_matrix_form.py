"""Which keys there are, which must be there, and what kind of thing each holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cubake.errors import InputError
from cubake.matrix import load_matrix

Refused = Callable[[str], list[str]]

FORM = {
    "unknown key, near": (
        "images:\n  torch:\n    pytroch: '2.6'\n",
        ["5:5: unknown key 'pytroch' in images.torch: did you mean 'pytorch'?"],
    ),
    "unknown key, far": (
        "images:\n  a: {cuda: any, zzz: 1}\n",
        [
            "4:18: unknown key 'zzz' in images.a: valid here: pytorch, tensorflow, cuda, cudnn, python, os, flavor, "
            "profile, platform, pip, description, on_conflict"
        ],
    ),
    "unknown key at the top": ("image: {}\n", ["3:1: unknown key 'image' in the file: did you mean 'images'?"]),
    "unknown default": (
        "defaults: {pyhton: 3.12}\n",
        ["3:12: unknown key 'pyhton' in defaults: did you mean 'python'?"],
    ),
    "default that is none": (
        "defaults: {cuda: '12.4'}\n",
        ["3:12: unknown key 'cuda' in defaults: valid here: os, flavor, profile, platform, python"],
    ),
    "unknown key of an exclusion": (
        "exclude: [{cuda: '11.8', raeson: no}]\n",
        [
            "3:11: 'reason' is missing in exclude[0]",
            "3:26: unknown key 'raeson' in exclude[0]: did you mean 'reason'?",
        ],
    ),
    "unknown key of a profile": (
        "profiles: {a: {environ: {}}}\n",
        ["3:16: unknown key 'environ' in profiles.a: did you mean 'env'?"],
    ),
    "unknown key of build": (
        "build: {indexurl: 'http://a'}\n",
        ["3:9: unknown key 'indexurl' in build: did you mean 'index_url'?"],
    ),
    "under an unknown key nothing is judged": (
        "images:\n  a: {cuda: any, pyp: ['numpy<3', '$']}\n",
        ["4:18: unknown key 'pyp' in images.a: did you mean 'pip'?"],
    ),
    "no stack": ("images:\n  a: {os: debian12}\n", ["4:3: images.a wants at least one of pytorch, tensorflow, cuda"]),
    "cudnn is no stack": (
        "images:\n  a:\n    cudnn: any\n",
        ["4:3: images.a wants at least one of pytorch, tensorflow, cuda"],
    ),
    "no images": ("images: {}\n", ["3:1: images is empty: wants at least one entry"]),
    "exclusion without axis": (
        "exclude: [{reason: no}]\n",
        [
            "3:11: exclude[0] wants at least one axis: pytorch, tensorflow, cuda, cudnn, python, os, flavor, profile, "
            "platform"
        ],
    ),
    "exclusion without reason": ("exclude:\n  - cuda: '11.8'\n", ["4:5: 'reason' is missing in exclude[0]"]),
    "exclusion with empty reason": (
        "exclude: [{cuda: '11.8', reason: ' '}]\n",
        ["3:34: exclude[0].reason is ' ': wants words"],
    ),
    "drivers is no list": ("drivers: '550'\n", ["3:10: drivers wants a list, not text"]),
    "gpus is no list": ("gpus: sm_90\n", ["3:7: gpus wants a list, not text"]),
    "exclude is no list": ("exclude: {cuda: '11.8'}\n", ["3:1: exclude wants a list, not keys and values"]),
    "extra_index_urls is no list": (
        "build: {extra_index_urls: 'http://a'}\n",
        ["3:27: build.extra_index_urls wants a list, not text"],
    ),
    "images is a list": ("images: [a]\n", ["3:9: images wants keys and values, not a list"]),
    "entry is text": ("images: {a: b}\n", ["3:13: images.a wants keys and values, not text"]),
    "axis is a mapping": (
        "images:\n  a: {cuda: {b: c}}\n",
        ["4:7: images.a.cuda wants a list, not keys and values"],
    ),
    "list in a list": ("images:\n  a: {cuda: [[b]]}\n", ["4:14: images.a.cuda[0] wants one value, not a list"]),
    "default is a list": ("defaults: {os: [debian12]}\n", ["3:16: defaults.os wants one value, not a list"]),
    "default flavor is a list": (
        "defaults: {flavor: [base]}\n",
        ["3:20: defaults.flavor is a list: wants 'base', 'runtime' or 'devel'"],
    ),
    "mirrors is a list": ("build: {mirrors: [a]}\n", ["3:18: build.mirrors wants keys and values, not a list"]),
    "description is a list": (
        "images:\n  a: {cuda: any, description: [b]}\n",
        ["4:31: images.a.description wants one value, not a list"],
    ),
    "profile nobody defined": (
        "defaults: {profile: prd}\n",
        ["3:21: defaults.profile is 'prd': no such profile: did you mean 'prod'?"],
    ),
    "profile nobody defined, in an entry": (
        "images:\n  a: {cuda: any, profile: zzz}\n",
        ["4:27: images.a.profile is 'zzz': no such profile: valid here: dev, prod, test"],
    ),
    "profile nobody defined, in lists": (
        "images:\n  a: {cuda: any, profile: [prod, fast]}\nexclude:\n  - {profile: [slow], reason: no}\n"
        "profiles: {quick: {}}\n",
        [
            "4:34: images.a.profile[1] is 'fast': no such profile: valid here: dev, prod, test, quick",
            "6:16: exclude[0].profile[0] is 'slow': no such profile: valid here: dev, prod, test, quick",
        ],
    ),
}


@pytest.mark.parametrize(("text", "lines"), FORM.values(), ids=FORM)
def test_form_is_refused_where_it_stands(text: str, lines: list[str], refused: Refused) -> None:
    assert refused(text) == lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("repository: a\nimages: {a: {cuda: any}}\n", "m:1:1: 'version' is missing in the file"),
        ("# c\nversion: 1\nimages: {a: {cuda: any}}\n", "m:2:1: 'repository' is missing in the file"),
        ("version: 1\nrepository: a\n", "m:1:1: 'images' is missing in the file"),
        ("hello\n", "m:1:1: the file wants keys and values, not text"),
        ("- a\n", "m:1:1: the file wants keys and values, not a list"),
    ],
)
def test_what_must_be_there(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_matrix(Path("m"), text)
    assert caught.value.message == message
    assert caught.value.exit_code == 2


def test_a_profile_of_the_file_may_be_used(refused: Refused) -> None:
    assert refused("defaults: {profile: quick}\nprofiles: {quick: {}}\n") == []


def test_an_entry_called_profile_is_no_profile(refused: Refused) -> None:
    assert refused("images:\n  profile: {cuda: any, profile: prod}\n") == []


def test_all_errors_are_told_at_once_in_the_order_of_the_file(refused: Refused) -> None:
    text = (
        "build: {network: '--x', ca_bundle: 'a`b'}\n"
        "images:\n"
        "  torch: {pytroch: 2.5, cuda: [12.x, 12.x], profile: zzz, cuda: 12.4}\n"
        "gpus: []\n"
    )
    lines = refused(text)
    assert [line.split(": ")[0] for line in lines] == ["3:18", "3:36", "5:11", "5:32", "5:38", "5:54", "5:59", "6:7"]
    assert [line for line in lines if "5:38" in line] == ["5:38: images.torch.cuda[1] repeats a value: first on line 5"]


def test_long_values_are_cut(refused: Refused) -> None:
    (line,) = refused(f"images:\n  a: {{cuda: {'x' * 500}}}\n")
    assert line.startswith(f"4:13: images.a.cuda is '{'x' * 57}...': wants")
