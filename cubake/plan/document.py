"""The plan as the JSON document that other programs read (design section 5): fields are added, never renamed."""

from __future__ import annotations

from typing import Any

from cubake.plan.make import covered, served
from cubake.plan.types import Image, Plan
from cubake.resolve import RefusedCell
from cubake.resolve.explain import as_json, stack_document


def image_document(image: Image) -> dict[str, Any]:
    stack = image.stack
    return {
        "name": image.name,
        "tag": image.tag,
        "stack": stack_document(stack),
        "base": stack.base.reference if stack.base else None,
        "locked": image.locked,
        "layers": [
            {
                "title": layer.title,
                "packages": [f"{package.name}=={package.version}" for package in layer.packages],
                "bytes": layer.bytes,
            }
            for layer in image.layers
        ],
        "driver": {"library_floor": image.floors.library, "ptx_floor": image.floors.ptx},
        "arch": {"sass": list(image.sass), "ptx": list(image.ptx)}
        | {"frameworks": {code.framework: {"sass": list(code.sass), "ptx": list(code.ptx)} for code in image.codes}},
        "because": [as_json(one) for one in image.because],
        "checks": list(image.checks),
    }


def refused_document(refused: RefusedCell) -> dict[str, Any]:
    return {
        "cell": str(refused.cell),
        "line": refused.cell.position.line,
        "position": str(refused.cell.position),
        "because": [as_json(one) for one in refused.because],
        "nearest": list(refused.nearest),
    }


def plan_document(plan: Plan) -> dict[str, Any]:
    return {
        "images": [image_document(image) for image in plan.images],
        "fleet": {
            "drivers": served(plan.images, plan.matrix.drivers),
            "gpus": covered(plan.images, plan.matrix.gpus),
        },
        "refused": [refused_document(refused) for refused in plan.refused],
        "excluded": [
            {"cell": str(cell), "reason": exclusion.reason, "position": str(exclusion.position)}
            for cell, exclusion in plan.matrix.excluded
        ],
    }
