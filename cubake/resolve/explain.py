"""All wording of the resolver: what each rule says when it holds and when it does not."""

from __future__ import annotations

from cubake.resolve.types import Evidence

# rule: (it holds, it does not). Fields come from the evidence.
SENTENCES: dict[str, tuple[str, str]] = {
    "R-000": ("", "{what} {want} is not a release that cubake knows; known: {near}"),
    "R-001": ("", "{os} is not a distribution that cubake knows; known: {known}"),
    "R-002": (
        "{framework} is built with CUDA {cuda}",
        "{framework} has no CUDA {asked} build for {platform}; it is published for CUDA {builds} (default {default})",
    ),
    "R-003": (
        "{framework} pins cuDNN {cudnn}, so that is the one in the image",
        "{framework} pins cuDNN {cudnn}; cuDNN {asked} beside it would not be the one that is loaded",
    ),
    "R-004": (
        "{framework} has a wheel for Python {python}",
        "{framework} has no wheel for Python {python}; it has {has}",
    ),
    "R-005": (
        "{framework} needs glibc {needs}; {os} has {has}",
        "{framework} needs glibc {needs}; {os} has only {has}",
    ),
    "R-006": (
        "starts from {base}",
        "there is no {flavor} base of CUDA {cuda} for {os}: {why}; toolkits that have one: {others}",
    ),
    "R-007": (
        "{base} carries no cuDNN, so that of {framework} ({cudnn}) is the only one",
        "{base} carries a cuDNN beside that of {framework} ({cudnn})",
    ),
    "R-008": (
        "nvcc of CUDA {toolkit} compiles for {framework}, which is built with CUDA {cuda}",
        "nvcc of CUDA {toolkit} does not match {framework}, which is built with CUDA {cuda}",
    ),
    "R-009": (
        "torch {torch} and tensorflow {tensorflow} agree on one set of CUDA libraries with cuDNN {cudnn}",
        "torch {torch} and tensorflow {tensorflow} pin different CUDA libraries: {clash}",
    ),
    "R-011": ("", "{framework} is a CPU build on {platform}"),
    "R-012": ("", "{framework} brings no CUDA libraries: its package names none"),
    "R-010": (
        "{package} {version} belongs to torch {torch}",
        "{package} {version} does not belong to torch {torch}; these do: {fits}",
    ),
}


def sentence(evidence: Evidence) -> str:
    """One finding as one sentence, without its rule and source."""
    return SENTENCES[evidence.rule][0 if evidence.ok else 1].format(**dict(evidence.values))


def as_json(evidence: Evidence) -> dict[str, str]:
    """The document form: {"rule", "statement", "fact", "source"}."""
    return {
        "rule": evidence.rule,
        "statement": sentence(evidence),
        "fact": evidence.fact,
        "source": evidence.source,
    }
