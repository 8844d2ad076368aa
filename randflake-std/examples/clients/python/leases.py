"""Ids made in this process by the package randflake, under leases of `randflake serve`.

The server is asked once per third of a lease, never per id. When it cannot be reached, ids go on until the lease ends.
"""

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

from randflake import v2

URL = os.environ.get("RANDFLAKE_URL", "http://127.0.0.1:8080")
NAMESPACE = os.environ.get("RANDFLAKE_NAMESPACE", "default")
TOKEN = os.environ.get("RANDFLAKE_TOKEN")
SECRET = bytes.fromhex(os.environ["RANDFLAKE_KEY"])  # that of the namespace
TTL_S = int(os.environ.get("RANDFLAKE_TTL_S", "60"))


def post(path, document):
    headers = {"Content-Type": "application/json"}
    if TOKEN:
        headers["Authorization"] = f"Bearer {TOKEN}"
    request = urllib.request.Request(URL + path, json.dumps(document).encode(), headers)
    with urllib.request.urlopen(request, timeout=5) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def new_request():
    """A name for one renewal or release: new for each, the same when it is repeated. A copy of this process, such as a
    virtual machine that was resumed twice, may make up the same random number, but not at the same time."""
    return f"{time.time_ns():x}-{uuid.uuid4()}"


def lease_of(document):
    lease = document["leases"][0]
    # Both are half-open, and count in seconds.
    return v2.Lease(lease["node"], lease["start_unix_ms"] // 1000, lease["end_unix_ms"] // 1000)


class Ids:
    """Ids of one leased node id. `close` releases it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.acquire()
        self.keeper = threading.Thread(target=self.keep, daemon=True)
        self.keeper.start()

    def acquire(self):
        asked = {"ttl_ms": TTL_S * 1000}
        document = post(f"/v1/leases?namespace={NAMESPACE}", asked)
        generator = v2.Generator(v2.Config(lease_of(document), SECRET))
        with self.lock:
            self.document, self.generator = document, generator

    def keep(self):
        """Renews three times per lease. One that is lost is followed by another.

        After a failure it may have been renewed or not: the same request, repeated, gets the answer that was lost."""
        request = new_request()
        while not self.closing.wait(TTL_S / 3):
            try:
                path = f"/v1/leases/renew?request={request}&ttl_ms={TTL_S * 1000}"
                renewed = post(path, self.document)
                request = new_request()
                if renewed.get("lost"):
                    self.acquire()
                    continue
                with self.lock:
                    self.document = renewed
                    self.generator.extend_lease(lease_of(renewed))
            except (urllib.error.URLError, OSError) as error:
                print(f"not renewed: {error}", file=sys.stderr)

    def generate(self):
        """An id, as a signed 64-bit integer. Fails when the lease has ended."""
        with self.lock:
            return self.generator.generate()

    def close(self):
        self.closing.set()
        self.keeper.join()
        with self.lock:
            # It issues no more from here on.
            self.generator = None
        post(f"/v1/leases/release?request={new_request()}", self.document)


if __name__ == "__main__":
    ids = Ids()
    for _ in range(1000):
        print(ids.generate())
    ids.close()
