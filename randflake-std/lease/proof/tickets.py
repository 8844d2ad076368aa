"""A lease that servers hold for a device, and the tickets that they send it: late, lost, in any order, or again. Any clocks; a store that
remembers.

A ticket is made after a renewal, with the end that was written. The device uses ticks in blocks below its horizon (`device.py`), also of
a ticket that it has accepted before. When it reports its horizon and begins no further block, a server ends the lease there: that the
device keeps to it is assumed. Nobody else is granted a tick that the device may issue.
"""



import z3

import rules
from logic import Max, Min
from system import System, rest, same

SHAPE = {
    "record": {"there": bool, "held": bool, "is_device": bool, "start": int, "end": int, "fencing": int},
    # The latest ticket and any one before it: the first tick after its lease.
    "ticket": {"there": bool, "end": int},
    "former": {"there": bool, "end": int},
    # The device's lease, by the last ticket that it has accepted; every tick that it has issued, or may issue of its block, is below
    # the horizon. `done`: it has reported that, and begins no further block.
    "device": {"has_lease": bool, "end": int, "horizon": int, "done": bool},
    # The lease of a later holder.
    "other": {"granted": bool, "start": int},
    # `start`, `most`: of the device's lease, the latest end that was ever written.
    "ghost": {"granted": bool, "start": int, "most": int, "last": int},
}


def begin(state):
    yield z3.Not(z3.Or(state.record.there, state.ticket.there, state.former.there, state.device.has_lease, state.device.done))
    yield z3.Not(z3.Or(state.other.granted, state.ghost.granted))
    yield z3.And(state.device.horizon == 0, state.device.end == 0, state.ghost.last >= 0)


def bound(state):
    """The device issues nothing from here on."""
    return z3.If(state.device.done, Min(state.device.horizon, state.ghost.most), state.ghost.most)


def invariant(state):
    record, device, ghost = state.record, state.device, state.ghost
    ours = z3.And(record.there, record.is_device)
    yield z3.Implies(record.there, z3.And(record.start <= record.end, record.start >= 0))
    yield z3.Implies(ours, z3.And(ghost.granted, record.start == ghost.start))
    yield z3.Implies(z3.And(ours, record.held), ghost.most == record.end)
    yield z3.Implies(z3.And(ours, z3.Not(record.held)), z3.And(device.done, bound(state) <= record.end))
    yield z3.Implies(z3.And(ghost.granted, z3.Not(ours)), z3.And(record.there, bound(state) <= record.start, ghost.start <= record.start))
    for ticket in [state.ticket, state.former]:
        yield z3.Implies(ticket.there, z3.And(ghost.granted, ticket.end <= ghost.most))
    yield z3.Implies(device.has_lease, z3.And(ghost.granted, device.end <= ghost.most))
    is_over = z3.And(record.there, z3.Not(record.is_device), ghost.start <= state.other.start, bound(state) <= state.other.start)
    yield z3.Implies(z3.And(ghost.granted, state.other.granted), is_over)
    yield promise(state)


def promise(state):
    """The lease of the next holder begins after all that the device may have issued."""
    device, other = state.device, state.other
    issued = Min(device.horizon, device.end)
    return z3.Implies(z3.And(device.has_lease, other.granted), issued <= other.start)


def is_granted(to_device, is_free=rules.is_free):
    def step(before, after, local):
        now, ttl, record, new = local("now"), local("ttl"), before.record, after.record
        grant = rules.granted(record, now, ttl, before.ghost.last)
        yield z3.And(now >= 0, ttl >= 1, now < before.ghost.last, is_free(record, now))
        yield z3.And(new.there, new.held, new.start == grant.start, new.end == grant.end, new.fencing == grant.fencing)
        yield new.is_device == to_device
        if to_device:
            ghost, then = before.ghost, after.ghost
            yield z3.And(z3.Not(ghost.granted), then.granted, then.start == new.start, then.most == new.end, same(ghost, then, "last"))
            yield z3.And(z3.Not(before.other.granted), rest(before, after, "record", "ghost"))
        else:
            is_other = z3.And(after.other.granted, after.other.start == new.start)
            yield z3.And(z3.If(before.other.granted, same(before.other, after.other), is_other), rest(before, after, "record", "other"))

    return step


def makes_ticket(renews=True):
    """Any server: it renews the lease, and makes the ticket. The one before may arrive still."""

    def step(before, after, local):
        now, ttl, record, new, ticket = local("now"), local("ttl"), before.record, after.record, after.ticket
        ghost, then = before.ghost, after.ghost
        yield z3.And(record.there, record.is_device, record.held, now < record.end, ttl >= 1)
        yield z3.And(new.end == rules.renewed_end(record, now, ttl, ghost.last), same(record, new, "there", "held", "is_device", "start", "fencing"))
        yield z3.And(then.most == Max(ghost.most, new.end), same(ghost, then, "granted", "start", "last"))
        # Without the renewal: with the end that it wishes for.
        yield z3.And(ticket.there, ticket.end == new.end if renews else ticket.end >= new.end)
        yield z3.Or(same(before.former, after.former), same(before.ticket, after.former))
        yield rest(before, after, "record", "ticket", "former", "ghost")

    return step


def accepts(which):
    """A ticket that arrives. No counter is compared: it keeps the device from going back to an earlier end, not ids apart."""

    def step(before, after, local):
        ticket, device, new = getattr(before, which), before.device, after.device
        yield z3.And(ticket.there, new.has_lease, new.end == ticket.end)
        yield z3.And(same(device, new, "horizon", "done"), rest(before, after, "device"))

    return step


def begins_block(keeps_word=True):
    def step(before, after, local):
        device, new = before.device, after.device
        yield z3.And(device.has_lease, z3.Not(device.done) if keeps_word else True, device.horizon < device.end)
        yield z3.And(new.horizon > device.horizon, same(device, new, "has_lease", "end", "done"), rest(before, after, "device"))

    return step


def reports(before, after, local):
    device, new = before.device, after.device
    yield z3.And(new.done, same(device, new, "has_lease", "end", "horizon"), rest(before, after, "device"))


def is_released(from_horizon=True):
    def step(before, after, local):
        record, new = before.record, after.record
        used = before.device.horizon if from_horizon else local("now")
        yield z3.And(record.there, record.is_device, record.held, before.device.done if from_horizon else True)
        yield z3.And(z3.Not(new.held), new.end == rules.released_end(record, used))
        yield z3.And(same(record, new, "there", "is_device", "start", "fencing"), rest(before, after, "record"))

    return step


def system(**changed):
    steps = {
        "a server leases for the device": is_granted(True),
        "a server renews and makes a ticket": makes_ticket(),
        "the device accepts the latest ticket": accepts("ticket"),
        "the device accepts an older ticket": accepts("former"),
        "the device begins a block": begins_block(),
        "the device reports its horizon": reports,
        "a server releases the lease from there on": is_released(),
        "another is granted the node id": is_granted(False),
    }
    return System("a device's lease and its tickets", SHAPE, begin, invariant, promise, steps | changed)


def systems():
    return [system()]


def flaws():
    return {
        "a server releases the lease by its own clock": system(
            **{"a server releases the lease from there on": is_released(from_horizon=False)}
        ),
        "a device begins a block after it has reported its horizon": system(**{"the device begins a block": begins_block(False)}),
        "a ticket has another end than was written": system(**{"a server renews and makes a ticket": makes_ticket(renews=False)}),
    }
