"""A namespace of tagged UUIDs, whose key changes while holders lease. Any clocks; a store that remembers; any number of holders, and
of commands that take the next key.

Leases are those of `memory.py`, and each holder leases under one key. It reads the namespace's record, decides by that, and writes
later, on the condition that the record is still what it has read. A command that takes the next key does the same. `n` is any one
number: what is proved of it is so of all.

A UUID has the number of its key in the clear, and its id is a position under the secret of that number. So two are equal only if
they have one number, which has one secret, and one position, which is issued once. How long a change takes is counted by what
the store's clock has shown, right or wrong.
"""

from types import SimpleNamespace

import z3

import key_rules
import memory
import rules
from memory import HOLDERS
from system import System, rest, same

KEY = {"number": int, "check": int}
# Number 0: nobody has leased with a key.
RECORD = {"writes": int, **KEY}
KEYS = {who: f"{who}_key" for who in HOLDERS}
VIEWS = {who: f"{who}_view" for who in [*HOLDERS, "command"]}

SHAPE = {
    **memory.SHAPE,
    # Whether it was granted or renewed anything under `n` after the namespace had gone on.
    **{who: {**memory.SHAPE[who], "late": bool} for who in HOLDERS},
    # The key that each leases under.
    **{key: KEY for key in KEYS.values()},
    "namespace": RECORD,
    # The namespace's record as each has read it.
    **{view: {"there": bool, **RECORD} for view in VIEWS.values()},
    # The key that the command brings.
    "command": KEY,
    # Of one number: whether the namespace had it ever, and the first check value that it had then; whether the namespace has gone
    # on from it, and the tick from which on nobody may issue under it then.
    "n": {"number": int, "had": bool, "check": int, "left": bool, "until": int},
    # `shown`: the latest tick that the store's clock has shown; `longest`: the longest TTL.
    "clock": {"shown": int, "longest": int},
}


def key_of(record):
    form = z3.If(record.number == 0, z3.IntVal(key_rules.NO_KEY), z3.IntVal(key_rules.TAGGED))
    return SimpleNamespace(form=form, number=record.number, check=record.check)


def begin(state):
    namespace, command, n = state.namespace, state.command, state.n
    yield from memory.begin(state)
    yield z3.And(state.clock.longest >= 1, state.clock.shown >= 0)
    yield z3.And(*(it == 0 for it in [namespace.writes, namespace.number, namespace.check, command.number, command.check]))
    yield z3.And(n.number >= 1, z3.Not(z3.Or(n.had, n.left)), n.check == 0, n.until == 0)
    for view in VIEWS.values():
        yield z3.Not(getattr(state, view).there)
    for who in HOLDERS:
        yield z3.And(getattr(state, KEYS[who]).number >= 1, z3.Not(getattr(state, who).late))


def invariant(state):
    namespace, n, clock = state.namespace, state.n, state.clock
    yield from memory.invariant(state)
    yield z3.And(namespace.number >= 0, n.number >= 1, clock.longest >= 1, clock.shown >= 0)
    yield n.had == z3.Or(n.left, namespace.number == n.number)
    for name in VIEWS.values():
        view = getattr(state, name)
        yield z3.Implies(view.there, view.writes <= namespace.writes)
        yield z3.Implies(z3.And(view.there, view.writes == namespace.writes), same(view, namespace, *KEY))
    for who in HOLDERS:
        it = getattr(state, who)
        yield getattr(state, KEYS[who]).number >= 1
        yield z3.Implies(it.granted, it.most <= clock.shown + clock.longest)
    yield promise(state)


def promise(state):
    namespace, n = state.namespace, state.n
    never_back = z3.Implies(n.left, namespace.number > n.number)
    one_secret = z3.Implies(namespace.number == n.number, namespace.check == n.check)
    return z3.And(memory.promise(state), never_back, one_secret, *(of_holder(state, who) for who in HOLDERS))


def of_holder(state, who):
    """What it may issue under `n` is under that number's secret. Once the namespace has gone on, nothing is added to that, and it
    is over in time."""
    it, key, n = getattr(state, who), getattr(state, KEYS[who]), state.n
    is_over = z3.Implies(n.left, memory.bound(it) <= n.until)
    of_n = z3.Implies(z3.And(it.granted, key.number == n.number), z3.And(n.had, key.check == n.check, is_over))
    return z3.And(of_n, z3.Not(it.late))


def reads(who, *changes):
    """The namespace's record, which it decides by from now on."""

    def step(before, after, local):
        its = getattr(after, VIEWS[who])
        yield z3.And(its.there, same(before.namespace, its), rest(before, after, VIEWS[who], *changes))

    return step


def is_current(before, who):
    view = getattr(before, VIEWS[who])
    return z3.And(view.there, view.writes == before.namespace.writes)


def looks_at_no_key(who, step):
    def looking(before, after, local):
        yield from step(before, after, local)
        yield same(getattr(before, who), getattr(after, who), "late")

    return looking


def leases(who, step, agrees=key_rules.agrees, may_lease=key_rules.may_lease, compares=True):
    """A grant or a renewal, under the key of its holder."""

    def leasing(before, after, local):
        yield from step(before, after, local)
        yield z3.And(local("now") <= before.clock.shown, local("ttl") <= before.clock.longest)
        it, its, n = getattr(before, who), getattr(after, who), before.n
        view, key = getattr(before, VIEWS[who]), getattr(before, KEYS[who])
        # Who leases first writes its key with the grant. Here that is a step of its own.
        yield z3.And(view.there, view.number > 0, is_current(before, who) if compares else True)
        yield z3.And(agrees(key_of(view), key_of(key)), may_lease(key_of(view), key_of(key)))
        yield its.late == z3.Or(it.late, z3.And(key.number == n.number, n.left))

    return leasing


def is_written(before, after):
    """The namespace's record is, in any way."""
    namespace, new, n, then = before.namespace, after.namespace, before.n, after.n
    has, had = new.number == n.number, namespace.number == n.number
    yield new.writes == namespace.writes + 1
    yield z3.And(then.number == n.number, then.had == z3.Or(n.had, has))
    yield then.check == z3.If(z3.And(has, z3.Not(n.had)), new.check, n.check)
    goes_on = z3.And(had, z3.Not(has))
    yield then.left == z3.Or(n.left, goes_on)
    yield then.until == z3.If(goes_on, before.clock.shown + before.clock.longest, n.until)
    yield rest(before, after, "namespace", "n")


def first_key(before, after, local):
    """The key of the first client that leases."""
    yield z3.And(before.namespace.number == 0, after.namespace.number >= 1)
    yield from is_written(before, after)


def command_reads(before, after, local):
    """One that brings any key."""
    yield after.command.number >= 1
    yield from reads("command", "command")(before, after, local)


def command_writes(is_next=key_rules.is_next, compares=True):
    def step(before, after, local):
        yield z3.And(before.command_view.there, is_current(before, "command") if compares else True)
        yield z3.And(is_next(key_of(before.command_view), key_of(before.command)), same(before.command, after.namespace))
        yield from is_written(before, after)

    return step


def another_command(is_next=key_rules.is_next):
    def step(before, after, local):
        yield z3.And(after.namespace.number >= 1, is_next(key_of(before.namespace), key_of(after.namespace)))
        yield from is_written(before, after)

    return step


def another_write(before, after, local):
    """A quarantine or an upgrade."""
    yield same(before.namespace, after.namespace, *KEY)
    yield from is_written(before, after)


def clock_goes_on(before, after, local):
    yield z3.And(after.clock.shown > before.clock.shown, after.clock.longest == before.clock.longest)
    yield rest(before, after, "clock")


def becomes_anything(before, after, local):
    """The namespace's record goes back, is lost and made again, or gets a key out of the wrong directory."""
    yield rest(before, after, "namespace")


def steps_of(leases):
    found = {}
    for who in HOLDERS:
        found |= {
            f"the answer reaches {who}": looks_at_no_key(who, memory.is_told(who)),
            f"{who} learns of a renewal": looks_at_no_key(who, memory.learns(who)),
            f"{who} closes its sequencer": looks_at_no_key(who, memory.closes(who)),
            f"{who} is granted the node id": leases(who, memory.acquires(who)),
            f"{who} renews": leases(who, memory.renews(who)),
        }
    for who in [*HOLDERS, "another"]:
        found[f"{who} releases"] = memory.releases(who)
    return found | {"another is granted the node id": memory.acquires("another"), "another renews": memory.renews("another")}


def system(**changed):
    steps = {f"{who} reads the namespace's record": reads(who) for who in HOLDERS}
    steps |= {
        "a command reads the namespace's record": command_reads,
        "the command takes the next key": command_writes(),
        "another command takes the next key": another_command(),
        "somebody leases first, with a key": first_key,
        "the namespace's record is written otherwise": another_write,
        "the clock goes on": clock_goes_on,
    }
    return System("a key that changes, any clocks", SHAPE, begin, invariant, promise, steps_of(leases) | steps | changed)


def any_numbers():
    """Positions are issued once, whatever becomes of the numbers, and no matter who leases under which."""
    steps = steps_of(looks_at_no_key) | {"the number becomes anything": becomes_anything}
    return System("positions, under any numbers", SHAPE, begin, memory.invariant, memory.promise, steps)


def systems():
    return [system(), any_numbers()]


def flaws():
    def every(stored, asked):
        return z3.BoolVal(True)

    def any_number(stored, asked):
        return z3.And(key_rules.are_tagged(stored, asked), stored.number != asked.number)

    def any_secret(stored, asked):
        is_same = z3.And(stored.number == asked.number, stored.check != asked.check)
        return z3.Or(key_rules.is_next(stored, asked), is_same)

    def frees(before, after, local):
        """The node id of `g`, which leases under a number before."""
        is_former = z3.And(memory.has(before, "g"), before.g_key.number < before.h_key.number)

        def is_free(record, now):
            return z3.Or(is_former, rules.is_free(record, now))

        yield from leases("h", memory.acquires("h", is_free))(before, after, local)

    def renewals(**rule):
        return {f"{who} renews": leases(who, memory.renews(who), **rule) for who in HOLDERS}

    def grants(**rule):
        return {f"{who} is granted the node id": leases(who, memory.acquires(who), **rule) for who in HOLDERS}

    def commands(is_next):
        return {
            "the command takes the next key": command_writes(is_next),
            "another command takes the next key": another_command(is_next),
        }

    freed = system(**{"h is granted the node id": frees})
    unused = ["releases", "closes", "learns", "another is", "another renews", "otherwise"]
    found = {
        "renewals ignore the number": system(**renewals(may_lease=every)),
        "grants ignore the number": system(**grants(may_lease=every)),
        "a renewal does not compare the namespace's record": system(**renewals(compares=False)),
        "a grant does not compare the namespace's record": system(**grants(compares=False)),
        "the secret of a number is not compared": system(**grants(agrees=every)),
        "a next key goes back": system(**commands(any_number)),
        "a number gets another secret": system(**commands(any_secret)),
        "a next key frees the node ids of those before": freed.without("renews", "clock"),
    }
    found = {name: flawed.without("a command", "the command", *unused) for name, flawed in found.items()}
    unconditional = system(**{"the command takes the next key": command_writes(compares=False)})
    return found | {"a next key is written without a comparison": unconditional.without(*unused)}
