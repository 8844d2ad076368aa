"""A store in a file that is made in the place of another one, of which nothing in it tells. The holder of the other one issues until
it looks at its file.

Time is the one clock of the machine, which is not set back. Holders look each second: the last look of those that are not
paused is within `LOOKED_WITHIN_MS` after the loss. What is proved is that a node id which was probably leased before, such as a chosen
one, has no tick twice; of others, that the tick in which the store was made is not issued again. The tick is given, because a division
by an unknown is not decided.
"""

import z3

import rules
from losses import TICKS_MS
from logic import Max, floor
from rules import LOOKED_WITHIN_MS
from system import System, rest, same

SHAPE = {
    # `last`: the last tick that the holder has issued in, or -1.
    "old": {"open": bool, "last": int},
    "new": {"there": bool, "made": int, "granted": bool, "start": int, "is_spread": bool},
    "ghost": {"time": int},
}


class Young:
    """The system for layouts of one tick, whole or with a rule changed."""

    def __init__(self, tick_ms, *, youth=rules.youth, grants_from=rules.grants_from, looks_within=LOOKED_WITHIN_MS):
        self.tick_ms = tick_ms
        self.youth = youth
        self.grants_from = grants_from
        self.looks_within = looks_within

    def system(self):
        steps = {
            "time passes": self.passes,
            "the holder issues": self.issues,
            "it looks, and stops": self.looks,
            "another store is made": self.is_made,
            "it grants the node id": self.grants,
        }
        title = f"a store in the place of another, ticks of {self.tick_ms} ms"
        return System(title, SHAPE, self.begin, self.invariant, self.promise, steps)

    def tick(self, time):
        return floor(time, self.tick_ms)

    def begin(self, state):
        old, new = state.old, state.new
        return [old.open, old.last == -1, z3.Not(new.there), z3.Not(new.granted), state.ghost.time >= 0]

    def invariant(self, state):
        old, new, time = state.old, state.new, state.ghost.time
        yield z3.And(time >= 0, old.last >= -1, old.last <= self.tick(time))
        yield z3.Implies(z3.Not(new.there), old.open)
        yield z3.Implies(new.there, z3.And(new.made >= 0, new.made <= time))
        looked = z3.And(new.there, old.open)
        yield z3.Implies(looked, time <= new.made + LOOKED_WITHIN_MS)
        yield z3.Implies(new.there, old.last <= self.tick(new.made + LOOKED_WITHIN_MS))
        after = z3.If(new.is_spread, new.made, new.made + LOOKED_WITHIN_MS)
        yield z3.Implies(new.granted, z3.And(new.there, new.start > self.tick(after)))

    def promise(self, state):
        old, new = state.old, state.new
        not_in_the_same = z3.If(new.is_spread, self.tick(new.made) < new.start, old.last < new.start)
        return z3.Implies(new.granted, not_in_the_same)

    def passes(self, before, after, local):
        time, later = before.ghost.time, after.ghost.time
        yield later > time
        unseen = z3.And(before.new.there, before.old.open)
        yield z3.Implies(unseen, later <= before.new.made + self.looks_within)
        yield rest(before, after, "ghost")

    def issues(self, before, after, local):
        yield before.old.open
        yield after.old.last == Max(before.old.last, self.tick(before.ghost.time))
        yield z3.And(same(before.old, after.old, "open"), rest(before, after, "old"))

    def looks(self, before, after, local):
        yield z3.And(before.new.there, before.old.open, z3.Not(after.old.open))
        yield z3.And(same(before.old, after.old, "last"), rest(before, after, "old"))

    def is_made(self, before, after, local):
        yield z3.And(z3.Not(before.new.there), after.new.there, after.new.made == before.ghost.time)
        yield z3.And(same(before.new, after.new, "granted"), rest(before, after, "new"))

    def grants(self, before, after, local):
        new, time = before.new, before.ghost.time
        node_ids, count, is_chosen = local("node_ids"), local("count"), local("is_chosen") == 1
        yield z3.And(new.there, z3.Not(new.granted), node_ids >= 1, count >= 1)
        wait = self.youth(self.tick_ms, node_ids, count, is_chosen)
        now = self.tick(time)
        yield now >= self.grants_from(new.made, time, wait, self.tick_ms)
        is_spread = z3.And(z3.Not(is_chosen), count * rules.ENOUGH <= node_ids)
        yield z3.And(after.new.granted, after.new.start == now, after.new.is_spread == is_spread)
        yield z3.And(same(new, after.new, "there", "made"), rest(before, after, "new"))


def systems():
    return [Young(tick_ms).system() for tick_ms in TICKS_MS]


def flaws():
    def at_once(made_ms, now_ms, wait_ms, tick_ms):
        return 0

    def within_the_tick(made_ms, now_ms, wait_ms, tick_ms):
        return floor(made_ms + wait_ms, tick_ms)

    def as_others(tick_ms, node_ids, count, is_chosen):
        return rules.youth(tick_ms, node_ids, count, z3.BoolVal(False))

    def as_one(tick_ms, node_ids, count, is_chosen):
        return rules.youth(tick_ms, node_ids, 1, is_chosen)

    return {
        "a store that is made grants at once": Young(1_000, grants_from=at_once).system(),
        "it grants in the tick in which it has waited long enough": Young(60_000, grants_from=within_the_tick).system(),
        "a chosen node id waits no longer than another one": Young(1_000, youth=as_others).system(),
        "many node ids at once wait no longer than one": Young(1_000, youth=as_one).system(),
        "a holder looks too late": Young(10, looks_within=2 * LOOKED_WITHIN_MS).system(),
    }
