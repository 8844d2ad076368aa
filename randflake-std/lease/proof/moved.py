"""A store and a copy of it, for one node id: a dump or a snapshot that is restored elsewhere, at any time and as often as may be,
while the original goes on. The copy grants nothing until an operator declares that the original is gone.

True time is in ticks of a millisecond, and each store shows it: `losses.py` has clocks that differ. Grants are all by one of
the two stores, so that each begins after the latest end of all before it, or ticks are granted twice.
"""

from types import SimpleNamespace

import z3

import rules
from logic import Max
from system import System, rest, same

ORIGINAL, COPY = 1, 2

SHAPE = {
    # The latest end that it has granted, whether processes use it, and the longest TTL.
    "original": {"end": int, "is_used": bool, "longest": int},
    # The identity that its record names.
    "copy": {"there": bool, "end": int, "identity": int, "quarantine": int},
    # The latest end of all grants, and whether one began before it.
    "ghost": {"time": int, "latest": int, "overlaps": bool},
}


def is_copied(copy):
    return rules.is_copied(SimpleNamespace(namespace=copy, identity=COPY))


def begin(state):
    yield z3.And(state.original.is_used, state.original.end == 0, state.original.longest >= 1, state.ghost.time >= 0)
    yield z3.And(z3.Not(state.copy.there), state.ghost.latest == 0, z3.Not(state.ghost.overlaps))


def invariant(state):
    original, copy, ghost = state.original, state.copy, state.ghost
    yield z3.And(original.longest >= 1, ghost.time >= 0, ghost.latest <= ghost.time + original.longest)
    is_in_place = z3.And(copy.there, z3.Not(is_copied(copy)))
    yield z3.If(
        is_in_place,
        z3.And(z3.Not(original.is_used), ghost.latest <= Max(copy.end, copy.quarantine)),
        ghost.latest == original.end,
    )
    yield promise(state)


def promise(state):
    return z3.Not(state.ghost.overlaps)


def passes(before, after, local):
    yield z3.And(after.ghost.time > before.ghost.time, same(before.ghost, after.ghost, "latest", "overlaps"))
    yield rest(before, after, "ghost")


def grants(name, may):
    def step(before, after, local):
        ttl, ghost, then = local("ttl"), before.ghost, after.ghost
        store, new = getattr(before, name), getattr(after, name)
        yield z3.And(may(before), ttl >= 1, ttl <= before.original.longest, store.end <= ghost.time)
        yield z3.And(new.end == ghost.time + ttl, same(store, new, *(it for it in vars(store) if it != "end")))
        yield z3.And(then.overlaps == z3.Or(ghost.overlaps, ghost.time < ghost.latest), then.latest == Max(ghost.latest, new.end))
        yield z3.And(then.time == ghost.time, rest(before, after, name, "ghost"))

    return step


def renews(name, may):
    """The latest lease: its holder is one, whichever store it asks."""

    def step(before, after, local):
        ttl, ghost, then = local("ttl"), before.ghost, after.ghost
        store, new = getattr(before, name), getattr(after, name)
        yield z3.And(may(before), ttl >= 1, ttl <= before.original.longest, ghost.time < store.end, store.end == ghost.latest)
        yield z3.And(new.end == Max(store.end, ghost.time + ttl), same(store, new, *(it for it in vars(store) if it != "end")))
        yield z3.And(same(ghost, then, "time", "overlaps"), then.latest == Max(ghost.latest, new.end))
        yield rest(before, after, name, "ghost")

    return step


def is_copied_from(before, after, local):
    """As the original is, or was: the record names it. A copy that has taken its place is not written over."""
    new = after.copy
    yield z3.Or(z3.Not(before.copy.there), is_copied(before.copy))
    yield z3.And(new.there, new.identity == ORIGINAL, new.end <= before.original.end, new.quarantine == 0)
    yield rest(before, after, "copy")


def leaves(before, after, local):
    yield z3.And(before.original.is_used, z3.Not(after.original.is_used), same(before.original, after.original, "end", "longest"))
    yield rest(before, after, "original")


def is_declared_moved(is_right=True, waits=True):
    def step(before, after, local):
        copy, new = before.copy, after.copy
        yield z3.And(copy.there, is_copied(copy), z3.Not(before.original.is_used) if is_right else True)
        length = rules.quarantine_ticks(before.original.longest, 1) if waits else 0
        yield z3.And(new.identity == COPY, new.quarantine >= before.ghost.time + length)
        yield z3.And(same(copy, new, "there", "end"), rest(before, after, "copy"))

    return step


def notices(before, after, local):
    """What a store does that takes a copy for a loss: it waits, and goes on."""
    copy, new = before.copy, after.copy
    length = rules.quarantine_ticks(before.original.longest, 1)
    yield z3.And(copy.there, is_copied(copy), new.identity == COPY, new.quarantine == before.ghost.time + length)
    yield z3.And(same(copy, new, "there", "end"), rest(before, after, "copy"))


def system(**changed):
    def original(state):
        return state.original.is_used

    def copy(state):
        it = state.copy
        return z3.And(it.there, z3.Not(is_copied(it)), state.ghost.time >= it.quarantine)

    steps = {
        "time passes": passes,
        "the original grants the node id": grants("original", original),
        "the original renews": renews("original", original),
        "the original is copied": is_copied_from,
        "the last process leaves the original": leaves,
        "an operator declares the copy moved": is_declared_moved(),
        "the copy grants the node id": grants("copy", copy),
        "the copy renews": renews("copy", copy),
    }
    return System("a store and its copy", SHAPE, begin, invariant, promise, steps | changed)


def systems():
    return [system()]


def flaws():
    moved = "an operator declares the copy moved"
    return {
        "a copy is quarantined, and not refused": system(**{"the copy notices a loss": notices}),
        "an operator declares a copy moved whose original is in use": system(**{moved: is_declared_moved(is_right=False)}),
        "a copy that was declared moved does not wait": system(**{moved: is_declared_moved(waits=False)}),
    }
