"""Room 3: which stacks work, by rules over facts, with reasons. ``solve`` is its door."""

from cubake.resolve.solve import solve
from cubake.resolve.types import Base, Evidence, RefusedCell, Solved, Stack

__all__ = ["Base", "Evidence", "RefusedCell", "Solved", "Stack", "solve"]
