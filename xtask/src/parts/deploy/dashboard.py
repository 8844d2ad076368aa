"""A dashboard has no field that Grafana's types lack. Its expressions are written as rules, for promtool."""

import json
import sys

from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

# What Grafana puts in their place.
VARIABLES = {"$__rate_interval": "5m", "$__range": "6h", "$namespace": ".*"}


def lost(given, kept, path="dashboard"):
    """Where what was given is not kept."""
    if isinstance(given, dict) and isinstance(kept, dict):
        for key, value in given.items():
            if key in kept:
                yield from lost(value, kept[key], f"{path}.{key}")
            elif value not in (None, [], {}):
                yield f"{path}.{key}"
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for place, (one, other) in enumerate(zip(given, kept)):
            yield from lost(one, other, f"{path}[{place}]")
    elif given != kept:
        yield path


def expressions(panels):
    """What is asked of Prometheus, by the panels' titles."""
    for panel in panels:
        for target in panel["targets"]:
            text = target["expr"]
            for name, value in VARIABLES.items():
                text = text.replace(name, value)
            yield text


plugins.register_default_plugins()
with open(sys.argv[1], encoding="utf-8") as file:
    dashboard = json.load(file)
known = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
unknown = list(lost(dashboard, known))
if unknown:
    sys.exit(f"Grafana does not know: {', '.join(unknown)}")
rules = [
    {"record": f"dashboard:expression:{place}", "expr": text}
    for place, text in enumerate(expressions(dashboard["panels"]))
]
if not rules:
    sys.exit("it shows nothing")
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
