"""The rules of leases, as `src/rules` has them, for one node id. `agree.py` compares each with the shipped function.

Times are in milliseconds since the layout's epoch, and in ticks. A record is a `SimpleNamespace`; a field `there` says whether
it exists.
"""

from types import SimpleNamespace

import key_rules
from logic import And, If, Max, Min, Not, Or, but, ceil, choose, floor

MAX_SKEW_MS = 10_000
DEFAULT_MAX_TTL_MS = 60_000
LOOKED_WITHIN_MS = 3_000
LONG_TICK_MS = 1_000
ENOUGH = 1 << 14
LEAP_MS = 1_000
DRIFT_PART = 2_000

# Answers: 0, or the kind of a refusal or a loss.
OK, SKEW, TERMS, DROPPED, UNUSABLE, INVALID, QUARANTINED, EXHAUSTED, NOT_NEW, OVERTAKEN = range(10)
RELEASED, CONTESTED, FORGOTTEN, EXPIRED, NONE = 10, 11, 12, 13, -1
KEY_NUMBER = 14
# Causes of a quarantine.
NEW, LOST, ASKED, DROP = range(4)
# No key, of a client without one.
UNSEALED = 0


# --- spans

def ticks(span_ms, tick_ms):
    """`Terms::ticks`: rounded up."""
    return ceil(span_ms, tick_ms)


def quarantine_ticks(longest_ms, tick_ms):
    """`Terms::quarantine_ticks`: each of both spans is rounded up."""
    return ticks(longest_ms, tick_ms) + ticks(2 * MAX_SKEW_MS, tick_ms)


def tick_after(time_ms, tick_ms):
    """The tick after the one that has begun by a time; 0 before the epoch."""
    return If(time_ms < 0, 0, floor(time_ms, tick_ms) + 1)


# --- clocks

def machine_window(before, after):
    """`ClockWindow::of_machine`: by its clock, read before and after."""
    return SimpleNamespace(least=Max(Min(before, after) - MAX_SKEW_MS, 0), most=Max(before, after) + MAX_SKEW_MS)


def carried_window(before, after, age):
    """`ClockWindow::of_machine_carried`: by its clock as it was read an age ago; what it may have drifted is rounded up."""
    skew = MAX_SKEW_MS - ceil(age, DRIFT_PART)
    return SimpleNamespace(is_allowed=skew > 0, least=Max(Min(before, after) - skew, 0), most=Max(before, after) + skew)


def store_window(before, after):
    """`ClockWindow::of_store`: by the last answer, carried on."""
    return SimpleNamespace(least=Max(before - LEAP_MS, 0), most=after + LEAP_MS)


def blind_window(estimate, near):
    """`ClockWindow::of_blind_renewal`: when the store's clock has to be at the write."""
    return SimpleNamespace(
        is_allowed=And(near.least <= estimate, estimate <= near.most),
        least=Max(estimate - LEAP_MS, near.least, 0),
        most=Min(estimate + 2 * LEAP_MS, near.most),
    )


# --- a store that was made a moment ago

def youth(tick_ms, node_ids, count, is_chosen):
    """`youth`: what it waits before the next tick, for so many node ids of so many, or for chosen ones."""
    is_spread = And(Not(is_chosen), count * ENOUGH <= node_ids)
    return If(is_spread, LONG_TICK_MS * (tick_ms < LONG_TICK_MS), LOOKED_WITHIN_MS)


def grants_from(made_ms, now_ms, wait_ms, tick_ms):
    """`NamespaceState::check_youth`: the first tick at which it grants; 0 if it was made by a wrong clock."""
    return If(made_ms > now_ms + 2 * MAX_SKEW_MS, 0, tick_after(made_ms + wait_ms, tick_ms))


# --- one node id

def is_of(record, lease):
    return And(record.fencing == lease.fencing, record.token == lease.token)


def is_free(record, now):
    """`acquire`: the last lease has ended by the store's clock."""
    return Or(Not(record.there), record.end <= now)


def granted(record, now, ttl, last):
    """What a grant of a free node id writes: the interval and the fencing token."""
    fencing = If(record.there, Max(now, record.fencing + 1), now)
    return SimpleNamespace(start=now, end=Min(now + ttl, last), fencing=fencing)


def is_claimed(record, now, token, is_tried):
    """`claim`: the lease of an earlier try of this very acquire, which has not ended."""
    return And(record.there, record.held, record.token == token, is_tried, now < record.end)


def wrote(record, lease, is_tried):
    """`CurrentLease::wrote`: the last write of the record is this holder's."""
    is_last = And(record.serial == lease.serial, record.nonce == lease.nonce)
    is_later = And(record.serial > lease.serial, is_tried)
    return Or(Not(lease.written), is_last, is_later)


def repeats(record, lease):
    """`CurrentLease::repeats`: the last write is the one that this request asks for."""
    return And(lease.next == record.nonce, wrote(record, lease, lease.is_tried))


def loss(record, lease, is_tried):
    """`CurrentLease::loss`: why a lease is lost, where that takes no clock."""
    by_a_copy = And(lease.written, record.serial >= lease.serial, Not(wrote(record, lease, is_tried)))
    of_ours = If(Not(record.held), RELEASED, If(by_a_copy, CONTESTED, NONE))
    is_later = And(record.fencing > lease.fencing, record.start >= lease.end)
    others = If(is_later, EXPIRED, NONE)
    return If(record.there, If(is_of(record, lease), of_ours, others), NONE)


def trusts(record, now, in_quarantine, tick_ms):
    """`NamespaceState::trusts`: in a quarantine, a lease that had not expired by any clock."""
    return Or(Not(in_quarantine), now + ticks(2 * MAX_SKEW_MS, tick_ms) < record.end)


def is_as_known(record, lease, is_tried):
    """`look`: the record is of this lease, last written by its holder, and no earlier than the holder knows."""
    return And(
        record.there, is_of(record, lease), wrote(record, lease, is_tried), record.end >= lease.end
    )


def renewed_end(record, now, ttl, last):
    """`renew`: never back."""
    return Max(record.end, Min(now + ttl, last))


def released_end(record, lease_end):
    """`release`: never later than it was, nor before its start."""
    return Max(Min(lease_end, record.end), record.start)


# --- the namespace

def contradicts(seen, record):
    """`Observed::contradicts`: gone, made anew, or older."""
    is_other = Or(record.origin != seen.origin, record.writes < seen.writes)
    return And(seen.there, Or(Not(record.there), is_other))


def misses(seen, record):
    """`Observed::misses`: gone, or another in its place."""
    return And(seen.there, Or(Not(record.there), record.origin != seen.origin))


def has_changed(seen, record):
    is_moved = And(seen.there, record.there, record.quarantine != seen.quarantine)
    return Or(is_moved, contradicts(seen, record))


def has_followed(state, now, view, seen):
    """`NamespaceState::has_followed`: the record follows on one of which no lease is in use any more."""
    tick = view.tick_ms
    was_there = If(seen.dropped, seen.since * seen.tick_ms, seen.at_ms)
    is_younger = state.since * tick > was_there + 2 * MAX_SKEW_MS
    grants_from = Max(view.now_ms, state.quarantine * tick)
    span = quarantine_ticks(state.max_ttl_ms, tick)
    is_over = If(
        seen.dropped,
        seen.quarantine * seen.tick_ms <= grants_from,
        Or(state.cause == DROP, now >= state.since + span),
    )
    is_another = And(seen.there, seen.origin != state.origin)
    return And(is_another, is_younger, is_over, seen.latest_end <= now)


def quarantined(state, now, longest_ms, view, seen, cause):
    """`NamespaceState::quarantine`: until every lease has expired that may have been granted and forgotten."""
    over = now + quarantine_ticks(longest_ms, view.tick_ms)
    known = tick_after(view.known_end_ms, view.tick_ms)
    return but(
        state,
        since=If(now < state.quarantine, state.since, now),
        cause=cause,
        quarantine=Max(state.quarantine, over, seen.latest_end, known),
        fingerprint=view.fingerprint,
        changed=True,
    )


def named_ttl(asked_ms, tick_ms):
    """`Terms::max_ttl`: the default is a minute, or three ticks if these are longer."""
    default = Max(DEFAULT_MAX_TTL_MS, 3 * tick_ms)
    return If(asked_ms == 0, default, asked_ms)


def is_copied(view):
    """`View::is_copied`: the records are those of another store, which may be in use."""
    return And(view.namespace.there, view.namespace.identity != view.identity)


def state_of(view, caller, is_holder):
    """`NamespaceState::of` and `of_a_holder`. Returns a refusal, or 0, and the state."""
    refusal, now, longest, state = state_under(view, caller, is_holder)
    return If(is_copied(view), UNUSABLE, refusal), now, longest, state


def state_under(view, caller, is_holder):
    """`NamespaceState::under`: also of a copy."""
    record, seen, tick = view.namespace, caller.seen, view.tick_ms
    now = floor(view.now_ms, tick)
    skewed = And(caller.has_window, Or(view.now_ms < caller.least, view.now_ms > caller.most))
    there = And(record.there, Not(record.dropped))
    mark = And(record.there, record.dropped)
    asked_ms = If(is_holder, named_ttl(caller.max_ttl_ms, tick), caller.max_ttl_ms)
    made = SimpleNamespace(
        origin=caller.fresh_origin,
        writes=0,
        quarantine=0,
        since=0,
        cause=NEW,
        fingerprint=view.fingerprint,
        identity=view.identity,
        max_ttl_ms=named_ttl(caller.max_ttl_ms, tick),
        seal=caller.seal,
        holder_version=If(mark, record.holder_version, 1),
        record_version=If(mark, record.record_version, 1),
        dropped=False,
        changed=True,
    )
    kept = SimpleNamespace(**{name: getattr(record, name) for name in vars(made) if name != "changed"})
    state = choose(there, but(kept, changed=False), made)
    differs = Or(
        And(there, record.tick_ms != tick),
        And(asked_ms != 0, state.max_ttl_ms != asked_ms),
        Not(key_rules.agrees(key_rules.of(state.seal), key_rules.of(caller.seal))),
    )
    learns = And(state.seal == UNSEALED, caller.seal != UNSEALED)
    state = but(
        state, seal=If(learns, caller.seal, state.seal), changed=Or(state.changed, learns)
    )
    is_known = If(
        record.there,
        record.fingerprint == view.fingerprint,
        And(view.certain, Not(view.has_nodes)),
    )
    followed = And(there, has_followed(state, now, view, seen))
    forgot = Or(Not(is_known), And(contradicts(seen, record), Not(followed)))
    longest = If(there, state.max_ttl_ms, Max(state.max_ttl_ms, view.assumed_ms))

    after_mark = tick_after(record.since * record.tick_ms + 2 * MAX_SKEW_MS, tick)
    begun = but(
        state,
        since=Max(now, after_mark),
        cause=DROP,
        quarantine=Max(
            state.quarantine, tick_after(record.quarantine * record.tick_ms - 1, tick)
        ),
    )
    begun = choose(forgot, quarantined(begun, now, longest, view, seen, DROP), begun)
    is_new = And(now < state.quarantine, state.cause == NEW)
    cause = If(And(Or(Not(there), is_new), Not(seen.has_leased)), NEW, LOST)
    state_lost = choose(forgot, quarantined(state, now, longest, view, seen, cause), state)
    state = choose(mark, begun, state_lost)
    refusal = If(
        skewed, SKEW, If(differs, TERMS, If(And(is_holder, mark), DROPPED, OK))
    )
    return refusal, now, longest, state


def quarantined_until(record, view, until_ms):
    """`NamespaceRecord::quarantined_until`, of another namespace that is in the place of the own one."""
    tick = record.tick_ms
    now = floor(view.now_ms, tick)
    end = tick_after(until_ms - 1, tick)
    since = If(now >= record.quarantine, now, record.since)
    cause = If(Or(now >= record.quarantine, record.cause == NEW), LOST, record.cause)
    quarantine = Max(record.quarantine, end)
    is_changed = Or(
        since != record.since, cause != record.cause, quarantine != record.quarantine
    )
    changed = And(view.now_ms < until_ms, is_changed)
    return but(
        record,
        since=If(changed, since, record.since),
        cause=If(changed, cause, record.cause),
        quarantine=If(changed, quarantine, record.quarantine),
        changed=changed,
    )
