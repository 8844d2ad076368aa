"""A lease that a server renews for its client, and two copies of the client: the same grant, the same last write, and perhaps the same
request, which waits for its answer. Any server of the namespace may get each request. Any clocks; a store that remembers.

A client presents its last write and names its request; the nonce of the next write is a hash of the token, the next serial and that
name (`RequestId`), so it is a pair of serial and name here. Names are new for each request; those that a copy makes up have its number.
Beyond the latest end that could be written before they were copied, or by the request that both have, one of them issues at most.
"""

from types import SimpleNamespace

import z3

import rules
from logic import Max
from system import System, rest, same

COPIES = {"a": 0, "b": 1}
# Of what both have had since before the copy.
BOTH = 3

CLIENT = {
    # Its last write as it knows it: serial, and who made up the name and which.
    "serial": int, "author": int, "name": int,
    # Its request that was not answered yet.
    "asks": bool, "next_author": int, "next_name": int,
    # The latest end that it knows or may learn of.
    "most": int,
}
SHAPE = {
    "record": {"held": bool, "end": int, "serial": int, "author": int, "name": int},
    **{who: CLIENT for who in COPIES},
    # `serial`: of the last write that was known when they were copied; `first`: the copy that has written by a name of its own.
    "ghost": {"copied_end": int, "serial": int, "first": int},
}


def begin(state):
    record, ghost = state.record, state.ghost
    yield z3.And(record.author == BOTH, record.end <= ghost.copied_end, ghost.first == -1, same(state.a, state.b))
    yield z3.And(state.a.author == BOTH, state.a.next_author == BOTH, state.a.serial == ghost.serial, state.a.most <= ghost.copied_end)
    yield z3.And(record.serial >= ghost.serial, record.serial <= ghost.serial + 1)


def invariant(state):
    record, ghost = state.record, state.ghost
    yield z3.And(ghost.first >= -1, ghost.first <= 1, record.serial >= ghost.serial)
    yield z3.Or(
        z3.And(record.author == BOTH, ghost.first == -1, record.end <= ghost.copied_end, record.serial <= ghost.serial + 1),
        z3.And(record.author == ghost.first, ghost.first >= 0, record.serial > ghost.serial),
    )
    for who, number in COPIES.items():
        it = getattr(state, who)
        is_own = z3.And(it.author == number, ghost.first == number, it.serial > ghost.serial)
        yield z3.And(it.serial >= ghost.serial, z3.Or(it.author == BOTH, is_own))
        of_before = z3.And(it.next_author == BOTH, it.serial == ghost.serial)
        yield z3.Implies(it.asks, z3.Or(it.next_author == number, of_before))
        yield z3.Implies(it.most > ghost.copied_end, ghost.first == number)


def promise(state):
    return z3.Or([getattr(state, who).most <= state.ghost.copied_end for who in COPIES])


def makes_up(who, is_new=True):
    """A name for the next request."""

    def step(before, after, local):
        it, its = getattr(before, who), getattr(after, who)
        yield z3.And(z3.Not(it.asks), its.asks, its.next_author == (COPIES[who] if is_new else BOTH))
        yield same(it, its, "serial", "author", "name", "most") if is_new else z3.And(
            its.next_name == 0, same(it, its, "serial", "author", "name", "most")
        )
        yield rest(before, after, who)

    return step


def nonce(author, name):
    """One number for a pair; names are above -1."""
    return z3.If(author == BOTH, 3 * name, z3.If(author == 0, 3 * name + 1, 3 * name + 2))


def renews(who, is_answered, compares=True, refuses_same=True):
    def step(before, after, local):
        now, ttl, record, new = local("now"), local("ttl"), before.record, after.record
        it, its, ghost, then = getattr(before, who), getattr(after, who), before.ghost, after.ghost
        is_same = z3.And(it.author == it.next_author, it.name == it.next_name)
        yield z3.And(it.asks, record.held, now < record.end, ttl >= 1, z3.Not(is_same) if refuses_same else True)
        # A nonce is of a serial: those of another one are never equal.
        asked = z3.If(record.serial == it.serial + 1, nonce(it.next_author, it.next_name), -1)
        lease = SimpleNamespace(serial=it.serial, nonce=nonce(it.author, it.name), written=z3.BoolVal(True), next=asked)
        written = SimpleNamespace(serial=record.serial, nonce=nonce(record.author, record.name))
        lease.is_tried = asked == written.nonce
        yield z3.And(record.name >= 0, it.name >= 0, it.next_name >= 0)
        yield rules.wrote(written, lease, lease.is_tried) if compares else True
        repeats = rules.repeats(written, lease)
        changed = z3.And(
            new.end == Max(record.end, now + ttl), new.serial == it.serial + 1 if compares else new.serial == record.serial + 1,
            new.author == it.next_author, new.name == it.next_name, new.held,
        )
        yield z3.If(repeats, same(record, new), changed)
        yield then.first == z3.If(z3.And(z3.Not(repeats), it.next_author != BOTH), COPIES[who], ghost.first)
        is_of_both = z3.And(it.next_author == BOTH, it.serial == ghost.serial)
        yield then.copied_end == z3.If(is_of_both, Max(ghost.copied_end, new.end), ghost.copied_end)
        yield z3.And(then.serial == ghost.serial, its.most == Max(it.most, new.end))
        if is_answered:
            yield z3.And(its.serial == new.serial, its.author == new.author, its.name == new.name, z3.Not(its.asks))
            yield same(it, its, "next_author", "next_name")
        else:
            yield same(it, its, "serial", "author", "name", "asks", "next_author", "next_name")
        yield rest(before, after, "record", "ghost", who)

    return step


def learns_late(who):
    """The answer to an earlier try of its request."""

    def step(before, after, local):
        it, its = getattr(before, who), getattr(after, who)
        yield z3.And(it.asks, z3.Or(it.next_author == BOTH, before.ghost.first == COPIES[who]), z3.Not(its.asks))
        yield z3.And(its.serial == it.serial + 1, its.author == it.next_author, its.name == it.next_name)
        yield z3.And(same(it, its, "next_author", "next_name", "most"), rest(before, after, who))

    return step


def releases(who):
    """With a request, as a renewal; what is released is renewed by nobody."""

    def step(before, after, local):
        yield z3.And(getattr(before, who).asks, before.record.held, z3.Not(after.record.held))
        yield z3.And(same(before.record, after.record, "serial", "author", "name"), after.record.end <= before.record.end)
        yield rest(before, after, "record")

    return step


def system(**changed):
    steps = {}
    for who in COPIES:
        steps |= {
            f"{who} makes up a name": makes_up(who),
            f"{who} renews": renews(who, True),
            f"{who} renews, and the answer is lost": renews(who, False),
            f"a late answer reaches {who}": learns_late(who),
            f"{who} releases": releases(who),
        }
    return System("two copies of a server's client", SHAPE, begin, invariant, promise, steps | changed)


def systems():
    return [system()]


def flaws():
    uncompared = {f"{who} renews": renews(who, True, compares=False) for who in COPIES}
    one_name = {f"{who} makes up a name": makes_up(who, is_new=False) for who in COPIES}
    one_name |= {f"{who} renews": renews(who, True, refuses_same=False) for who in COPIES}
    return {
        "a server does not compare the last write": system(**uncompared),
        "a name for all requests is not refused": system(**one_name),
    }
