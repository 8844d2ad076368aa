"""A device with a horizon: `Blocks` and the words that it keeps in a sleep, for any grants, also of tickets that are replayed, and any
clock.

Every reset forgets all but the horizon. One tick is watched, any of all: its ids are issued once, and all that is issued is below the
horizon. From there on a server may release the lease, if the device begins no further block of it. Of the store of the horizon its
contract is assumed (`HorizonStore`), of the kept words that they are shown as they were written last, or not at all. (If older ones
are shown, those of all but the last block are refused: they end elsewhere.)
"""

import z3

import block_rules as rules
from logic import Max
from system import System, rest, same

SHAPE = {
    # In seconds: what it shows, and what a boot will read; both are 0 if nothing is readable.
    "horizon": {"shown": int, "stored": int},
    # The generator's block; from `next` on nothing is issued yet.
    "block": {"there": bool, "start": int, "next": int, "end": int},
    "kept": {"there": bool, "start": int, "end": int},
    # The tick that is watched; whether it was issued, and issued again.
    "watched": {"tick": int, "issued": bool, "again": bool},
}


def holds(start, tick, end):
    return z3.And(start <= tick, tick < end)


class Device:
    """For a layout of one tick, whole or with a rule left out."""

    def __init__(
        self, tick_ms, *, is_durable_first=True, is_from_horizon=True, is_closed=True, empties=True, lengthens_last=True
    ):
        self.tick_ms = tick_ms
        self.is_durable_first = is_durable_first
        self.is_from_horizon = is_from_horizon
        self.is_closed = is_closed
        self.empties = empties
        self.lengthens_last = lengthens_last

    def tick_at(self, second):
        return rules.tick_at(second, self.tick_ms)

    def begin(self, state):
        yield z3.Not(z3.Or(state.block.there, state.kept.there, state.watched.issued, state.watched.again))
        yield z3.And(state.horizon.shown == state.horizon.stored, state.horizon.shown == 0)

    def invariant(self, state):
        horizon, block, kept, watched = state.horizon, state.block, state.kept, state.watched
        until, tick = self.tick_at(horizon.shown), watched.tick
        yield z3.And(0 <= horizon.shown, horizon.shown <= horizon.stored, z3.Not(watched.again))
        yield z3.Implies(block.there, z3.And(block.start <= block.next, block.next <= block.end, block.end <= until))
        yield z3.Implies(kept.there, z3.And(kept.start < kept.end, kept.end <= until))
        # What is left of both is to be issued once, and was not yet.
        yield z3.Implies(z3.And(block.there, kept.there), z3.Or(block.end <= kept.start, kept.end <= block.next))
        yield z3.Implies(watched.issued, tick < until)
        yield z3.Implies(z3.And(watched.issued, block.there), z3.Not(holds(block.next, tick, block.end)))
        yield z3.Implies(z3.And(watched.issued, kept.there), z3.Not(holds(kept.start, tick, kept.end)))

    def promise(self, state):
        below = z3.Implies(state.watched.issued, state.watched.tick < self.tick_at(state.horizon.stored))
        return z3.And(z3.Not(state.watched.again), below)

    def grant(self, local):
        """Of any ticket, also one that was accepted before."""
        start, end = local("grant_start"), local("grant_end")
        return start, end, z3.And(0 <= start, start < end)

    def raises(self, before, after, local, end, is_done):
        """`claim` and `raise`: to a block after `end`, or more; a raise that failed may have been written."""
        horizon, new = before.horizon, after.horizon
        block_s, rounding = local("block_s"), local("rounding")
        to = rules.claimed_horizon(end, block_s, self.tick_ms) + rounding
        yield z3.And(block_s >= 0, rounding >= 0)
        if is_done:
            yield z3.And(new.shown == Max(horizon.shown, to), new.stored == Max(new.shown, horizon.stored))
        else:
            yield z3.And(new.shown == horizon.shown, z3.Or(new.stored == horizon.stored, new.stored == Max(horizon.stored, to)))

    def is_provisioned(self, before, after, local):
        """`provision`: where no horizon is readable. An operator vouches that nothing was issued, as of a device that is new."""
        start, _, is_grant = self.grant(local)
        horizon, new = before.horizon, after.horizon
        yield z3.And(is_grant, horizon.shown == 0, z3.Not(before.watched.issued))
        yield z3.And(new.shown == Max(rules.second_from(start, self.tick_ms), 1), new.stored == Max(new.shown, horizon.stored))
        yield rest(before, after, "horizon")

    def begins(self, is_done):
        def step(before, after, local):
            start, end, is_grant = self.grant(local)
            now, horizon = local("now"), before.horizon
            yield z3.And(is_grant, now >= 0, horizon.shown > 0)
            shown = horizon.shown if self.is_from_horizon else 0
            first = rules.first_tick(shown, start, now, self.tick_ms)
            yield first < end
            yield from self.raises(before, after, local, first, is_done)
            if is_done or not self.is_durable_first:
                block = after.block
                raised = after.horizon.shown if is_done else rules.claimed_horizon(first, local("block_s"), self.tick_ms)
                yield z3.And(block.there, block.start == first, block.next == first)
                yield block.end == rules.end_below(raised, end, self.tick_ms)
                # A former block is replaced.
                yield rest(before, after, "horizon", "block")
            else:
                yield rest(before, after, "horizon")

        return step

    def extends(self, is_done):
        def step(before, after, local):
            start, end, is_grant = self.grant(local)
            block, new = before.block, after.block
            yield z3.And(is_grant, before.horizon.shown > 0, block.there, block.end < end)
            if self.lengthens_last:
                yield block.end == rules.end_below(before.horizon.shown, end, self.tick_ms)
            yield from self.raises(before, after, local, block.end, is_done)
            if is_done:
                yield z3.And(new.end == rules.end_below(after.horizon.shown, end, self.tick_ms), same(block, new, "there", "start", "next"))
                yield rest(before, after, "horizon", "block")
            else:
                yield rest(before, after, "horizon")

        return step

    def issues(self, before, after, local):
        block, new = before.block, after.block
        yield z3.And(block.there, block.next < block.end, new.next > block.next, new.next <= block.end)
        yield z3.And(same(block, new, "there", "start", "end"), rest(before, after, "block", "watched"))
        watched, then = before.watched, after.watched
        is_issued = holds(block.next, watched.tick, new.next)
        yield z3.And(then.tick == watched.tick, then.issued == z3.Or(watched.issued, is_issued))
        yield then.again == z3.Or(watched.again, z3.And(watched.issued, is_issued))

    def retains(self, before, after, local):
        """`retain`: closes the generator, and keeps what is left; then all of RAM is lost."""
        block, kept = before.block, after.kept
        yield z3.And(block.there, kept.there == (block.next < block.end), kept.start == block.next, kept.end == block.end)
        if self.is_closed:
            yield z3.And(z3.Not(after.block.there), after.horizon.shown == before.horizon.stored)
            yield z3.And(same(before.horizon, after.horizon, "stored"), rest(before, after, "block", "kept", "horizon"))
        else:
            yield rest(before, after, "kept")

    def resets(self, before, after, local):
        """Also a wake from a sleep whose words are not shown."""
        yield z3.And(z3.Not(after.block.there), same(before.horizon, after.horizon, "stored"))
        yield z3.And(after.horizon.shown == before.horizon.stored, rest(before, after, "block", "horizon"))

    def resumes(self, before, after, local):
        """`resume`, at any time: the words are emptied before the first id, and read back."""
        start, end, is_grant = self.grant(local)
        kept, block = before.kept, after.block
        yield z3.And(is_grant, kept.there, before.horizon.shown > 0)
        yield kept.end == rules.end_below(before.horizon.shown, end, self.tick_ms)
        yield after.kept.there == (not self.empties)
        yield z3.And(block.there, block.start == kept.start, block.next == kept.start, block.end == kept.end)
        if not self.empties:
            yield same(kept, after.kept, "start", "end")
        yield rest(before, after, "block", "kept")

    def steps(self):
        return {
            "it is provisioned": self.is_provisioned,
            "a block begins": self.begins(True),
            "a block is to begin, and the raise fails": self.begins(False),
            "the block is extended": self.extends(True),
            "the block is to be extended, and the raise fails": self.extends(False),
            "ids are issued": self.issues,
            "it sleeps": self.retains,
            "it is reset": self.resets,
            "it goes on with what was kept": self.resumes,
        }

    def system(self):
        title = f"a device with a horizon, ticks of {self.tick_ms} ms"
        return System(title, SHAPE, self.begin, self.invariant, self.promise, self.steps())


TICKS_MS = [1, 10, 256, 1_000, 8_000, 64_000]


def systems():
    return [Device(tick_ms).system() for tick_ms in TICKS_MS]


def flaws():
    return {
        "a block begins where the clock is, below the horizon": Device(1_000, is_from_horizon=False).system(),
        "a block is used although its raise failed": Device(1_000, is_durable_first=False).system(),
        "a sleep does not close the generator": Device(1_000, is_closed=False).system(),
        "a wake does not empty the words": Device(1_000, empties=False).system(),
        "a block is extended that is not the last one": Device(1_000, lengthens_last=False).system(),
    }
