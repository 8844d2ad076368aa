"""A plugin of pytest for redis-py's own tests: what fails for a reason in the list is left out by that reason; all else fails.

RANDFLAKE_LEFT_OUT names the list. A line of it is a kind, a pattern and the reason, with two spaces or more between:
`file` is a file or folder that is not run, `test` a test, `error` what a failure says.
"""

import collections
import os
import re

import pytest
import redis
import redis.asyncio

counts = collections.Counter()


def rules():
    with open(os.environ["RANDFLAKE_LEFT_OUT"]) as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                kind, pattern, reason = re.split(r"  +", line.strip(), maxsplit=2)
                yield kind, pattern, reason


RULES = list(rules())


def of(kind):
    return [(pattern, reason) for own, pattern, reason in RULES if own == kind]


# After each test they empty the database: here there is nothing to empty.
redis.Redis.flushdb = lambda self, **_: True


async def nothing(self, **_):
    return True


redis.asyncio.Redis.flushdb = nothing


def pytest_ignore_collect(collection_path):
    path = str(collection_path)
    for pattern, reason in of("file"):
        if path.endswith("/" + pattern.rstrip("/")):
            counts[f"file: {reason}"] += 1
            return True
    return None


def messages(error):
    while error is not None:
        yield f"{type(error).__name__}: {error}"
        error = error.__cause__ or error.__context__


def why(item, error):
    for pattern, reason in of("test"):
        if re.search(pattern, item.nodeid):
            return reason
    said = "\n".join(messages(error))
    for pattern, reason in of("error"):
        if re.search(pattern, said):
            return reason
    return None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if not report.failed or call.excinfo is None:
        return
    reason = why(item, call.excinfo.value)
    if reason:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"Skipped: {reason}")


def pytest_runtest_logreport(report):
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        known = {reason for _, _, reason in RULES}
        counts[reason if reason in known else "left out by the suite itself"] += 1
    elif report.when == "call":
        counts[report.outcome] += 1


def pytest_terminal_summary(terminalreporter):
    for reason, count in sorted(counts.items()):
        terminalreporter.write_line(f"checked: {count:5} {reason}")
