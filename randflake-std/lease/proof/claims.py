"""An acquire of several node ids whose answers are lost, repeated by two copies of the process that sent it: the same token, and the same
tries from before the copy. Any clocks.

A try is granted both node ids or none, and so is a claim of what an earlier try was granted. No tick of a node id is told to both.
"""

from types import SimpleNamespace

import z3

import rules
from logic import Max
from memory import apart
from system import System, rest, same

COPIES = {"a": 0, "b": 1}
# Who made the last write of a record: a copy, or one of them before it was copied.
BOTH = 2
NODES = "xy"
TOKEN, OTHER = 0, 1

RECORD = {"there": bool, "held": bool, "start": int, "end": int, "token": int, "author": int}
LEASE = {"told": bool, "start": int, "end": int}
SHAPE = {
    **{node: RECORD for node in NODES},
    **{f"{who}_{node}": LEASE for who in COPIES for node in NODES},
    "ghost": {"last": int},
}


def begin(state):
    """The tries from before the copy may have been granted one node id, both or none: some of it may have expired since."""
    yield state.ghost.last >= 0
    for node in NODES:
        record = getattr(state, node)
        yield z3.Implies(record.there, z3.And(record.start <= record.end, record.start >= 0))
        yield z3.Implies(z3.And(record.there, record.token == TOKEN), record.author == BOTH)
        for who in COPIES:
            yield z3.Not(getattr(state, f"{who}_{node}").told)


def invariant(state):
    for node in NODES:
        record = getattr(state, node)
        yield z3.Implies(record.there, z3.And(record.start <= record.end, record.start >= 0))
        for who, number in COPIES.items():
            it = getattr(state, f"{who}_{node}")
            is_its = z3.And(record.token == TOKEN, record.author == number, record.start == it.start, it.end <= record.end)
            yield z3.Implies(it.told, z3.And(it.start <= it.end, record.there, z3.Or(is_its, it.end <= record.start)))
    yield promise(state)


def promise(state):
    return z3.And([of_one(getattr(state, f"a_{node}"), getattr(state, f"b_{node}")) for node in NODES])


def of_one(a, b):
    return z3.Implies(z3.And(a.told, b.told), apart(a, a.end, b, b.end))


def is_pending(state, who):
    """An acquire that was answered is not repeated."""
    return z3.And([z3.Not(getattr(state, f"{who}_{node}").told) for node in NODES])


def changes(before, after, who, is_answered):
    """Both records were written, and it is told of both or of none."""
    names = [*NODES, *(f"{who}_{node}" for node in NODES)]
    for node in NODES:
        it, its, new = getattr(before, f"{who}_{node}"), getattr(after, f"{who}_{node}"), getattr(after, node)
        told = z3.And(its.told, its.start == new.start, its.end == new.end)
        yield z3.And(new.author == COPIES[who], told if is_answered else same(it, its))
    yield rest(before, after, *names)


def is_granted(who, is_answered, is_free=rules.is_free):
    def step(before, after, local):
        now, ttl = local("now"), local("ttl")
        yield z3.And(is_pending(before, who), now >= 0, ttl >= 1, now < before.ghost.last)
        for node in NODES:
            record, new = getattr(before, node), getattr(after, node)
            grant = rules.granted(SimpleNamespace(**vars(record), fencing=0), now, ttl, before.ghost.last)
            yield z3.And(is_free(record, now), new.there, new.held, new.token == TOKEN)
            yield z3.And(new.start == grant.start, new.end == grant.end)
        yield from changes(before, after, who, is_answered)

    return step


def claims(who, is_answered, compares_nonce=True, renews_nonce=True):
    def step(before, after, local):
        now = local("now")
        yield is_pending(before, who)
        for node in NODES:
            record, new = getattr(before, node), getattr(after, node)
            is_tried = z3.Or(record.author == BOTH, record.author == COPIES[who]) if compares_nonce else z3.BoolVal(True)
            yield rules.is_claimed(record, now, TOKEN, is_tried)
            yield same(record, new, "there", "held", "start", "end", "token")
        if renews_nonce:
            yield from changes(before, after, who, is_answered)
        else:
            yield z3.And([same(getattr(before, node), getattr(after, node)) for node in NODES])
            names = [f"{who}_{node}" for node in NODES]
            for node, name in zip(NODES, names):
                its, record = getattr(after, name), getattr(before, node)
                yield z3.And(its.told, its.start == record.start, its.end == record.end)
            yield rest(before, after, *names)

    return step


def renews(who, node):
    """`memory.py` and `copies.py` have what follows; here its end only grows."""

    def step(before, after, local):
        now, ttl, record, new = local("now"), local("ttl"), getattr(before, node), getattr(after, node)
        it, its = getattr(before, f"{who}_{node}"), getattr(after, f"{who}_{node}")
        yield z3.And(it.told, record.token == TOKEN, record.author == COPIES[who], record.start == it.start, record.held)
        yield z3.And(now < record.end, ttl >= 1, new.end == rules.renewed_end(record, now, ttl, before.ghost.last))
        yield z3.And(same(record, new, "there", "held", "start", "token", "author"), same(it, its, "told", "start"))
        yield z3.And(its.end >= it.end, its.end <= Max(it.end, new.end), rest(before, after, node, f"{who}_{node}"))

    return step


def another_is_granted(node):
    def step(before, after, local):
        now, ttl, record, new = local("now"), local("ttl"), getattr(before, node), getattr(after, node)
        yield z3.And(now >= 0, ttl >= 1, rules.is_free(record, now), new.there, new.token == OTHER)
        yield z3.And(new.start == now, new.end == now + ttl, rest(before, after, node))

    return step


def system(**changed):
    steps = {}
    for who in COPIES:
        for answer, is_answered in [("", True), (", and the answer is lost", False)]:
            steps |= {
                f"{who} is granted both node ids{answer}": is_granted(who, is_answered),
                f"{who} claims both leases{answer}": claims(who, is_answered),
            }
        steps |= {f"{who} renews {node}": renews(who, node) for node in NODES}
    steps |= {f"another is granted {node}": another_is_granted(node) for node in NODES}
    return System("several node ids of one acquire", SHAPE, begin, invariant, promise, steps | changed)


def systems():
    return [system()]


def flaws():
    by_token = {f"{who} claims both leases": claims(who, True, compares_nonce=False) for who in COPIES}
    unwritten = {f"{who} claims both leases": claims(who, True, renews_nonce=False) for who in COPIES}
    return {
        "a lease is claimed by its token alone": system(**by_token),
        "a claim writes nothing": system(**unwritten),
    }
