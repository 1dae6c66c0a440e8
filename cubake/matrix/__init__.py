"""matrix.yaml -> Matrix, every value with its line and column."""

from cubake.matrix.load import load_matrix
from cubake.matrix.types import AXES, BuildOptions, Cell, Exclusion, Matrix, Profile

__all__ = ["AXES", "BuildOptions", "Cell", "Exclusion", "Matrix", "Profile", "load_matrix"]
