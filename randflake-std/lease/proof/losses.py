"""A store that forgets, any number of times, and whose fingerprint tells: a restored backup, a promoted replica, a new volume. Or it does
not tell, and an operator has stopped all processes and quarantines the namespace before the first one starts.

After a loss it goes on from any earlier state. Its clock is within `MAX_SKEW` of true time whenever it is read; clients compare it
with theirs. `L`, the longest TTL in milliseconds, is any number; the tick is given, because a division by an unknown is not
decided. Holders are those of `memory.py`.
"""

import z3

import rules
from logic import Max, ceil, floor
from memory import HOLDERS, NUMBER, OTHERS, apart, bound, has, is_told, learns
from memory import SHAPE as MEMORY
from rules import MAX_SKEW_MS
from system import System, rest, same

SHAPE = {
    **MEMORY,
    # `may_renew`: its owner issues still, or has not been told.
    "record": {**MEMORY["record"], "may_renew": bool},
    # True time now, at the last loss, and when the namespace's record was last written by an operator or lost; the latest end
    # that was ever granted, by now and of what is forgotten.
    "ghost": {
        **MEMORY["ghost"], "time": int, "lost_at": int, "written_at": int, "latest": int, "latest_lost": int,
    },
    # `changed`: the engine's fingerprint differs from the record's; `dropped`: it is the mark of a drop;
    # `stopped`: an operator has stopped all processes.
    "namespace": {"quarantine": int, "changed": bool, "dropped": bool, "longest_ms": int, "stopped": bool},
}


def may_renew(holder):
    return z3.Or(z3.Not(holder.told), holder.open)


class Losses:
    """The system for layouts of one tick, whole or with a rule changed."""

    def __init__(
        self, tick_ms, *, quarantine=rules.quarantine_ticks, trusts=rules.trusts, compares_clock=True, outlasts=True,
        operator_waits=True, operator_quarantines=True,
    ):
        self.tick_ms = tick_ms
        self.outlasts = outlasts
        self.operator_waits = operator_waits
        self.operator_quarantines = operator_quarantines
        self.quarantine = quarantine
        self.trusts = trusts
        self.compares_clock = compares_clock

    def system(self):
        title = f"a store that forgets, ticks of {self.tick_ms} ms"
        return System(title, SHAPE, self.begin, self.invariant, promise, self.steps())

    def latest_tick(self, time):
        """The last tick that a clock can show at a true time."""
        return floor(time + MAX_SKEW_MS, self.tick_ms)

    def earliest_tick(self, time):
        """The first tick that a clock can show at a true time."""
        return floor(time - MAX_SKEW_MS, self.tick_ms)

    def longest(self, state):
        return rules.ticks(state.namespace.longest_ms, self.tick_ms)

    def quarantine_ticks(self, state):
        return self.quarantine(state.namespace.longest_ms, self.tick_ms)

    def begin(self, state):
        ghost, namespace = state.ghost, state.namespace
        yield z3.And(z3.Not(state.record.there), z3.Not(namespace.changed), namespace.longest_ms >= 1)
        yield z3.Not(z3.Or(namespace.dropped, namespace.stopped))
        yield z3.And(ghost.past == 0, ghost.latest == 0, ghost.latest_lost == 0, namespace.quarantine == 0)
        yield z3.And(ghost.time == ghost.lost_at, ghost.time == ghost.written_at, ghost.time >= MAX_SKEW_MS, ghost.last >= 0)
        for who in HOLDERS:
            it = getattr(state, who)
            yield z3.Not(z3.Or(it.granted, it.told, it.open))

    def invariant(self, state):
        record, ghost, namespace = state.record, state.ghost, state.namespace
        lost = ghost.latest_lost
        now = self.latest_tick(ghost.time)
        yield z3.And(ghost.past >= 0, namespace.quarantine >= 0, namespace.longest_ms >= 1)
        yield z3.And(ghost.time >= ghost.written_at, ghost.written_at >= ghost.lost_at, ghost.lost_at >= MAX_SKEW_MS)
        yield z3.And(0 <= lost, lost <= ghost.latest)
        yield ghost.latest <= now + self.longest(state)
        yield lost <= self.latest_tick(ghost.lost_at) + self.longest(state)
        waits = z3.Or(namespace.quarantine >= lost, self.earliest_tick(ghost.written_at) >= lost)
        yield z3.Implies(z3.Not(z3.Or(namespace.changed, namespace.stopped)), waits)
        is_in_time = z3.And(record.end <= ghost.latest, record.start <= now)
        yield z3.Implies(
            record.there,
            z3.And(record.start <= record.end, ghost.past <= record.start, record.owner >= 0, record.owner <= OTHERS, is_in_time),
        )
        yield z3.Implies(z3.Not(record.there), ghost.past == 0)
        yield z3.Implies(z3.And(record.there, z3.Not(record.held)), z3.Not(record.may_renew))
        for who in HOLDERS:
            it, its = getattr(state, who), has(state, who)
            yield z3.Implies(it.open, it.told)
            yield z3.Implies(it.told, z3.And(it.granted, it.start <= it.end, it.end <= it.most))
            yield z3.Implies(
                it.granted, z3.And(it.start >= 0, it.start <= it.most, it.most <= ghost.latest, it.start <= now)
            )
            yield z3.Implies(its, z3.And(it.granted, it.start == record.start, record.end <= it.most))
            yield z3.Implies(its, z3.Implies(record.held, record.may_renew == may_renew(it)))
            kept = Max(record.end, lost)
            yield z3.Implies(z3.And(its, record.held, record.may_renew), it.most <= kept)
            yield z3.Implies(z3.And(its, record.held, z3.Not(record.may_renew)), bound(it) <= kept)
            released = z3.And(it.told, z3.Not(it.open), it.end <= kept)
            yield z3.Implies(z3.And(its, z3.Not(record.held)), released)
            # Not the record's: before it, or forgotten. Then it ends before the quarantine does, and begins where the record
            # ends.
            after = z3.Implies(z3.And(record.there, record.may_renew), record.end <= it.start)
            forgotten = z3.And(bound(it) <= lost, it.start <= self.latest_tick(ghost.lost_at), after)
            yield z3.Implies(z3.And(it.granted, z3.Not(its)), z3.Or(bound(it) <= ghost.past, forgotten))
            yield z3.Implies(z3.And(it.granted, z3.Not(its), z3.Not(record.there)), bound(it) <= lost)
        g, h = state.g, state.h
        yield z3.Implies(z3.And(g.granted, h.granted), apart(g, bound(g), h, bound(h)))

    def reads(self, state, time):
        """A time that the store shows. It was read after the last loss and after the record of the namespace was written: else the
        fingerprint or that record refuses the write."""
        if not self.compares_clock:
            return time >= 0
        ghost = state.ghost
        return z3.And(time >= ghost.written_at - MAX_SKEW_MS, time <= ghost.time + MAX_SKEW_MS, time >= 0)

    def allows(self, state, ttl):
        return z3.And(ttl >= 1, ttl <= self.longest(state))

    def acquires(self, who):
        def step(before, after, local):
            time, ttl, record, new = local("time"), local("ttl"), before.record, after.record
            now = floor(time, self.tick_ms)
            grant = rules.granted(record, now, ttl, before.ghost.last)
            yield z3.And(self.reads(before, time), self.allows(before, ttl), now < before.ghost.last)
            # Not in a quarantine, nor where one is to be noticed first.
            yield z3.And(z3.Not(before.namespace.changed), now >= before.namespace.quarantine, rules.is_free(record, now))
            yield z3.Not(z3.Or(before.namespace.dropped, before.namespace.stopped))
            yield z3.And(new.there, new.held, new.may_renew, new.owner == NUMBER.get(who, OTHERS))
            yield z3.And(new.start == grant.start, new.end == grant.end)
            ghost, then = before.ghost, after.ghost
            yield then.past == Max(z3.If(record.there, record.end, 0), ghost.latest_lost)
            yield then.latest == Max(ghost.latest, grant.end)
            yield same(ghost, then, "last", "time", "lost_at", "written_at", "latest_lost")
            yield rest(before, after, "record", "ghost", who)
            if who in NUMBER:
                it, its = getattr(before, who), getattr(after, who)
                yield z3.And(z3.Not(it.granted), its.granted, z3.Not(its.told), z3.Not(its.open))
                yield z3.And(its.start == grant.start, its.most == grant.end)

        return step

    def renews(self, who):
        def step(before, after, local):
            time, ttl, record, new = local("time"), local("ttl"), before.record, after.record
            now = floor(time, self.tick_ms)
            namespace, known = before.namespace, after.namespace
            waits = z3.Or(namespace.changed, now < namespace.quarantine)
            yield z3.And(self.reads(before, time), self.allows(before, ttl))
            yield z3.And(record.there, record.held, record.may_renew, now < record.end, z3.Not(namespace.dropped))
            yield z3.And(self.trusts(record, now, waits, self.tick_ms), z3.Not(namespace.stopped))
            yield new.end == rules.renewed_end(record, now, ttl, before.ghost.last)
            yield same(record, new, "there", "start", "fencing", "held", "owner", "may_renew")
            # What it notices is written with it.
            yield z3.And(z3.Not(known.changed), same(namespace, known, "longest_ms", "dropped", "stopped"))
            noticed = known.quarantine >= Max(namespace.quarantine, now + self.quarantine_ticks(before))
            yield z3.If(namespace.changed, noticed, known.quarantine == namespace.quarantine)
            yield after.ghost.latest == Max(before.ghost.latest, new.end)
            yield same(before.ghost, after.ghost, "past", "last", "time", "lost_at", "written_at", "latest_lost")
            yield rest(before, after, "record", "ghost", "namespace", who)
            if who in NUMBER:
                it, its = getattr(before, who), getattr(after, who)
                # Of one that was told, the record is no earlier than it knows.
                yield z3.And(has(before, who), it.told, it.open, record.end >= it.end)
                yield z3.And(its.most == Max(it.most, new.end), same(it, its, "granted", "told", "open", "start", "end"))
            else:
                yield record.owner == OTHERS

        return step

    def notices(self, before, after, local):
        """Somebody reads, and writes the quarantine that follows."""
        time, namespace, known = local("time"), before.namespace, after.namespace
        now = floor(time, self.tick_ms)
        yield z3.And(namespace.changed, z3.Not(known.changed), z3.Not(namespace.stopped), self.reads(before, time))
        yield known.quarantine >= Max(namespace.quarantine, now + self.quarantine_ticks(before))
        yield z3.And(same(namespace, known, "longest_ms", "dropped", "stopped"), rest(before, after, "namespace"))

    def drops(self, before, after, local):
        """An operator drops the namespace: its record becomes a mark. It may be decided on a view that is long past."""
        time, namespace, known = local("time"), before.namespace, after.namespace
        now = floor(time, self.tick_ms)
        yield z3.And(z3.Not(z3.Or(namespace.dropped, namespace.stopped)), self.reads(before, time), known.dropped, z3.Not(known.changed))
        yield known.quarantine >= Max(namespace.quarantine, now + self.quarantine_ticks(before))
        yield from self.operates(before, after)

    def clears(self, before, after, local):
        """What the drop leaves is removed, and waited for by the mark."""
        namespace, known, record, ghost, then = before.namespace, after.namespace, before.record, before.ghost, after.ghost
        yield z3.And(namespace.dropped, known.dropped, known.changed == namespace.changed, record.there, z3.Not(after.record.there))
        outlasted = Max(namespace.quarantine, record.end) if self.outlasts else namespace.quarantine
        yield z3.And(known.quarantine == outlasted, same(namespace, known, "longest_ms", "stopped"), z3.Not(namespace.stopped))
        yield z3.And(then.past == 0, then.latest_lost == Max(ghost.latest_lost, record.end), then.lost_at == ghost.time)
        yield z3.And(then.written_at == ghost.time, same(ghost, then, "last", "time", "latest"))
        yield z3.And(z3.Not(after.record.held), z3.Not(after.record.may_renew), rest(before, after, "record", "ghost", "namespace"))

    def reopens(self, before, after, local):
        """It is made anew, and waits as long as the mark says."""
        time, namespace, known = local("time"), before.namespace, after.namespace
        now = floor(time, self.tick_ms)
        yield z3.And(namespace.dropped, z3.Not(known.dropped), z3.Not(known.changed), self.reads(before, time))
        yield z3.Not(namespace.stopped)
        over = z3.If(namespace.changed, now + self.quarantine_ticks(before), 0)
        yield z3.And(known.quarantine >= Max(namespace.quarantine, over), z3.Not(before.record.there))
        yield from self.operates(before, after)

    def ends_quarantine(self, before, after, local):
        """An operator ends it, and so vouches that no forgotten lease is alive: also where none was ever granted."""
        namespace, known = before.namespace, after.namespace
        vouches = self.earliest_tick(before.ghost.time) >= before.ghost.latest_lost
        yield z3.And(z3.Not(z3.Or(namespace.dropped, namespace.stopped)), vouches if self.operator_waits else True)
        yield z3.And(known.quarantine == 0, z3.Not(known.changed), z3.Not(known.dropped))
        yield from self.operates(before, after)

    def operates(self, before, after):
        """The record of the namespace is written, and nothing else."""
        yield after.ghost.written_at == before.ghost.time
        yield same(before.ghost, after.ghost, "past", "last", "time", "lost_at", "latest", "latest_lost")
        yield z3.And(same(before.namespace, after.namespace, "longest_ms"), z3.Not(after.namespace.stopped))
        yield rest(before, after, "ghost", "namespace")

    def quarantines(self, before, after, local):
        """An operator quarantines it, and lets the processes start."""
        time, namespace, known = local("time"), before.namespace, after.namespace
        yield z3.And(self.reads(before, time), z3.Not(known.changed), known.dropped == namespace.dropped)
        yield known.quarantine >= Max(namespace.quarantine, floor(time, self.tick_ms) + self.quarantine_ticks(before))
        yield from self.operates(before, after)

    def is_restored(self, before, after, local):
        """An earlier state comes back and may look like the latest one, while all processes are stopped."""
        yield z3.And(after.namespace.stopped == self.operator_quarantines, *self.goes_back(before, after))

    def loses(self, before, after, local):
        yield z3.And(after.namespace.changed, z3.Not(after.namespace.stopped), *self.goes_back(before, after))

    def goes_back(self, before, after):
        """Any earlier state: a grant that was made, with an end that was written of it, held or released."""
        record, ghost, then = after.record, before.ghost, after.ghost
        yield z3.And(then.latest_lost == ghost.latest, then.lost_at == ghost.time, then.written_at == ghost.time)
        yield same(ghost, then, "last", "time", "latest")
        yield after.namespace.quarantine >= 0
        yield after.namespace.longest_ms == before.namespace.longest_ms
        yield rest(before, after, "record", "ghost", "namespace")
        is_in_time = z3.And(record.start >= 0, record.end <= ghost.latest, record.start <= self.latest_tick(ghost.time))
        yield z3.Implies(record.there, z3.And(record.start <= record.end, record.owner >= 0, record.owner <= OTHERS, is_in_time))
        yield then.past == z3.If(record.there, record.start, 0)
        yield z3.Implies(z3.Not(record.held), z3.Not(record.may_renew))
        for who in HOLDERS:
            it, its = getattr(before, who), z3.And(record.there, record.owner == NUMBER[who])
            yield z3.Implies(its, z3.And(it.granted, record.start == it.start, record.end <= it.most))
            yield z3.Implies(z3.And(its, record.held), record.may_renew == may_renew(it))
            yield z3.Implies(z3.And(its, z3.Not(record.held)), z3.And(it.told, z3.Not(it.open)))
            # Of two grants, one was over before the other began, and of one that may still be renewed no record reaches into
            # the other. Between `g` and `h` that is proved; another's is held against each of them by the same, as if it
            # were named.
            other = z3.And(record.there, record.owner == OTHERS, it.granted)
            yield z3.Implies(other, z3.Or(bound(it) <= record.start, z3.Implies(record.may_renew, record.end <= it.start)))

    def closes(self, who):
        def step(before, after, local):
            it, its = getattr(before, who), getattr(after, who)
            yield z3.And(it.told, it.open, z3.Not(its.open), it.start <= its.end, its.end <= it.end)
            yield same(it, its, "granted", "told", "start", "most")
            record, new = before.record, after.record
            yield same(record, new, "there", "start", "end", "fencing", "held", "owner")
            yield new.may_renew == z3.And(record.may_renew, z3.Not(has(before, who)))
            yield rest(before, after, who, "record")

        return step

    def releases(self, who):
        def step(before, after, local):
            record, new = before.record, after.record
            used = getattr(before, who).end if who in NUMBER else local("used")
            yield z3.And(record.there, record.held, z3.Not(new.held), z3.Not(new.may_renew))
            yield z3.And(new.end == rules.released_end(record, used), z3.Not(before.namespace.stopped))
            yield same(record, new, "there", "start", "fencing", "owner")
            yield rest(before, after, "record")
            if who in NUMBER:
                it = getattr(before, who)
                yield z3.And(has(before, who), it.told, z3.Not(it.open))
            else:
                yield record.owner == OTHERS

        return step

    def passes(self, before, after, local):
        yield after.ghost.time > before.ghost.time
        yield same(before.ghost, after.ghost, "past", "last", "lost_at", "written_at", "latest", "latest_lost")
        yield rest(before, after, "ghost")

    def steps(self):
        found = {}
        for who in HOLDERS:
            found |= {
                f"the answer reaches {who}": is_told(who),
                f"{who} learns of a renewal": learns(who),
                f"{who} closes its sequencer": self.closes(who),
            }
        for who in [*HOLDERS, "another"]:
            found |= {
                f"{who} is granted the node id": self.acquires(who),
                f"{who} renews": self.renews(who),
                f"{who} releases": self.releases(who),
            }
        return found | {
            "time passes": self.passes,
            "the store forgets": self.loses,
            "a backup is restored unnoticed": self.is_restored,
            "an operator quarantines the namespace": self.quarantines,
            "the loss is noticed": self.notices,
            "an operator drops the namespace": self.drops,
            "what the drop leaves is removed": self.clears,
            "it is opened again": self.reopens,
            "an operator ends the quarantine": self.ends_quarantine,
        }


def promise(state):
    g, h = state.g, state.h
    return z3.Implies(z3.And(g.told, h.told), apart(g, g.end, h, h.end))


# Those of the layouts, and lengths that divide neither the skew nor a usual TTL.
TICKS_MS = [1, 10, 256, 1_000, 8_000, 60_000, 64_000]


def systems():
    return [Losses(tick_ms).system() for tick_ms in TICKS_MS]


def flaws():
    def of_one_skew(longest_ms, tick_ms):
        return rules.ticks(longest_ms, tick_ms) + rules.ticks(MAX_SKEW_MS, tick_ms)

    def rounded_once(longest_ms, tick_ms):
        return ceil(longest_ms + 2 * MAX_SKEW_MS, tick_ms)

    def any_lease(record, now, in_quarantine, tick_ms):
        return True

    def with_one_skew(record, now, in_quarantine, tick_ms):
        return z3.Or(z3.Not(in_quarantine), now + rules.ticks(MAX_SKEW_MS, tick_ms) < record.end)

    def flawed(tick_ms, *unused, **changed):
        return Losses(tick_ms, **changed).system().without("another", "closes", "releases", *unused)

    drop = ["drops", "removed", "opened again"]
    operator = [*drop, "quarantine", "restored"]
    return {
        "a quarantine counts one skew": flawed(1_000, *operator, quarantine=of_one_skew),
        "a quarantine is rounded once": flawed(64_000, *operator, quarantine=rounded_once),
        "a renewal in a quarantine trusts any record": flawed(1_000, *operator, trusts=any_lease),
        "a renewal in a quarantine counts one skew": flawed(1_000, *operator, trusts=with_one_skew),
        "the store's clock is not compared": flawed(1_000, *drop, "restored", compares_clock=False),
        "a drop does not wait for leases that were renewed since it was sent": flawed(
            1_000, "forgets", "noticed", "quarantine", "restored", "renew", outlasts=False
        ),
        "an operator ends a quarantine too early": flawed(1_000, *drop, "restored", operator_waits=False),
        "a backup is restored unnoticed, and nobody quarantines it": flawed(1_000, *drop, operator_quarantines=False),
    }
