"""Room 4: images with names, tags, layers, floors, checks and order. ``make_plan`` is its door."""

from cubake.plan.lock import Lock, LockInput, Package, lock_text, parse_lock
from cubake.plan.make import make_plan
from cubake.plan.types import Image, Layer, Plan

__all__ = ["Image", "Layer", "Lock", "LockInput", "Package", "Plan", "lock_text", "make_plan", "parse_lock"]
