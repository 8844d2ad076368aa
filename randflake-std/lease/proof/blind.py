"""Renewals that are decided without a read: on the records that the holder wrote last, and an estimate of the store's clock. The write
compares the records, the fingerprint, and the store's clock with a window.

All else is as in `losses.py`. The machine's clock shows true time when it is compared, and its monotonic clock carries that on and
drifts by a part of it. The estimate's window is not needed for disjoint leases: it keeps one that has expired from coming back.
"""

import z3

import rules
from logic import Max, floor
from losses import SHAPE, Losses, promise
from memory import HOLDERS, has
from system import System, rest, same


class Blind(Losses):
    def __init__(
        self, tick_ms, *, compares_clock=True, compares_fingerprint=True, compares_namespace=True, compares_node=True, narrows=True
    ):
        super().__init__(tick_ms)
        self.compares_machine = compares_clock
        self.compares_fingerprint = compares_fingerprint
        self.compares_namespace = compares_namespace
        self.compares_node = compares_node
        self.narrows = narrows

    def system(self):
        title = f"renewals without a read, ticks of {self.tick_ms} ms"
        return System(title, SHAPE, self.begin, self.invariant, promise, self.steps())

    def renews_unread(self, who):
        def step(before, after, local):
            sent, estimate, shown, ttl = local("sent"), local("estimate"), local("shown"), local("ttl")
            record, new, namespace, ghost = before.record, after.record, before.namespace, before.ghost
            it, its = getattr(before, who), getattr(after, who)
            # It knows the namespace's record as it is: it has read or written it since.
            yield z3.And(0 <= sent, sent <= ghost.time, estimate >= 0, self.allows(before, ttl))
            yield z3.And(sent >= ghost.written_at if self.compares_namespace else True)
            # How long ago the machine's clock was compared, and what the monotonic one gained or lost since.
            age, drift = local("age"), local("drift")
            yield z3.And(age >= 0, -age <= rules.DRIFT_PART * drift, rules.DRIFT_PART * drift <= age)
            near = rules.carried_window(sent + drift, sent + drift, age if self.narrows else z3.IntVal(0))
            window = rules.blind_window(estimate, near)
            is_near = z3.And(near.is_allowed, window.is_allowed)
            yield z3.And(is_near if self.compares_machine else True, z3.Not(namespace.stopped), z3.Not(namespace.dropped))
            yield z3.Not(namespace.changed) if self.compares_fingerprint else True
            now = floor(estimate, self.tick_ms)
            if self.compares_node:
                yield z3.And(has(before, who), record.held, record.end >= it.end)
            yield z3.And(it.told, it.open, record.there, record.may_renew, now < record.end)
            yield rules.trusts(record, now, now < namespace.quarantine if self.compares_namespace else z3.BoolVal(False), self.tick_ms)
            expires = record.end * self.tick_ms - 1
            in_window = z3.And(window.least <= shown, shown <= window.most, shown <= expires)
            yield in_window if self.compares_machine else True
            yield new.end == rules.renewed_end(record, now, ttl, ghost.last)
            yield same(record, new, "there", "start", "fencing", "held", "owner", "may_renew")
            yield z3.And(its.most == Max(it.most, new.end), same(it, its, "granted", "told", "open", "start", "end"))
            yield after.ghost.latest == Max(ghost.latest, new.end)
            yield same(ghost, after.ghost, "past", "last", "time", "lost_at", "written_at", "latest_lost")
            yield rest(before, after, "record", "ghost", who)

        return step

    def steps(self):
        return super().steps() | {f"{who} renews without a read": self.renews_unread(who) for who in HOLDERS}


def systems():
    return [Blind(tick_ms).system() for tick_ms in [1, 1_000, 64_000]]


def flaws():
    def flawed(**changed):
        unused = ["another", "closes", "releases", "drops", "removed", "opened again", "ends the quarantine", "restored", "h renews"]
        return Blind(1_000, **changed).system().without(*unused)

    return {
        "a renewal without a read does not compare the estimate with the machine's clock": flawed(compares_clock=False),
        "the machine's clock is carried on for ever by one that drifts": flawed(narrows=False),
        "a renewal without a read does not compare the fingerprint": flawed(compares_fingerprint=False),
        "a renewal without a read does not compare the namespace's record": flawed(compares_namespace=False),
        "a renewal without a read does not compare whose lease it is": flawed(compares_node=False),
    }
