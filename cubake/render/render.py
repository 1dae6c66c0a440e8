"""Room 5's door: a plan and the templates give the files under ``images/``; drift names what no longer agrees."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError

from cubake.errors import InputError
from cubake.facts import Facts
from cubake.plan import Image, Plan
from cubake.plan.document import image_document
from cubake.render.context import BaseContext, image_context

_ROOT = Path(__file__).resolve().parent.parent
# A wheel carries the templates inside the package, a checkout beside it.
TEMPLATES = next(path for path in (_ROOT / "templates", _ROOT.parent / "templates") if path.is_dir())


@dataclass(frozen=True)
class Drift:
    """A rendered file that differs from what the matrix, the facts, the locks and the templates say now."""

    path: str
    why: str


class Templates:
    """The Jinja environment, made once; every undefined name is an error."""

    def __init__(self, folder: Path = TEMPLATES) -> None:
        self.folder = folder
        self._environment = Environment(
            loader=FileSystemLoader(folder),
            undefined=StrictUndefined,
            trim_blocks=False,
            keep_trailing_newline=True,
            autoescape=False,
        )
        self._environment.filters["quoted"] = quoted

    def dockerfile(self, image: Image, facts: Facts, matrix: str) -> str:
        return self._render("Dockerfile.j2", asdict(image_context(image, facts, matrix)))

    def base(self, context: BaseContext) -> str:
        return self._render("base.Dockerfile.j2", asdict(context))

    def layout(self) -> str:
        return (self.folder / "layout.sh").read_text(encoding="utf-8")

    def _render(self, name: str, context: dict[str, object]) -> str:
        try:
            return self._environment.get_template(name).render(context)
        except TemplateError as error:
            line = getattr(error, "lineno", None)
            raise InputError(f"templates/{name}{f':{line}' if line else ''}: {error.message}") from error


def quoted(value: str) -> str:
    """A value as one Dockerfile word: nothing in it is expanded or ends it. ValueError where it is not one line."""
    if not value.isprintable():
        raise ValueError(f"{value!r} would be more than one line")
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$") + '"'


def rendered(plan: Plan, facts: Facts, matrix: str, templates: Templates) -> dict[str, str]:
    """The text of every file, by its path under ``images/``. Locks are made by ``lock`` and not rewritten here."""
    texts = {}
    for image in plan.images:
        if image.locked:
            texts[f"{image.name}/Dockerfile"] = templates.dockerfile(image, facts, matrix)
            texts[f"{image.name}/plan.json"] = plan_text(image, matrix)
    return texts


def plan_text(image: Image, matrix: str) -> str:
    return json.dumps({"matrix": matrix} | image_document(image), indent=1, ensure_ascii=False) + "\n"


def drift(wanted: Mapping[str, str], found: Mapping[str, str], matrix: str) -> list[Drift]:
    """What differs, by path. A folder whose plan.json names another matrix belongs to that one."""
    result = []
    for path, text in wanted.items():
        if path not in found:
            result.append(Drift(path, "is missing"))
        elif found[path] != text:
            result.append(Drift(path, f"line {_first_difference(text, found[path])} differs"))
    for path in found.keys() - wanted.keys():
        if path.endswith("plan.json") and owner(found[path]) == matrix:
            result.append(Drift(path, "belongs to no image of the matrix"))
    return sorted(result, key=lambda one: one.path)


def owner(plan_json: str) -> str | None:
    try:
        return str(json.loads(plan_json)["matrix"])
    except (ValueError, KeyError, TypeError):
        return None


def _first_difference(wanted: str, found: str) -> int:
    left, right = wanted.splitlines(), found.splitlines()
    same = (number for number, pair in enumerate(zip(left, right, strict=False), 1) if pair[0] != pair[1])
    return next(same, min(len(left), len(right)) + 1)
