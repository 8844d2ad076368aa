"""Tests of the service: with ids that the test chooses, and, if RANDFLAKE_RESP_PORT is set, with those of a server."""

import itertools
import os

from fastapi.testclient import TestClient

from orders import app, new_id


def creates_and_reads():
    with TestClient(app) as client:
        ids = [client.post("/orders", params={"customer": "Ada"}).json()["id"] for _ in range(2)]
        for id in ids:
            assert client.get(f"/orders/{id}").json() == {"id": id, "customer": "Ada"}
        # Neither an id that is not there nor a text that is none.
        assert [client.get(f"/orders/{id}").status_code for id in ["3vgoe12ccb8gh", "ZZZ"]] == [404, 404]
    return ids


# Known ids: no server, no secret. A database would refuse a second 1.
numbers = itertools.count(1)
app.dependency_overrides[new_id] = lambda: next(numbers)
assert creates_and_reads() == ["1", "2"]
app.dependency_overrides.clear()

if "RANDFLAKE_RESP_PORT" in os.environ:
    print("\n".join(creates_and_reads()))
