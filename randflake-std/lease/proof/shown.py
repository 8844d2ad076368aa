"""One node id in an engine that shows a write before its log is on the disk, and whose log comes there in order. A kill undoes what
was only shown. A write is answered once its log is there, and so is the log of all that was shown before it.

A client presents its last write and names its request, as in `grants.py`; its answer may be lost, and it asks again. All others are
one environment. Any clocks.
"""

from types import SimpleNamespace

import z3

import rules
from logic import Min
from system import System, rest, same

CLIENT, OTHERS = range(2)
RECORD = {"there": bool, "start": int, "end": int, "fencing": int, "held": bool, "owner": int, "serial": int, "nonce": int}
SHAPE = {
    "shown": RECORD,
    "kept": RECORD,
    # Its last write as it knows it, the nonce that its request asks for, and the latest end that it was told.
    "client": {"serial": int, "nonce": int, "next": int, "end": int},
    # Whether any other was told of a grant, and the first tick of all these.
    "others": {"told": bool, "start": int},
    "ghost": {"last": int},
}


def begin(state):
    record, client = state.shown, state.client
    yield z3.And(same(record, state.kept), record.there, record.held, record.owner == CLIENT, record.start <= record.end)
    yield z3.And(record.serial == client.serial, record.nonce == client.nonce, client.next != client.nonce)
    yield z3.And(client.end == record.end, z3.Not(state.others.told), record.end <= state.ghost.last)


def invariant(state):
    shown, kept, client, others = state.shown, state.kept, state.client, state.others
    for record in [shown, kept]:
        yield z3.And(record.there, record.start <= record.end, record.owner >= CLIENT, record.owner <= OTHERS)
        yield z3.If(record.owner == CLIENT, client.end <= record.end, client.end <= record.start)
    yield z3.Implies(kept.owner == OTHERS, shown.owner == OTHERS)
    yield z3.Implies(kept.owner == CLIENT, kept.end <= z3.If(shown.owner == CLIENT, shown.end, shown.start))
    yield z3.Implies(others.told, z3.And(kept.owner == OTHERS, client.end <= others.start))


def promise(state):
    return z3.Implies(state.others.told, state.client.end <= state.others.start)


def lease_of(client, record):
    lease = SimpleNamespace(serial=client.serial, nonce=client.nonce, written=z3.BoolVal(True), next=client.next)
    lease.is_tried = lease.next == record.nonce
    return lease


def is_kept(before, after, is_answered):
    """An answer comes when the log is on the disk; without one, that may be at any later moment."""
    return same(after.shown, after.kept) if is_answered else same(before.kept, after.kept)


def is_told(before, after, record, local):
    """The client learns of its write, and makes up a name for the next request."""
    client, then = before.client, after.client
    yield z3.And(then.serial == record.serial, then.nonce == record.nonce, then.end == record.end)
    yield z3.And(then.next == local("next"), then.next != record.nonce)


def renews(is_answered):
    def step(before, after, local):
        now, ttl, record, new = local("now"), local("ttl"), before.shown, after.shown
        lease = lease_of(before.client, record)
        yield z3.And(record.owner == CLIENT, record.held, now >= 0, ttl >= 1, now < record.end)
        yield z3.And(rules.wrote(record, lease, lease.is_tried), z3.Not(rules.repeats(record, lease)))
        yield new.end == rules.renewed_end(record, now, ttl, before.ghost.last)
        yield z3.And(new.serial == record.serial + 1, new.nonce == lease.next)
        yield same(record, new, "there", "start", "fencing", "held", "owner")
        yield is_kept(before, after, is_answered)
        yield z3.And([*is_told(before, after, new, local)]) if is_answered else same(before.client, after.client)
        yield rest(before, after, "shown", "kept", "client")

    return step


def repeats(confirms=True):
    """The record stays, and something else is written behind it."""

    def step(before, after, local):
        record = before.shown
        lease = lease_of(before.client, record)
        yield z3.And(record.owner == CLIENT, record.held, local("now") < record.end, rules.repeats(record, lease))
        yield z3.And(same(record, after.shown), is_kept(before, after, confirms), *is_told(before, after, record, local))
        yield rest(before, after, "shown", "kept", "client")

    return step


def learns_late(before, after, local):
    """Its write was answered when the log was there, and the answer took long."""
    record = before.kept
    yield z3.And(record.owner == CLIENT, rules.repeats(record, lease_of(before.client, record)))
    yield z3.And([*is_told(before, after, record, local)])
    yield rest(before, after, "client")


def log_is_written(before, after, local):
    yield z3.And(same(before.shown, after.kept), rest(before, after, "kept"))


def is_killed(before, after, local):
    yield z3.And(same(before.kept, after.shown), rest(before, after, "shown"))


def others_are_told(before, after, record):
    others, then = before.others, after.others
    first = z3.If(others.told, Min(others.start, record.start), record.start)
    return z3.And(then.told, then.start == first)


def another_is_granted(is_answered):
    def step(before, after, local):
        now, ttl, record, new = local("now"), local("ttl"), before.shown, after.shown
        grant = rules.granted(record, now, ttl, before.ghost.last)
        yield z3.And(now >= 0, ttl >= 1, now < before.ghost.last, rules.is_free(record, now))
        yield z3.And(new.there, new.held, new.owner == OTHERS, new.serial == 1)
        yield z3.And(new.start == grant.start, new.end == grant.end, new.fencing == grant.fencing)
        yield is_kept(before, after, is_answered)
        yield others_are_told(before, after, new) if is_answered else same(before.others, after.others)
        yield rest(before, after, "shown", "kept", "others")

    return step


def another_claims(confirms=True):
    """The acquire is repeated, and claims what its first try was granted."""

    def step(before, after, local):
        record, new = before.shown, after.shown
        yield z3.And(record.owner == OTHERS, record.held, local("now") < record.end)
        if confirms:
            yield z3.And(new.serial == record.serial + 1, same(record, new, "there", "start", "end", "fencing", "held", "owner"))
        else:
            yield same(record, new)
        yield z3.And(is_kept(before, after, confirms), others_are_told(before, after, new))
        yield rest(before, after, "shown", "kept", "others")

    return step


def system(**changed):
    steps = {
        "the client renews": renews(True),
        "the client renews, and the answer is lost": renews(False),
        "the client repeats its request": repeats(),
        "a late answer reaches the client": learns_late,
        "the log is written": log_is_written,
        "the engine is killed": is_killed,
        "another is granted the node id": another_is_granted(True),
        "another is granted the node id, and the answer is lost": another_is_granted(False),
        "another repeats its acquire": another_claims(),
    }
    return System("an engine that shows before it keeps", SHAPE, begin, invariant, promise, steps | changed)


def systems():
    return [system()]


def flaws():
    from_a_reading = {"the client repeats its request": repeats(confirms=False)}
    claimed = {"another repeats its acquire": another_claims(confirms=False)}
    return {
        "a request that is repeated is answered from a reading": system(**from_a_reading),
        "an acquire that is repeated is answered from a reading": system(**claimed),
    }
