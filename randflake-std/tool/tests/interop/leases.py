"""Leases node ids through the tool, and issues ids with the published package.

Arguments: the tool, its store's URL, the secret in hex, and how many ids to issue before and after a renewal.
Prints an object with the leases and the ids.
"""

import json
import subprocess
import sys
import uuid

from randflake import v2

tool, store, secret, count = sys.argv[1:]


def run(*arguments, stdin=None):
    command = [tool, "lease", *arguments, "--json", "--store", store]
    return json.loads(subprocess.run(command, input=stdin, check=True, stdout=subprocess.PIPE).stdout)


def package_lease(lease):
    # Both are half-open, and count in seconds.
    return v2.Lease(lease["node"], lease["start_unix_ms"] // 1000, lease["end_unix_ms"] // 1000)


def issue(generators):
    return [generator.generate() for _ in range(int(count)) for generator in generators]


taken = run("acquire", "-n", "2", "--ttl", "30s", "--holder", "python")
generators = [
    v2.Generator(v2.Config(package_lease(lease), bytes.fromhex(secret))) for lease in taken["leases"]
]
ids = issue(generators)
renewed = run("renew", "--request", str(uuid.uuid4()), "--ttl", "60s", stdin=json.dumps(taken).encode())
for generator, lease in zip(generators, renewed["leases"]):
    generator.extend_lease(package_lease(lease))
ids += issue(generators)
# It issues no more from here on.
release = [tool, "lease", "release", "--grant", "-", "--request", str(uuid.uuid4()), "--store", store]
subprocess.run(release, input=json.dumps(renewed).encode(), check=True, stdout=subprocess.DEVNULL)
print(json.dumps({"taken": taken, "renewed": renewed, "ids": ids}))
