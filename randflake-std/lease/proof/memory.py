"""One store that keeps its memory. Nothing is assumed of any clock: each step reads any time.

A write is a comparison of the whole record and a replacement, so a rule that was evaluated on an older view acts, if its write
succeeds, as if it were evaluated at the write, with the clock as it was read then. Writes and answers may be late or lost: a
holder learns of an end at any later moment, or never. There are two named holders, `g` and `h`; all others, however many, are
one environment. Node ids share no record, and a request for several writes each of them as a request for it alone would:
`agree.py` compares requests for two.
"""

import z3

import rules
from logic import Max, Min
from system import System, rest, same

NUMBER = {"g": 0, "h": 1}
OTHERS = 2
HOLDERS = "gh"

SHAPE = {
    # `owner`: whose grant it is.
    "record": {"there": bool, "start": int, "end": int, "fencing": int, "held": bool, "owner": int},
    # `granted`; `told` of it; `open`: its sequencer issues; `end`: until when, or if it is not open, the first tick that it did
    # not use; `most`: the latest end that was ever written of its grant, which a late answer may bring.
    **{who: {"granted": bool, "told": bool, "open": bool, "start": int, "end": int, "most": int} for who in HOLDERS},
    # `past`: all that other grants than the record's may issue is before this tick; `last`: the first tick after the layout's.
    "ghost": {"past": int, "last": int},
}


def has(state, who):
    """The record is of this holder's grant."""
    return z3.And(state.record.there, state.record.owner == NUMBER[who])


def bound(holder):
    """Nothing from here on is ever issued of its grant."""
    return z3.If(z3.And(holder.told, z3.Not(holder.open)), holder.end, holder.most)


def apart(one, end, other, other_end):
    return z3.Or(end <= other.start, other_end <= one.start)


def begin(state):
    holders = [getattr(state, who) for who in HOLDERS]
    none = [z3.Not(z3.Or(it.granted, it.told, it.open)) for it in holders]
    return [z3.Not(state.record.there), state.ghost.past == 0, state.ghost.last >= 0, *none]


def invariant(state):
    record, past = state.record, state.ghost.past
    yield past >= 0
    yield z3.Implies(
        record.there,
        z3.And(record.start <= record.end, record.fencing >= record.start, past <= record.start,
               record.owner >= 0, record.owner <= OTHERS),
    )
    for who in HOLDERS:
        it, its = getattr(state, who), has(state, who)
        yield z3.Implies(it.open, it.told)
        yield z3.Implies(it.told, z3.And(it.granted, it.start <= it.end, it.end <= it.most))
        yield z3.Implies(it.granted, z3.And(it.start >= 0, it.start <= it.most))
        yield z3.Implies(its, z3.And(it.granted, it.start == record.start))
        yield z3.Implies(z3.And(its, record.held), it.most == record.end)
        released = z3.And(it.told, z3.Not(it.open), it.end <= record.end)
        yield z3.Implies(z3.And(its, z3.Not(record.held)), released)
        yield z3.Implies(z3.And(it.granted, z3.Not(its)), z3.And(record.there, bound(it) <= past))
    g, h = state.g, state.h
    yield z3.Implies(z3.And(g.granted, h.granted), apart(g, bound(g), h, bound(h)))


def promise(state):
    """What two grants of a node id may issue is disjoint."""
    g, h = state.g, state.h
    return z3.Implies(z3.And(g.told, h.told), apart(g, g.end, h, h.end))


def acquires(who, is_free=rules.is_free):
    def step(before, after, local):
        now, ttl, record, new = local("now"), local("ttl"), before.record, after.record
        grant = rules.granted(record, now, ttl, before.ghost.last)
        yield z3.And(now >= 0, ttl >= 1, now < before.ghost.last, is_free(record, now))
        yield z3.And(new.there, new.held, new.owner == NUMBER.get(who, OTHERS))
        yield z3.And(new.start == grant.start, new.end == grant.end, new.fencing == grant.fencing)
        yield z3.And(after.ghost.past == z3.If(record.there, record.end, 0), after.ghost.last == before.ghost.last)
        yield rest(before, after, "record", "ghost", who)
        if who in NUMBER:
            it, its = getattr(before, who), getattr(after, who)
            yield z3.And(z3.Not(it.granted), its.granted, z3.Not(its.told), z3.Not(its.open))
            yield z3.And(its.start == grant.start, its.most == grant.end)

    return step


def is_told(who):
    """The answer arrives, of the acquire or of a claim, with any end that was written meanwhile."""

    def step(before, after, local):
        it, its = getattr(before, who), getattr(after, who)
        yield z3.And(it.granted, z3.Not(it.told), its.told, its.open, it.start <= its.end, its.end <= it.most)
        yield same(it, its, "granted", "start", "most")
        yield rest(before, after, who)

    return step


def renews(who, compares=True):
    """Also one that was not told: its renewal may overtake the answer."""

    def step(before, after, local):
        now, ttl, record, new = local("now"), local("ttl"), before.record, after.record
        yield z3.And(now >= 0, ttl >= 1, record.there, record.held, now < record.end)
        yield new.end == rules.renewed_end(record, now, ttl, before.ghost.last)
        yield same(record, new, "there", "start", "fencing", "held", "owner")
        yield rest(before, after, "record", who)
        if who in NUMBER:
            it, its = getattr(before, who), getattr(after, who)
            yield has(before, who) if compares else it.told
            yield z3.And(its.most == new.end, same(it, its, "granted", "told", "open", "start", "end"))
        else:
            yield record.owner == OTHERS

    return step


def learns(who):
    """The answer of a renewal arrives, while it issues; an end never goes back."""

    def step(before, after, local):
        it, its = getattr(before, who), getattr(after, who)
        yield z3.And(it.told, it.open, it.end <= its.end, its.end <= it.most)
        yield same(it, its, "granted", "told", "open", "start", "most")
        yield rest(before, after, who)

    return step


def closes(who):
    """It issues no more; what it has used is known from now on."""

    def step(before, after, local):
        it, its = getattr(before, who), getattr(after, who)
        yield z3.And(it.told, it.open, z3.Not(its.open), it.start <= its.end, its.end <= it.end)
        yield same(it, its, "granted", "told", "start", "most")
        yield rest(before, after, who)

    return step


def releases(who, is_closed=True):
    def step(before, after, local):
        record, new = before.record, after.record
        used = getattr(before, who).end if who in NUMBER else local("used")
        if not is_closed:
            used = local("used")
        yield z3.And(record.there, record.held, z3.Not(new.held), new.end == rules.released_end(record, used))
        yield same(record, new, "there", "start", "fencing", "owner")
        yield rest(before, after, "record")
        if who in NUMBER:
            it = getattr(before, who)
            yield z3.And(has(before, who), it.told, z3.Not(it.open) if is_closed else True)
        else:
            yield record.owner == OTHERS

    return step


def steps():
    found = {}
    for who in HOLDERS:
        found |= {
            f"the answer reaches {who}": is_told(who),
            f"{who} learns of a renewal": learns(who),
            f"{who} closes its sequencer": closes(who),
        }
    for who in [*HOLDERS, "another"]:
        found |= {
            f"{who} is granted the node id": acquires(who),
            f"{who} renews": renews(who),
            f"{who} releases": releases(who),
        }
    return found


def system(**changed):
    return System("a store that remembers, any clocks", SHAPE, begin, invariant, promise, steps() | changed)


def systems():
    return [system()]


def flaws():
    """Rules left out."""

    def after_its_start(record, now):
        return z3.Or(z3.Not(record.there), record.start < now)

    return {
        "a node id is granted again once its lease has begun": system(
            **{"h is granted the node id": acquires("h", is_free=after_its_start)}
        ),
        "a renewal does not compare whose lease it is": system(**{"g renews": renews("g", compares=False)}),
        "a holder releases before it is closed": system(**{"g releases": releases("g", is_closed=False)}),
    }
