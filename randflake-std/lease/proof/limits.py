"""What losses and copies can do at most, under any clocks, noticed or not: ids may be shared up to the latest end that was granted by
then, and beyond it never.

`a` and `b` are copies of one holder, `h` is another one, and all others are one environment. At any time the store goes back to any
earlier state, and `b` becomes what `a` is. `shared` is the latest end that was granted by the last of these events. No quarantine is
counted on: those of `losses.py` keep a loss from doing even what is possible here.
"""

from types import SimpleNamespace

import z3

import rules
from logic import Max
from memory import apart, bound
from system import System, rest, same

HOLDERS = "abh"
COPY = {"a": 0, "b": 1}
# Whose grant the record is of: that of both copies, that of `h`, or one of the others.
COPIES, ANOTHER, OTHERS = 0, 1, 2
# Who made its last write: one of the copies, an earlier copy, or one of them before it was copied.
EARLIER, BOTH = 2, 3

HOLDER = {"granted": bool, "told": bool, "open": bool, "start": int, "end": int, "most": int}
SHAPE = {
    "record": {"there": bool, "held": bool, "start": int, "end": int, "grant": int, "author": int},
    **{who: HOLDER for who in HOLDERS},
    # `latest`: the latest end that was ever granted; `first`: the copy that has written since the last event, or -1.
    "ghost": {"latest": int, "shared": int, "last": int, "first": int},
}


def has(state, who):
    return z3.And(state.record.there, state.record.grant == (COPIES if who in COPY else ANOTHER))


def begin(state):
    ghost = state.ghost
    yield z3.And(z3.Not(state.record.there), ghost.latest == 0, ghost.shared == 0, ghost.last >= 0, ghost.first == -1)
    for who in HOLDERS:
        it = getattr(state, who)
        yield z3.Not(z3.Or(it.granted, it.told, it.open))


def beyond(shared, one, other):
    """From `shared` on they have no tick in common."""
    within = z3.Or(bound(one) <= shared, bound(other) <= shared)
    return z3.Implies(z3.And(one.granted, other.granted), z3.Or(within, apart(one, bound(one), other, bound(other))))


def promise(state):
    holders = [getattr(state, who) for who in HOLDERS]
    pairs = [(one, other) for place, one in enumerate(holders) for other in holders[:place]]
    return z3.And([beyond(state.ghost.shared, one, other) for one, other in pairs])


def invariant(state):
    record, ghost = state.record, state.ghost
    shared = ghost.shared
    yield z3.And(0 <= shared, shared <= ghost.latest, ghost.first >= -1, ghost.first <= 1)
    is_known = z3.And(record.grant >= COPIES, record.grant <= OTHERS, record.author >= 0, record.author <= BOTH)
    yield z3.Implies(record.there, z3.And(is_known, record.start <= record.end, record.end <= ghost.latest))
    of_copies = z3.And(record.there, record.grant == COPIES)
    yield z3.Implies(of_copies, z3.If(ghost.first == -1, record.end <= shared, record.author == ghost.first))
    for who in HOLDERS:
        it, its = getattr(state, who), has(state, who)
        yield z3.Implies(it.open, it.told)
        yield z3.Implies(it.told, z3.And(it.granted, it.start <= it.end, it.end <= it.most))
        yield z3.Implies(it.granted, z3.And(it.start >= 0, it.start <= it.most, it.most <= ghost.latest))
        yield z3.Implies(z3.And(its, it.granted), it.start == record.start)
        if who in COPY:
            yield z3.Implies(z3.And(it.granted, it.most > shared), ghost.first == COPY[who])
        else:
            yield z3.Implies(its, it.granted)
        # What it may issue ends where the record does, or where the record of the next one begins.
        reaches = z3.If(its, record.end, z3.If(record.there, record.start, 0))
        yield z3.Implies(it.granted, bound(it) <= Max(shared, reaches))
        yield z3.Implies(z3.And(its, record.held, it.granted), it.most <= Max(shared, record.end))
    yield z3.Implies(state.b.granted, z3.And(state.a.granted, state.a.start == state.b.start))
    yield z3.Implies(of_copies, state.a.granted)
    yield promise(state)


def writes(who, before, after):
    """The record is written, by a copy or by another holder."""
    ghost, then = before.ghost, after.ghost
    yield z3.And(then.latest == Max(ghost.latest, after.record.end), same(ghost, then, "shared", "last"))
    author = COPY.get(who, EARLIER)
    yield z3.And(after.record.author == author, then.first == (author if who in COPY else ghost.first))


def wrote(state, who, local):
    """`rules.wrote`: it knows nonces from before it was copied, and its own."""
    author = state.record.author
    is_known = z3.Or(author == BOTH, author == COPY[who])
    record = SimpleNamespace(serial=local("serial"), nonce=z3.If(is_known, local("nonce"), -1))
    lease = SimpleNamespace(serial=local("known_serial"), nonce=local("known_nonce"), written=z3.BoolVal(True))
    is_tried = z3.And(is_known, local("tried") == 1)
    return z3.And(lease.nonce >= 0, rules.wrote(record, lease, is_tried))


def acquires(who, is_free=rules.is_free):
    def step(before, after, local):
        now, ttl, record, new = local("now"), local("ttl"), before.record, after.record
        grant = rules.granted(SimpleNamespace(**vars(record), fencing=0), now, ttl, before.ghost.last)
        yield z3.And(now >= 0, ttl >= 1, now < before.ghost.last, is_free(record, now))
        yield z3.And(new.there, new.held, new.start == grant.start, new.end == grant.end)
        yield from writes(who, before, after)
        yield new.grant == {"a": COPIES, "h": ANOTHER, "another": OTHERS}[who]
        yield rest(before, after, "record", "ghost", who)
        if who in HOLDERS:
            it, its = getattr(before, who), getattr(after, who)
            yield z3.And(z3.Not(it.granted), its.granted, z3.Not(its.told), z3.Not(its.open))
            yield z3.And(its.start == grant.start, its.most == grant.end)

    return step


def renews(who, compares_grant=True, compares_write=True):
    def step(before, after, local):
        now, ttl, record, new = local("now"), local("ttl"), before.record, after.record
        yield z3.And(now >= 0, ttl >= 1, record.there, record.held, now < record.end)
        yield new.end == rules.renewed_end(record, now, ttl, before.ghost.last)
        yield same(record, new, "there", "start", "held", "grant")
        yield from writes(who, before, after)
        yield rest(before, after, "record", "ghost", who)
        if who in HOLDERS:
            it, its = getattr(before, who), getattr(after, who)
            yield z3.And(it.granted, has(before, who) if compares_grant else True)
            yield z3.And(its.most == Max(it.most, new.end), same(it, its, "granted", "told", "open", "start", "end"))
        else:
            yield record.grant == OTHERS
        if who in COPY and compares_write:
            yield wrote(before, who, local)

    return step


def claims(who, compares_write=True):
    """`rules.is_claimed`, after the answer to its acquire was lost."""

    def step(before, after, local):
        now, record, new = local("now"), before.record, after.record
        it, its = getattr(before, who), getattr(after, who)
        is_tried = z3.And(z3.Or(record.author == BOTH, record.author == COPY[who]), local("tried") == 1)
        claimed = SimpleNamespace(**vars(record), token=record.grant)
        yield z3.And(it.granted, z3.Not(it.told))
        yield rules.is_claimed(claimed, now, COPIES, is_tried if compares_write else True)
        yield same(record, new, "there", "start", "end", "held", "grant")
        yield from writes(who, before, after)
        yield z3.And(its.most == Max(it.most, record.end), same(it, its, "granted", "told", "open", "start", "end"))
        yield rest(before, after, "record", "ghost", who)

    return step


def is_told(who):
    """The answer arrives, of the acquire or of a claim."""

    def step(before, after, local):
        it, its = getattr(before, who), getattr(after, who)
        yield z3.And(it.granted, z3.Not(it.told), its.told, its.open, it.start <= its.end, its.end <= it.most)
        yield z3.And(same(it, its, "granted", "start", "most"), rest(before, after, who))

    return step


def learns(who):
    def step(before, after, local):
        it, its = getattr(before, who), getattr(after, who)
        yield z3.And(it.told, it.open, it.end <= its.end, its.end <= it.most)
        yield z3.And(same(it, its, "granted", "told", "open", "start", "most"), rest(before, after, who))

    return step


def closes(who):
    def step(before, after, local):
        it, its = getattr(before, who), getattr(after, who)
        yield z3.And(it.told, it.open, z3.Not(its.open), it.start <= its.end, its.end <= it.end)
        yield z3.And(same(it, its, "granted", "told", "start", "most"), rest(before, after, who))

    return step


def releases(who, is_closed=True, compares_write=True):
    def step(before, after, local):
        record, new = before.record, after.record
        used = getattr(before, who).end if who in HOLDERS and is_closed else local("used")
        yield z3.And(record.there, record.held, z3.Not(new.held), new.end == rules.released_end(record, used))
        yield same(record, new, "there", "start", "grant")
        yield from writes(who, before, after)
        yield rest(before, after, "record", "ghost")
        if who in HOLDERS:
            it = getattr(before, who)
            yield z3.And(has(before, who), it.told, z3.Not(it.open) if is_closed else True)
        else:
            yield record.grant == OTHERS
        if who in COPY and compares_write:
            yield wrote(before, who, local)

    return step


def happens(before, after):
    """An event from which on it is counted."""
    ghost, then = before.ghost, after.ghost
    yield z3.And(then.shared == ghost.latest, then.first == -1, same(ghost, then, "latest", "last"))


def loses(before, after, local):
    """Any earlier state, whether or not anybody notices."""
    record = after.record
    yield z3.And(record.start >= 0, record.start <= record.end, record.end <= before.ghost.latest)
    yield z3.And(record.grant >= COPIES, record.grant <= OTHERS, record.author >= 0, record.author <= BOTH)
    for who in HOLDERS:
        it = getattr(before, who)
        yield z3.Implies(has(after, who), z3.And(before.a.granted if who in COPY else it.granted))
        yield z3.Implies(z3.And(has(after, who), it.granted), record.start == it.start)
    yield from happens(before, after)
    yield rest(before, after, "record", "ghost")


def is_copied(before, after, local):
    """What both know from now on, an earlier copy does not; what that one wrote, none of both does."""
    record, new = before.record, after.record
    is_own = z3.Or(record.author == COPY["a"], record.author == BOTH)
    yield z3.And(before.a.granted, same(before.a, after.b))
    yield z3.And(new.author == z3.If(is_own, BOTH, EARLIER), same(record, new, "there", "held", "start", "end", "grant"))
    yield from happens(before, after)
    yield rest(before, after, "record", "ghost", "b")


def system(**changed):
    steps = {"the store forgets": loses, "a is copied": is_copied}
    for who in HOLDERS:
        steps |= {
            f"the answer reaches {who}": is_told(who),
            f"{who} learns of a renewal": learns(who),
            f"{who} closes its sequencer": closes(who),
        }
    for who in [*HOLDERS, "another"]:
        steps |= {f"{who} renews": renews(who), f"{who} releases": releases(who)}
    for who in ["a", "h", "another"]:
        steps[f"{who} is granted the node id"] = acquires(who)
    for who in COPY:
        steps[f"{who} claims the lease"] = claims(who)
    return System("any losses and copies, any clocks", SHAPE, begin, invariant, promise, steps | changed)


def systems():
    return [system()]


def flaws():
    def after_its_start(record, now):
        return z3.Or(z3.Not(record.there), record.start < now)

    renewals = {f"{who} renews": renews(who, compares_write=False) for who in COPY}
    claimed = {f"{who} claims the lease": claims(who, compares_write=False) for who in COPY}
    return {
        "a renewal of a copy does not compare the last write": system(**renewals),
        "a copy claims by the token alone": system(**claimed),
        "a node id is granted again once its lease has begun, after a loss": system(
            **{"h is granted the node id": acquires("h", is_free=after_its_start)}
        ),
        "a renewal does not compare whose lease it is, after a loss": system(
            **{"h renews": renews("h", compares_grant=False)}
        ),
        "a copy releases before it is closed": system(**{"a releases": releases("a", is_closed=False)}),
    }
