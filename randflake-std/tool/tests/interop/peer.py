"""Answers requests with the published package: one JSON object a line, in and out."""

import json
import sys

from randflake import v2
from randflake._core import decode_string


def generator(request, timestamp, node_id):
    lease = v2.Lease(node_id, timestamp, timestamp + 1)
    secret = bytes.fromhex(request["secret"])
    return v2.Generator(v2.Config(lease, secret, lambda: timestamp))


def inspect(request):
    number = v2.decode_string(request["text"])
    parts = generator(request, 1730000000, 0).inspect(number)
    return {
        "id": number,
        "text": v2.encode_string(number),
        "timestamp": parts.timestamp,
        "node_id": parts.node_id,
        "sequence": parts.sequence,
    }


def generate(request):
    issuer = generator(request, request["timestamp"], request["node_id"])
    # Two calls of the package, the first as if all lower sequences were issued before.
    core = issuer._Generator__core
    core._timestamp = request["timestamp"]
    core._next_sequence = request["sequence"]
    ids = [issuer.generate(), issuer.generate()]
    return {"ids": ids, "texts": [v2.encode_string(number) for number in ids]}


def decode(request):
    def attempt(strict):
        try:
            return decode_string(request["text"], strict=strict)
        except v2.ErrInvalidID:
            return None

    return {"strict": attempt(True), "lenient": attempt(False)}


OPERATIONS = {"inspect": inspect, "generate": generate, "decode": decode}

for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(OPERATIONS[request["operation"]](request)))
