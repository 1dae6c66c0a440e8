"""Room 5: Dockerfiles and plan.json from templates, and whether the committed ones still agree."""

from cubake.render.render import Drift, Templates, drift, rendered

__all__ = ["Drift", "Templates", "drift", "rendered"]
