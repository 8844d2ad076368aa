"""Ids from `randflake serve` with redis-py: one at a time, in batches, and as text."""

import os

import redis

server = redis.Redis(
    host=os.environ.get("RANDFLAKE_HOST", "127.0.0.1"),
    port=int(os.environ.get("RANDFLAKE_RESP_PORT", "6380")),
    password=os.environ.get("RANDFLAKE_TOKEN"),
    # ssl=True, ssl_ca_certs="ca.pem",
)
NAMESPACE = os.environ.get("RANDFLAKE_NAMESPACE", "default")

# One id, as a signed 64-bit integer, which is what a bigint column takes.
print(server.incr(NAMESPACE))

# A thousand in one request: as text, as in URLs, unless FORMAT says otherwise.
for text in server.execute_command("ID.NEXT", NAMESPACE, "COUNT", 1000):
    print(text.decode())
