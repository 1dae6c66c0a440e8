"""Installed distributions by normalized name, as JSON."""

import importlib.metadata
import json
import re

print(
    json.dumps(
        {re.sub(r"[-_.]+", "-", d.metadata["Name"]).lower(): d.version for d in importlib.metadata.distributions()}
    )
)
