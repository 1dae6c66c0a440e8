"""Where the facts come from: the facts files, derived anew from the package index, PyTorch's index and the registry."""

from cubake.refresh.make import refresh
from cubake.refresh.show import document, text
from cubake.refresh.types import Change, FileResult, Missing, Refreshed, Sources

__all__ = ["Change", "FileResult", "Missing", "Refreshed", "Sources", "document", "refresh", "text"]
