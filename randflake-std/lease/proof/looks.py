"""A store that forgets, any number of times, and nothing tells: others are granted leases at once. Holders look for theirs.

What a holder issues of a forgotten lease until it looks, nobody can know. From its look on, what it issues is apart from what every
other holder issues that has looked, or was granted its lease, since the last loss. A look writes nothing: it stops the holder where a
renewal would not find the lease as the holder knows it.
"""

import z3

import rules
from memory import HOLDERS, NUMBER, OTHERS, apart, has
from system import System, rest, same

SHAPE = {
    "record": {"there": bool, "start": int, "end": int, "fencing": int, "held": bool, "owner": int},
    # `looked`: since the last loss it has looked, or was granted its lease.
    **{who: {"open": bool, "looked": bool, "start": int, "end": int} for who in HOLDERS},
    # The first tick after the layout's.
    "ghost": {"last": int},
}


def begin(state):
    none = [z3.Not(getattr(state, who).open) for who in HOLDERS]
    return [z3.Not(state.record.there), state.ghost.last >= 0, *none]


def issues(holder):
    return z3.And(holder.open, holder.looked)


def invariant(state):
    record = state.record
    yield z3.Implies(record.there, z3.And(record.start <= record.end, record.owner >= 0, record.owner <= OTHERS))
    for who in HOLDERS:
        it = getattr(state, who)
        yield z3.Implies(it.open, it.start <= it.end)
        yield z3.Implies(z3.And(it.open, has(state, who)), record.start == it.start)
        is_kept = z3.And(has(state, who), record.end >= it.end)
        is_past = z3.And(record.there, it.end <= record.start)
        yield z3.Implies(issues(it), z3.Or(is_kept, is_past))
    yield promise(state)


def promise(state):
    g, h = state.g, state.h
    return z3.Implies(z3.And(issues(g), issues(h)), apart(g, g.end, h, h.end))


def acquires(who):
    """A holder that has another lease gives it up first."""

    def step(before, after, local):
        now, ttl, record, new = local("now"), local("ttl"), before.record, after.record
        grant = rules.granted(record, now, ttl, before.ghost.last)
        yield z3.And(now >= 0, ttl >= 1, now < before.ghost.last, rules.is_free(record, now))
        yield z3.And(new.there, new.held, new.owner == NUMBER.get(who, OTHERS))
        yield z3.And(new.start == grant.start, new.end == grant.end, new.fencing == grant.fencing)
        yield rest(before, after, "record", who)
        if who in NUMBER:
            it, its = getattr(before, who), getattr(after, who)
            yield z3.And(z3.Not(it.open), its.open, its.looked, its.start == grant.start, its.end == grant.end)

    return step


def renews(who):
    """It is told at once: a late answer only issues less meanwhile."""

    def step(before, after, local):
        now, ttl, record, new = local("now"), local("ttl"), before.record, after.record
        it, its = getattr(before, who), getattr(after, who)
        yield z3.And(now >= 0, ttl >= 1, it.open, has(before, who), now < record.end)
        yield record.end >= it.end
        yield new.end == rules.renewed_end(record, now, ttl, before.ghost.last)
        yield same(record, new, "there", "start", "fencing", "held", "owner")
        yield z3.And(its.open, its.looked, its.start == it.start, its.end == new.end)
        yield rest(before, after, "record", who)

    return step


def forgets(before, after, local):
    """Any other record may be there now, with any end: that of a holder is one that it had."""
    record = after.record
    yield z3.Implies(record.there, z3.And(record.start <= record.end, record.owner >= 0, record.owner <= OTHERS))
    for who in HOLDERS:
        it, its = getattr(before, who), getattr(after, who)
        yield z3.And(same(it, its, "open", "start", "end"), z3.Not(its.looked))
        yield z3.Implies(z3.And(has(after, who), it.open), record.start == it.start)
    yield rest(before, after, "record", *HOLDERS)


def looks(who, stops, compares_end, compares_owner):
    def step(before, after, local):
        record, it, its = before.record, getattr(before, who), getattr(after, who)
        yield it.open
        is_there = z3.And(
            has(before, who) if compares_owner else record.there,
            record.end >= it.end if compares_end else True,
        )
        yield z3.And(its.looked, its.open == (is_there if stops else True), same(it, its, "start", "end"))
        yield rest(before, after, who)

    return step


def system(*, stops=True, compares_end=True, compares_owner=True):
    steps = {"another acquires": acquires("others"), "the store forgets": forgets}
    for who in HOLDERS:
        steps |= {
            f"{who} acquires": acquires(who),
            f"{who} renews": renews(who),
            f"{who} looks": looks(who, stops, compares_end, compares_owner),
        }
    return System("holders that look", SHAPE, begin, invariant, promise, steps)


def systems():
    return [system()]


def flaws():
    return {
        "a holder goes on after a look that has not found its lease": system(stops=False),
        "a look does not compare the end of the lease": system(compares_end=False),
        "a look does not compare whose lease it is": system(compares_owner=False),
    }
