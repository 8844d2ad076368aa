"""Issues ids for ever, by the program of the guides, at one of several servers; the next one when that fails.

Arguments: the folder of the guides' program, and the servers' URLs.
"""

import itertools
import sys
import time

sys.path.insert(0, sys.argv[1])
import leases  # noqa: E402

urls = itertools.cycle(sys.argv[2:])
post = leases.post


def post_elsewhere(path, document):
    try:
        return post(path, document)
    except OSError:
        leases.URL = next(urls)
        raise


leases.post = post_elsewhere
leases.URL = next(urls)
ids = None
while True:
    try:
        if ids is None:
            ids = leases.Ids()
        batch = [ids.generate() for _ in range(100)]
    except Exception as error:  # What it is, the package does not say in types.
        print(f"no id: {error!r}", file=sys.stderr)
        time.sleep(0.1)
        continue
    print("\n".join(map(str, batch)), flush=True)
    time.sleep(0.02)
