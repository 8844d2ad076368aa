"""Namespaces that are dropped and opened again with another layout: another epoch, another tick. Any clocks; a store that remembers.

The mark of a drop says in its ticks how long leases may be in use, and the next namespace waits as long in its own. Times are in
milliseconds, of no particular epoch. `g` is a lease of any namespace before, `h` one of the present namespace.
"""

import z3

import rules
from logic import Max
from system import System, rest, same

SHAPE = {
    # `epoch`: where its tick 0 begins; `coarse`: which of two lengths its ticks have.
    "namespace": {"dropped": bool, "quarantine": int, "epoch": int, "coarse": bool},
    "record": {"there": bool, "start": int, "end": int},
    # The interval of a lease, in milliseconds, while it is granted or was.
    **{who: {"granted": bool, "start": int, "end": int} for who in "gh"},
    # The latest end of all leases of namespaces before, in milliseconds.
    "ghost": {"until": int},
}


class Terms:
    def __init__(self, fine_ms, coarse_ms, *, outlasts=True, converts=True, rounds_up=True):
        self.lengths = (fine_ms, coarse_ms)
        self.outlasts = outlasts
        self.converts = converts
        self.rounds_up = rounds_up

    def ms(self, namespace, tick):
        fine, coarse = self.lengths
        return namespace.epoch + z3.If(namespace.coarse, tick * coarse, tick * fine)

    def begin(self, state):
        yield z3.Not(z3.Or(state.namespace.dropped, state.record.there, state.g.granted, state.h.granted))
        yield z3.And(state.namespace.quarantine >= 0, state.ghost.until <= self.ms(state.namespace, 0))

    def invariant(self, state):
        namespace, record, g, h = state.namespace, state.record, state.g, state.h
        yield z3.And(namespace.quarantine >= 0, state.ghost.until <= self.ms(namespace, namespace.quarantine))
        yield z3.Implies(record.there, z3.And(namespace.quarantine >= 0, record.start >= 0, record.start <= record.end))
        yield z3.Implies(z3.Not(record.there), z3.Implies(h.granted, h.end <= self.ms(namespace, namespace.quarantine)))
        yield z3.Implies(record.there, z3.Implies(h.granted, h.end <= self.ms(namespace, record.end)))
        yield z3.Implies(g.granted, g.end <= state.ghost.until)
        yield self.promise(state)

    def promise(self, state):
        g, h = state.g, state.h
        return z3.Implies(z3.And(g.granted, h.granted), g.end <= h.start)

    def is_granted(self, before, after, local):
        now, ttl, namespace, record, new = local("now"), local("ttl"), before.namespace, before.record, after.record
        yield z3.And(z3.Not(namespace.dropped), now >= namespace.quarantine, now >= 0, ttl >= 1, rules.is_free(record, now))
        yield z3.And(new.there, new.start == now, new.end == now + ttl)
        # Any lease of the namespace may be the one that is looked at.
        is_h = z3.And(after.h.granted, after.h.start == self.ms(namespace, now), after.h.end == self.ms(namespace, now + ttl))
        yield z3.Or(is_h, same(before.h, after.h))
        yield rest(before, after, "record", "h")

    def is_renewed(self, before, after, local):
        namespace, record, new = before.namespace, before.record, after.record
        yield z3.And(z3.Not(namespace.dropped), record.there, new.there, new.start == record.start, new.end >= record.end)
        is_h = z3.And(before.h.granted, before.h.start == self.ms(namespace, record.start))
        longer = z3.And(after.h.granted, after.h.start == before.h.start, after.h.end == self.ms(namespace, new.end))
        yield z3.If(is_h, longer, same(before.h, after.h))
        yield rest(before, after, "record", "h")

    def drops(self, before, after, local):
        namespace, known = before.namespace, after.namespace
        yield z3.And(z3.Not(namespace.dropped), known.dropped, known.quarantine >= namespace.quarantine)
        yield z3.And(same(namespace, known, "epoch", "coarse"), rest(before, after, "namespace"))

    def clears(self, before, after, local):
        """What the drop leaves is removed, once the mark waits for it."""
        namespace, known, record = before.namespace, after.namespace, before.record
        yield z3.And(namespace.dropped, record.there, z3.Not(after.record.there))
        outlasted = Max(namespace.quarantine, record.end) if self.outlasts else namespace.quarantine
        yield z3.And(known.quarantine == outlasted, same(namespace, known, "dropped", "epoch", "coarse"))
        yield rest(before, after, "namespace", "record")

    def reopens(self, before, after, local):
        """`begin_after`: with any epoch, and ticks of either length."""
        namespace, known = before.namespace, after.namespace
        yield z3.And(namespace.dropped, z3.Not(before.record.there), z3.Not(known.dropped))
        until = self.ms(namespace, namespace.quarantine) - known.epoch
        fine, coarse = self.lengths
        if not self.converts:
            waits = namespace.quarantine
        elif not self.rounds_up:
            waits = z3.If(known.coarse, until / coarse, until / fine)
        else:
            waits = z3.If(known.coarse, rules.tick_after(until - 1, coarse), rules.tick_after(until - 1, fine))
        yield z3.And(known.quarantine == Max(waits, 0))
        # All leases of before are among those of `g` now.
        yield after.ghost.until == Max(before.ghost.until, z3.If(before.h.granted, before.h.end, before.ghost.until))
        yield z3.Or(same(before.g, after.g), z3.And(before.h.granted, same(before.h, after.g)))
        yield z3.And(z3.Not(after.h.granted), rest(before, after, "namespace", "ghost", "g", "h"))

    def system(self):
        steps = {
            "a node id is granted": self.is_granted,
            "its lease is renewed": self.is_renewed,
            "an operator drops the namespace": self.drops,
            "what the drop leaves is removed": self.clears,
            "it is opened again with other terms": self.reopens,
        }
        fine, coarse = self.lengths
        title = f"reopenings with another layout, ticks of {fine} and {coarse} ms"
        return System(title, SHAPE, self.begin, self.invariant, self.promise, steps)


def systems():
    return [Terms(*lengths).system() for lengths in [(1, 1_000), (10, 256), (1_000, 64_000)]]


def flaws():
    return {
        "the mark of a drop does not wait for leases that are there": Terms(1, 1_000, outlasts=False).system(),
        "another layout takes the ticks of the mark for its own": Terms(1, 1_000, converts=False).system(),
        "the end of the mark is rounded down": Terms(10, 256, rounds_up=False).system(),
    }
