"""What redis-py sees of a server: prints one JSON object."""

import json
import os
import sys
import uuid

import redis

settings = json.loads(os.environ["RANDFLAKE_SERVER"])
protocol = int(sys.argv[1])


def connect(token):
    return redis.Redis(port=settings["port"], password=token, protocol=protocol, decode_responses=True)


client = connect(settings["token"])
ids = []
# The default sends MULTI and EXEC.
for pipeline in [client.pipeline(), client.pipeline(transaction=False)]:
    for _ in range(500):
        pipeline.incr("default")
    ids += [str(number) for number in pipeline.execute()]
ids += [client.get("default") for _ in range(500)]
ids += client.mget(["default"] * 500)
batch = client.execute_command("ID.NEXT", "default", "COUNT", 1000)
lease = client.execute_command("LEASE.ACQUIRE", "default", "HOLDER", "redis-py", "EX", 30)
renewed = json.loads(client.execute_command("LEASE.RENEW", lease, "REQUEST", str(uuid.uuid4())))
client.execute_command("LEASE.RELEASE", json.dumps(renewed), "REQUEST", str(uuid.uuid4()))
fields = json.loads(client.execute_command("ID.INSPECT", "default", batch[0]))
fields_of_int = json.loads(client.execute_command("ID.INSPECT", "default", ids[0], "FORMAT", "int"))
try:
    client.incr("other")
    refused = None
except redis.exceptions.NoPermissionError:
    refused = "NOPERM"
try:
    connect("guess").ping()
    unknown = None
except redis.exceptions.AuthenticationError:
    unknown = "WRONGPASS"
print(
    json.dumps(
        {
            "ids": ids,
            "batch": len(set(batch)),
            "node": fields_of_int["node"],
            "inspected_node": fields["node"],
            "renewed": renewed["leases"][0]["node"] == json.loads(lease)["leases"][0]["node"],
            "refused": refused,
            "unknown": unknown,
        }
    )
)
