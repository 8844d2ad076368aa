"""Two copies of one holder: the same grant, serial, nonce and tries, as a snapshot of its machine has them. The store remembers.

Of what lies beyond the end that both could know when they were copied, at most one of them may ever issue: the first that
renews. Nonces are fresh, even of copies (`store/fresh.rs`): each has the one who made it, and a number.
"""

from types import SimpleNamespace

import z3

import rules
from logic import Max
from system import System, rest, same

COPY = {"g": 0, "h": 1}
# Nonces from before the copy are both's.
BOTH = 3

SHAPE = {
    # While it is the record of the grant that was copied: `ours`.
    "record": {"ours": bool, "held": bool, "end": int, "serial": int, "author": int, "nonce": int},
    # The serial and nonce of its last write that it knows of; `most`: the latest end that it may ever learn of.
    **{who: {"serial": int, "author": int, "nonce": int, "end": int, "most": int, "open": bool} for who in COPY},
    # `copied_end`: the latest end that was ever asked for before the copy; `first`: who has written since, or -1.
    "ghost": {"copied_end": int, "first": int},
}


def begin(state):
    record, ghost = state.record, state.ghost
    yield z3.And(ghost.first == -1, record.ours, record.author == BOTH, record.end <= ghost.copied_end)
    for who in COPY:
        it = getattr(state, who)
        yield z3.And(it.author == BOTH, it.end <= it.most, it.most <= ghost.copied_end)


def invariant(state):
    record, ghost = state.record, state.ghost
    yield z3.And(ghost.first >= -1, ghost.first <= 1)
    before = z3.Implies(record.author == BOTH, z3.And(ghost.first == -1, record.end <= ghost.copied_end))
    since = [z3.Implies(record.author == number, ghost.first == number) for number in COPY.values()]
    authors = z3.Or([record.author == number for number in [*COPY.values(), BOTH]])
    yield z3.Implies(record.ours, z3.And(authors, before, *since))
    for who, number in COPY.items():
        it = getattr(state, who)
        yield z3.Or(it.author == BOTH, it.author == number)
        yield z3.Implies(it.author == number, ghost.first == number)
        yield z3.And(it.end <= it.most, z3.Implies(it.most > ghost.copied_end, ghost.first == number))


def promise(state):
    return z3.Or([getattr(state, who).end <= state.ghost.copied_end for who in COPY])


def wrote(state, who, local):
    """`rules.wrote`, where a nonce is its author and its number. It has tried any from before the copy, and any of its own."""
    record, it = state.record, getattr(state, who)
    is_tried = z3.Or(
        z3.And(record.author == BOTH, local("tried_before") == 1),
        z3.And(record.author == COPY[who], local("tried_since") == 1),
    )
    # One number for both parts, so that equal nonces are equal pairs.
    is_same = z3.And(record.author == it.author, record.nonce == it.nonce)
    nonces = SimpleNamespace(serial=record.serial, nonce=z3.If(is_same, 0, 1))
    return rules.wrote(nonces, SimpleNamespace(serial=it.serial, nonce=0, written=z3.BoolVal(True)), is_tried)


def renews(who, compares=True):
    def step(before, after, local):
        now, ttl, record, new = local("now"), local("ttl"), before.record, after.record
        it, its = getattr(before, who), getattr(after, who)
        yield z3.And(it.open, record.ours, record.held, now < record.end, ttl >= 1)
        yield wrote(before, who, local) if compares else True
        yield new.end == Max(record.end, now + ttl)
        yield z3.And(new.serial == record.serial + 1, new.author == COPY[who], same(record, new, "ours", "held"))
        yield z3.And(after.ghost.first == COPY[who], same(before.ghost, after.ghost, "copied_end"))
        yield z3.And(its.most == Max(it.most, new.end), same(it, its, "serial", "author", "nonce", "end", "open"))
        yield rest(before, after, "record", "ghost", who)

    return step


def learns(who):
    """The answer to a write of its own."""

    def step(before, after, local):
        it, its = getattr(before, who), getattr(after, who)
        yield z3.And(before.ghost.first == COPY[who], its.author == COPY[who], its.serial >= it.serial)
        yield z3.And(its.end >= it.end, its.end <= it.most, same(it, its, "most", "open"))
        yield rest(before, after, who)

    return step


def learns_of_before(who):
    """The answer to what was asked before the copy reaches it."""

    def step(before, after, local):
        it, its = getattr(before, who), getattr(after, who)
        yield z3.And(it.author == BOTH, its.author == BOTH, its.serial >= it.serial, its.end >= it.end)
        yield z3.And(its.end <= before.ghost.copied_end, its.most == Max(it.most, its.end), same(it, its, "open"))
        yield rest(before, after, who)

    return step


def arrives_late(before, after, local):
    """A renewal from before the copy reaches the store."""
    record, new = before.record, after.record
    yield z3.And(record.ours, record.held, record.author == BOTH, new.author == BOTH, new.serial == record.serial + 1)
    yield z3.And(new.end >= record.end, new.end <= before.ghost.copied_end, same(record, new, "ours", "held"))
    yield rest(before, after, "record")


def ends(before, after, local):
    """The node id is granted to another."""
    yield z3.And(before.record.ours, z3.Not(after.record.ours), rest(before, after, "record"))


def releases(who):
    def step(before, after, local):
        record, new = before.record, after.record
        yield z3.And(record.ours, record.held, z3.Not(new.held), wrote(before, who, local))
        yield z3.And(new.serial == record.serial + 1, new.author == COPY[who], new.end <= record.end, new.ours)
        yield z3.And(after.ghost.first == COPY[who], same(before.ghost, after.ghost, "copied_end"))
        yield rest(before, after, "record", "ghost")

    return step


def system(**changed):
    steps = {
        "a renewal from before the copy arrives": arrives_late,
        "the node id is granted to another": ends,
    }
    for who in COPY:
        steps |= {
            f"{who} renews": renews(who),
            f"{who} learns of a renewal": learns(who),
            f"{who} learns of a renewal from before the copy": learns_of_before(who),
            f"{who} releases": releases(who),
        }
    return System("two copies of a holder", SHAPE, begin, invariant, promise, steps | changed)


def systems():
    return [system()]


def flaws():
    return {
        "a renewal does not compare the last write": system(
            **{f"{who} renews": renews(who, compares=False) for who in COPY}
        ),
    }
