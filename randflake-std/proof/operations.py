"""What each operation answers and writes, put together from `rules.py` as the shipped functions are.

An outcome has a `code`, the namespace's record if it is written, and the node id's if it is.
"""

from types import SimpleNamespace

import rules
from logic import And, If, Max, Not, Or, but, choose
from rules import (
    ASKED, CONTESTED, DROP, DROPPED, EXHAUSTED, EXPIRED, FORGOTTEN, INVALID, LOST, NEW, NONE, NOT_NEW, OK, QUARANTINED,
    RELEASED, SKEW, UNUSABLE,
)


def outcome(code, state, namespace_written, node, node_written):
    return SimpleNamespace(
        code=code,
        namespace=state,
        namespace_written=namespace_written,
        node=node,
        node_written=node_written,
    )


def without_node(code, state, written, view):
    return outcome(code, state, written, view.node, False)


def first(*cases):
    """The first case whose condition holds; the last one has none."""
    *cases, answer = cases
    for condition, value in reversed(cases):
        answer = If(condition, value, answer)
    return answer


def acquire(view, caller, request):
    """One node id, any or a chosen one."""
    refusal, now, longest, state = rules.state_of(view, caller, True)
    node = view.node
    most = rules.ticks(state.max_ttl_ms, view.tick_ms)
    waits = now < state.quarantine
    claimed = rules.is_claimed(node, now, request.token, request.is_tried)
    free = rules.is_free(node, now)
    forgot = And(free, Not(claimed), now < caller.seen.end)
    code = first(
        (refusal != OK, refusal),
        (state.holder_version > caller.knows, UNUSABLE),
        (Or(request.ttl < 1, request.ttl > most), INVALID),
        (waits, QUARANTINED),
        (claimed, OK),
        (Not(free), EXHAUSTED),
        (forgot, QUARANTINED),
        (now >= view.last, UNUSABLE),
        OK,
    )
    reached = And(refusal == OK, state.holder_version <= caller.knows, request.ttl >= 1, request.ttl <= most)
    forgot = And(reached, Not(waits), forgot)
    state = choose(forgot, rules.quarantined(state, now, longest, view, caller.seen, LOST), state)
    new = rules.granted(node, now, request.ttl, view.last)
    grant = but(
        node,
        start=new.start, end=new.end, fencing=new.fencing, serial=1, token=request.token, nonce=caller.fresh_nonce,
        held=True, contested=False, knows=caller.knows,
    )
    claim = but(node, serial=node.serial + 1, nonce=caller.fresh_nonce, knows=caller.knows)
    written = And(refusal == OK, state.changed)
    return outcome(code, state, written, choose(claimed, claim, grant), code == OK)


def renew(view, caller, lease, ttl):
    node, seen = view.node, caller.seen
    namespace = view.namespace
    is_mark = And(namespace.there, namespace.dropped)
    is_missed = rules.misses(seen, namespace)
    refusal, now, longest, state = rules.state_of(view, caller, True)
    most = rules.ticks(state.max_ttl_ms, view.tick_ms)
    forgotten = If(now < lease.end, FORGOTTEN, EXPIRED)
    lost = rules.loss(node, lease, lease.is_tried)
    waits = now < state.quarantine
    # `look`.
    too_late = Or(now >= node.end, Not(rules.trusts(node, now, waits, view.tick_ms)))
    found = first(
        (lost != NONE, lost),
        (rules.is_as_known(node, lease, lease.is_tried), If(too_late, EXPIRED, If(is_missed, forgotten, OK))),
        forgotten,
    )
    # With a wrong clock: what takes none to say.
    skewed = first((is_missed, FORGOTTEN), (lost != NONE, lost), SKEW)
    another = And(namespace.there, is_missed)
    runs = And(Not(is_mark), Not(another), refusal == OK, ttl >= 1, ttl <= most)
    code = first(
        (is_mark, RELEASED),
        (another, FORGOTTEN),
        (refusal == SKEW, skewed),
        (refusal != OK, refusal),
        (Not(runs), INVALID),
        found,
    )
    notices = And(runs, code == FORGOTTEN, Not(seen.is_proxy))
    state = choose(notices, rules.quarantined(state, now, longest, view, seen, LOST), state)
    # In the place of the own namespace is another one: it waits as long as any lease that is known.
    until = Max(lease.end, seen.latest_end) * view.tick_ms
    other = rules.quarantined_until(namespace, view, until)
    state = choose(another, SimpleNamespace(**{name: getattr(other, name) for name in vars(state)}), state)
    superseded = And(Not(is_mark), another, other.changed, Not(seen.is_proxy))
    namespace_written = Or(superseded, And(runs, state.changed))

    repeats = rules.repeats(node, lease)
    renewed = but(
        node,
        end=rules.renewed_end(node, now, ttl, view.last),
        serial=node.serial + 1,
        nonce=If(lease.next == NONE, caller.fresh_nonce, lease.next),
        knows=caller.knows,
    )
    marks = And(
        node.there, Not(node.contested), code == CONTESTED, Or(runs, And(refusal == SKEW, Not(is_missed))),
        Not(is_mark), Not(another),
    )
    renews = And(runs, code == OK, Not(repeats))
    written = choose(renews, renewed, but(node, contested=True))
    return outcome(code, state, namespace_written, written, Or(renews, marks))


def release(view, caller, lease):
    """No state of the namespace is made, and no clock plays a part."""
    node = view.node
    ours = And(node.there, rules.is_of(node, lease))
    repeats = rules.repeats(node, lease)
    ends = And(ours, node.held, rules.wrote(node, lease, lease.is_tried))
    lost = rules.loss(node, lease, lease.is_tried)
    lost = If(lost == NONE, FORGOTTEN, lost)
    code = first((And(ours, Or(ends, And(Not(node.held), repeats))), OK), lost)
    marks = And(ours, Not(ends), code == CONTESTED, Not(node.contested), lease.next != NONE)
    released = but(
        node,
        end=rules.released_end(node, lease.end),
        serial=node.serial + 1,
        nonce=If(lease.next == NONE, caller.fresh_nonce, lease.next),
        held=False,
    )
    node = choose(ends, released, but(node, contested=True))
    return outcome(code, view.namespace, False, node, Or(ends, marks))


def create(view, caller):
    refusal, _, _, state = rules.state_of(view, caller, True)
    return without_node(refusal, state, And(refusal == OK, state.changed), view)


def reopen(view, caller):
    refusal, _, _, state = rules.state_of(view, caller, False)
    is_mark = And(view.namespace.there, view.namespace.dropped)
    code = If(is_mark, refusal, INVALID)
    return without_node(code, state, And(code == OK, state.changed), view)


def existing(view, caller):
    """Of a namespace that is there, or its mark is: who administers does not make one."""
    refusal, now, longest, state = rules.state_of(view, caller, False)
    is_mark = And(view.namespace.there, view.namespace.dropped)
    return If(And(refusal == OK, is_mark), DROPPED, refusal), now, longest, state


def quarantine(view, caller):
    refusal, now, longest, state = existing(view, caller)
    code = If(view.namespace.there, refusal, INVALID)
    state = rules.quarantined(state, now, longest, view, caller.seen, ASKED)
    return without_node(code, state, code == OK, view)


def end_quarantine(view, caller, has_leases):
    refusal, now, _, state = rules.state_of(view, caller, True)
    waits = now < state.quarantine
    is_not_new = Or(state.cause != NEW, has_leases, rules.has_changed(caller.seen, view.namespace))
    code = first((refusal != OK, refusal), (And(waits, is_not_new), NOT_NEW), OK)
    ends = And(code == OK, waits)
    state = choose(ends, but(state, quarantine=0, changed=True), state)
    return without_node(code, state, And(refusal == OK, state.changed), view)


def override_quarantine(view, caller):
    code, _, _, state = existing(view, caller)
    return without_node(code, but(state, quarantine=0), code == OK, view)


def drop_namespace(view, caller):
    """The answer is the mark. Of a namespace that is not there, or was dropped, nothing is written."""
    refusal, now, longest, state = rules.state_of(view, caller, False)
    is_done = Or(Not(view.namespace.there), view.namespace.dropped)
    code = If(is_done, OK, refusal)
    state = rules.quarantined(state, now, longest, view, caller.seen, DROP)
    state = but(state, since=now, dropped=True)
    return without_node(code, state, And(Not(is_done), refusal == OK), view)


def outlast(view, latest_end):
    """The mark of a drop waits for leases that are there."""
    namespace = view.namespace
    is_longer = And(namespace.there, namespace.dropped, namespace.quarantine < latest_end)
    return without_node(OK, but(namespace, quarantine=latest_end), is_longer, view)
