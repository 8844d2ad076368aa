"""Measures the published Python package: figures as the peers program writes them, one object a line."""

import importlib.metadata
import json
import secrets
import statistics
import time

from randflake import v2

ROUNDS = 31
# Some milliseconds a round, and far fewer ids than a second has.
IDS = 200

now = int(time.time())
lease = v2.Lease(42, now, now + 3600)
generator = v2.Generator(v2.Config(lease, secrets.token_bytes(16)))

figures = []
for _ in range(ROUNDS):
    begin = time.perf_counter_ns()
    for _ in range(IDS):
        generator.generate()
    figures.append((time.perf_counter_ns() - begin) / IDS)

print(
    json.dumps(
        {
            "group": "one_thread",
            "case": "generate",
            "who": "Python randflake " + importlib.metadata.version("randflake"),
            "ns_median": statistics.median(figures),
            "ns_min": min(figures),
            "rounds": ROUNDS,
            "bound": "cost",
        }
    )
)
