"""What packages of PyPI make of ids, beside Python's own UUIDs: one JSON object a line, in and out."""

import datetime
import json
import sys
import uuid

from snowflake_id_toolkit.instagram import InstagramSnowflakeID
from snowflake_id_toolkit.twitter import TwitterSnowflakeID
from sonyflake import Sonyflake


def of_toolkit(kind, request):
    own = kind(int(request["id"]))
    return [own.timestamp_ms(epoch=request["epoch_ms"]), own.node_id(), own.sequence()]


def sonyflake(request):
    start = datetime.datetime.fromtimestamp(request["epoch_ms"] / 1000, datetime.timezone.utc)
    package = Sonyflake(start_time=start, machine_id=0)
    time, sequence, machine_id = package.decompose(int(request["id"]))
    # Both ways. The package counts in floating point, which a time at the border of two units does not survive.
    then = start + datetime.timedelta(milliseconds=10 * time + 5)
    assert package.compose(then, sequence, machine_id) == int(request["id"]), request
    return [request["epoch_ms"] + 10 * time, machine_id, sequence]


def of_uuid(request):
    own = uuid.UUID(request["text"])
    return [own.version, own.variant == uuid.RFC_4122, str(own), own.bytes.hex()]


OPERATIONS = {
    "snowflake": lambda request: of_toolkit(TwitterSnowflakeID, request),
    "instagram": lambda request: of_toolkit(InstagramSnowflakeID, request),
    "sonyflake": sonyflake,
    "uuid": of_uuid,
}

for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(OPERATIONS[request["package"]](request)))
