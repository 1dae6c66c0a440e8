"""The shapes that texts in matrix.yaml may have. Each is one annotation that both checks the text and writes its part
of the JSON Schema, so that editors refuse what cubake refuses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as ParsedRequirement
from pydantic import AfterValidator, BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from cubake.matrix.problems import printable


def refuse(kind: str, why: str) -> PydanticCustomError:
    return PydanticCustomError(kind, "{why}", {"why": why})


@dataclass(frozen=True)
class Shape:
    """Text that matches the whole pattern; `unquoted` where editors should not mind a bare 3.10."""

    pattern: str
    wants: str
    unquoted: bool = False

    def check(self, text: str) -> str:
        if not re.fullmatch(self.pattern, text):
            raise refuse("shape", self.wants)
        return text

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        types = ["string", "number"] if self.unquoted else "string"
        return {"type": types, "pattern": f"^(?:{self.pattern})$"}


class _OneOrList:
    """JSON Schema of Many: one value, or a list of them."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        many = _LIST.__get_pydantic_json_schema__(core, handler)
        return {"anyOf": [many["items"], many]}


class _List:
    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "minItems": 1}  # not uniqueItems: an editor takes 12.1 and 12.10 for one number


_LIST = _List()


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _requirement(text: str) -> str:
    if text.startswith("-"):
        raise refuse("shape", "options are not allowed, only requirements such as numpy<3")
    try:
        parsed = ParsedRequirement(text)
    except InvalidRequirement as error:
        raise refuse("shape", f"not a requirement such as numpy<3: {printable(str(error).splitlines()[0])}") from None
    if parsed.url:
        raise refuse("shape", "a URL is not allowed: name a version, and the index under build:")
    return text


_BREAKING = {
    "PATH": "the image's own Python would not be the first on it",
    "LD_PRELOAD": "the loader would put another library before the image's own",
    "LD_LIBRARY_PATH": "the loader would take other CUDA libraries than the image's own",
    "PYTHONHOME": "Python would not find the packages of the image",
}


def _env_name(name: str) -> str:
    if name in _BREAKING:
        raise refuse("shape", f"a profile may not set it, since {_BREAKING[name]}")
    return name


T = TypeVar("T")
# That a list is not empty and repeats nothing is checked with its positions in yamltree.
Listed = Annotated[tuple[T, ...], _LIST]
Many = Annotated[tuple[T, ...], BeforeValidator(_as_list), _OneOrList()]

_ANY = "use 'any' for the newest that fits"
_N = "[0-9]{1,6}"  # no version has more, and Python refuses to read thousands of digits
_XY = rf"{_N}\.{_N}(?:\.{_N})?"
_PART = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"[a-z0-9]+(?:(?:[.]|-+)[a-z0-9]+)*(?::[0-9]{1,5})?"
_URL_TEXT = r"[A-Za-z0-9._~:/?#@!()*+,=%\[\]-]+"
_URL = f"(?:https?|file)://{_URL_TEXT}"
_FILE = r"[A-Za-z0-9._~/+@%=,][A-Za-z0-9._~/+@%=,-]*"

Format: TypeAlias = Annotated[str, Shape("1", "wants 1, the only format there is", unquoted=True)]
Name: TypeAlias = Annotated[str, Shape("[a-z0-9][a-z0-9-]{0,40}", "wants up to 41 of a-z, 0-9 and -, no - in front")]
Words: TypeAlias = Annotated[str, Shape(r"[\s\S]*\S[\s\S]*", "wants words")]
Repository: TypeAlias = Annotated[
    str,
    Shape(f"(?:{_HOST}/)?{_PART}(?:/{_PART})*", "wants a name in lower case without a tag, such as ghcr.io/acme/gpu"),
]
Driver: TypeAlias = Annotated[
    str, Shape(r"[0-9]{3}(?:\.[0-9]+){0,2}", "wants a driver version such as 550.54 or 550.54.15", unquoted=True)
]
Gpu: TypeAlias = Annotated[str, Shape("sm_[0-9]{2,3}", "wants a compute capability such as sm_90")]
Version: TypeAlias = Annotated[
    str, Shape(rf"{_N}(?:\.{_N}){{0,4}}|any", f"wants a version such as 2.6 or 2.6.1; {_ANY}", unquoted=True)
]
Cuda: TypeAlias = Annotated[str, Shape(f"{_XY}|any", f"wants X.Y or X.Y.Z, such as 12.4; {_ANY}", unquoted=True)]
Python: TypeAlias = Annotated[str, Shape(rf"{_N}\.{_N}", "wants X.Y, such as 3.12", unquoted=True)]
Os: TypeAlias = Annotated[
    str, Shape(r"[a-z]+[0-9]+(?:\.[0-9]+)?", "wants a distribution and its version, such as ubuntu22.04")
]
Requirement: TypeAlias = Annotated[str, AfterValidator(_requirement)]
EnvName: TypeAlias = Annotated[
    str, Shape("[A-Za-z_][A-Za-z0-9_]*", "wants the name of an environment variable"), AfterValidator(_env_name)
]
EnvValue: TypeAlias = Annotated[str, Shape(r"[\s\S]*", "wants text", unquoted=True)]
Url: TypeAlias = Annotated[str, Shape(_URL, "wants a URL: http://, https:// or file://")]
UrlOrFile: TypeAlias = Annotated[str, Shape(f"{_URL}|{_FILE}", "wants a path or a URL: http://, https:// or file://")]
File: TypeAlias = Annotated[str, Shape(_FILE, "wants a path")]
RegistryMirror: TypeAlias = Annotated[
    str, Shape(f"(?:https?://)?{_HOST}(?:/{_PART})*/?", "wants the host of a registry, such as mirror.gcr.io")
]
Network: TypeAlias = Annotated[str, Shape("[A-Za-z0-9][A-Za-z0-9_.:-]*", "wants a network such as host or none")]
MirrorName: TypeAlias = Annotated[str, Shape("[A-Za-z0-9][A-Za-z0-9._-]*", "wants a name such as pytorch")]
