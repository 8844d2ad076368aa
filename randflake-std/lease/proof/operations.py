"""What each operation answers and writes, put together from `rules.py` as the shipped functions are.

An outcome has a `code`, the namespace's record if it is written, and the node id's if it is.
"""

from functools import reduce
from types import SimpleNamespace

import key_rules
import rules
import upgrade_rules
from logic import And, If, Max, Not, Or, but, choose
from rules import (
    ASKED, CONTESTED, DROP, DROPPED, EXHAUSTED, EXPIRED, FORGOTTEN, INVALID, KEY_NUMBER, LOST, NEW, NONE, NOT_NEW, OK, OVERTAKEN,
    QUARANTINED, RELEASED, SKEW, TERMS, UNUSABLE,
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
    code, state, written, [node], [is_written] = acquire_several(view, caller, [(view.node, request.is_tried, caller.seen.end)], request, 1)
    return outcome(code, state, written, node, is_written)


def acquire_several(view, caller, nodes, request, wanted):
    """Of these node ids, each with whether its last write was a try of this acquire, and the end that the caller knows of it. All
    that are wanted, or none."""
    refusal, now, longest, state = rules.state_of(view, caller, True)
    key = key_refusal(state, caller)
    most = rules.ticks(state.max_ttl_ms, view.tick_ms)
    waits = now < state.quarantine
    wait_ms = rules.youth(view.tick_ms, request.node_ids, wanted, request.is_chosen)
    is_young = now < rules.grants_from(view.made_ms, view.now_ms, wait_ms, view.tick_ms)
    claimed = [rules.is_claimed(node, now, request.token, is_tried) for node, is_tried, _ in nodes]
    claims = count(claimed) >= wanted
    free = [rules.is_free(node, now) for node, _, _ in nodes]
    # The first ones, as many as are wanted.
    taken = [And(it, count(all_of[:place]) < wanted) for all_of in [claimed, free] for place, it in enumerate(all_of)]
    claimed, free = taken[: len(nodes)], taken[len(nodes) :]
    refused = []
    for is_taken, (_, _, known_end) in zip(free, nodes):
        refused += [(And(is_taken, now < known_end), QUARANTINED), (And(is_taken, now >= view.last), UNUSABLE)]
    code = first(
        (refusal != OK, refusal),
        (state.holder_version > caller.knows, UNUSABLE),
        (key != OK, key),
        (Or(request.ttl < 1, request.ttl > most), INVALID),
        (Or(waits, is_young), QUARANTINED),
        (claims, OK),
        *refused,
        (count(free) < wanted, EXHAUSTED),
        OK,
    )
    reached = And(refusal == OK, state.holder_version <= caller.knows, key == OK, request.ttl >= 1, request.ttl <= most)
    state = choose(
        And(reached, Not(waits), Not(is_young), code == QUARANTINED), rules.quarantined(state, now, longest, view, caller.seen, LOST), state
    )
    after, is_written = [], []
    for (node, _, _), is_claimed, is_free in zip(nodes, claimed, free):
        new = rules.granted(node, now, request.ttl, view.last)
        grant = but(
            node,
            start=new.start, end=new.end, fencing=new.fencing, serial=1, token=request.token, nonce=caller.fresh_nonce,
            held=True, contested=False, knows=caller.knows,
        )
        claim = but(node, serial=node.serial + 1, nonce=caller.fresh_nonce, knows=caller.knows)
        after.append(choose(claims, claim, grant))
        is_written.append(And(code == OK, If(claims, is_claimed, is_free)))
    return code, state, And(refusal == OK, state.changed), after, is_written


def key_refusal(state, caller):
    """Of who leases under another number than the namespace has, or under none."""
    stored, asked = key_rules.of(state.seal), key_rules.of(caller.seal)
    return first(
        (key_rules.may_lease(stored, asked), OK),
        (key_rules.are_tagged(stored, asked), KEY_NUMBER),
        TERMS,
    )


def count(conditions):
    return sum([If(it, 1, 0) for it in conditions], 0)


def renew(view, caller, lease, ttl):
    [code], state, written, [node], [is_written] = renew_several(view, caller, [(view.node, lease)], ttl)
    return outcome(code, state, written, node, is_written)


def renew_several(view, caller, leases, ttl):
    """One by one: a lease that is lost takes no other with it, but what it shows counts for those after it."""
    seen, namespace = caller.seen, view.namespace
    is_mark = And(namespace.there, namespace.dropped)
    is_missed = rules.misses(seen, namespace)
    refusal, now, longest, state = rules.state_of(view, caller, True)
    most = rules.ticks(state.max_ttl_ms, view.tick_ms)
    key = key_refusal(state, caller)
    another = And(namespace.there, is_missed)
    allowed = And(ttl >= 1, ttl <= most)
    newer = [And(node.there, rules.is_of(node, lease), caller.knows < node.knows) for node, lease in leases]
    takes_over = And(reduce(Or, newer), caller.knows < state.holder_version)
    runs = And(Not(is_mark), Not(another), refusal == OK, key == OK, allowed, Not(takes_over))
    losses = [rules.loss(node, lease, lease.is_tried) for node, lease in leases]
    # With a wrong clock, or under another number: what takes neither to say, if that is so of all.
    are_lost = reduce(And, [lost != NONE for lost in losses])
    codes, nodes, is_written = [], [], []
    for (node, lease), lost in zip(leases, losses):
        forgotten = If(now < lease.end, FORGOTTEN, EXPIRED)
        waits = now < state.quarantine
        # `look`.
        too_late = Or(now >= node.end, Not(rules.trusts(node, now, waits, view.tick_ms)))
        found = first(
            (lost != NONE, lost),
            (rules.is_as_known(node, lease, lease.is_tried), If(too_late, EXPIRED, If(is_missed, forgotten, OK))),
            forgotten,
        )
        skewed = first((is_missed, FORGOTTEN), (are_lost, lost), SKEW)
        code = first(
            (is_mark, RELEASED),
            (another, FORGOTTEN),
            (refusal == SKEW, skewed),
            (refusal != OK, refusal),
            (key != OK, If(are_lost, lost, key)),
            (Not(allowed), INVALID),
            (takes_over, UNUSABLE),
            found,
        )
        notices = And(runs, code == FORGOTTEN, Not(seen.is_proxy))
        state = choose(notices, rules.quarantined(state, now, longest, view, seen, LOST), state)
        renewed = but(
            node,
            end=rules.renewed_end(node, now, ttl, view.last),
            serial=node.serial + 1,
            nonce=If(lease.next == NONE, caller.fresh_nonce, lease.next),
            knows=caller.knows,
        )
        marks = And(
            node.there, Not(node.contested), code == CONTESTED,
            Or(runs, And(refusal == SKEW, Not(is_missed)), And(refusal == OK, key != OK)), Not(is_mark), Not(another),
        )
        # A repetition is written too, so that its answer survives a crash: the record stays as it was.
        repeats = rules.repeats(node, lease)
        renews = And(runs, code == OK)
        codes.append(code)
        nodes.append(choose(And(renews, repeats), node, choose(renews, renewed, but(node, contested=True))))
        is_written.append(Or(renews, marks))
    # In the place of the own namespace is another one: it waits as long as any lease that is known.
    until = Max(*[lease.end for _, lease in leases], seen.latest_end) * view.tick_ms
    other = rules.quarantined_until(namespace, view, until)
    state = choose(another, SimpleNamespace(**{name: getattr(other, name) for name in vars(state)}), state)
    superseded = And(Not(is_mark), another, other.changed, Not(seen.is_proxy))
    return codes, state, Or(superseded, And(runs, state.changed)), nodes, is_written


def release(view, caller, lease):
    return outcome(*release_one(view, caller, view.node, lease))


def release_one(view, caller, node, lease):
    """No state of the namespace is made, no clock plays a part, and each lease is looked at alone."""
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
    return code, view.namespace, False, node, Or(ends, marks)


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


def declare_moved(view, caller):
    """Of a copy. A dropped namespace stays so, and keeps no fingerprint: what opens it waits."""
    of_no_copy, _, _, same = rules.state_of(view, caller, False)
    refusal, now, longest, state = rules.state_under(view, caller, False)
    mark = And(view.namespace.there, view.namespace.dropped)
    is_copied = rules.is_copied(view)
    moved = but(rules.quarantined(state, now, longest, view, caller.seen, LOST), identity=view.identity)
    dropped = but(view.namespace, identity=view.identity, fingerprint=NONE, changed=True)
    moved = choose(mark, SimpleNamespace(**{name: getattr(dropped, name) for name in vars(moved)}), moved)
    code = If(is_copied, If(mark, OK, refusal), of_no_copy)
    return without_node(code, choose(is_copied, moved, same), And(code == OK, Or(is_copied, same.changed)), view)


def drop_namespace(view, caller):
    """The answer is the mark. Of a namespace that is not there, or was dropped, nothing is written."""
    refusal, now, longest, state = rules.state_of(view, caller, False)
    is_done = Or(Not(view.namespace.there), view.namespace.dropped)
    code = If(is_done, OK, refusal)
    state = rules.quarantined(state, now, longest, view, caller.seen, DROP)
    state = but(state, since=now, dropped=True)
    return without_node(code, state, And(Not(is_done), refusal == OK), view)


def announce(view, caller):
    return with_versions(view, caller, upgrade_rules.announced)


def withdraw(view, caller):
    return with_versions(view, caller, upgrade_rules.withdrawn)


def raise_version(view, caller, announced):
    """Of what was announced, if anything was."""
    namespace = view.namespace
    overtaken = And(announced != NONE, upgrade_rules.is_overtaken(namespace.there, namespace.writes, announced))
    it = with_versions(view, caller, upgrade_rules.raised)
    return without_node(If(overtaken, OVERTAKEN, it.code), it.namespace, And(it.namespace_written, Not(overtaken)), view)


def with_versions(view, caller, rule):
    refusal, _, _, state = existing(view, caller)
    code = If(view.namespace.there, refusal, INVALID)
    versions = rule(state.holder_version, state.record_version, caller.knows)
    differs = Or(versions.holder != state.holder_version, versions.written != state.record_version)
    state = but(
        state, holder_version=versions.holder, record_version=versions.written, changed=Or(state.changed, differs)
    )
    return without_node(code, state, And(code == OK, state.changed), view)


def next_key(view, caller, asked):
    """`asked` is the key that is to be next."""
    refusal, _, _, state = existing(view, caller)
    stored = key_rules.of(state.seal)
    asked_key = key_rules.of(asked)
    goes_on = key_rules.is_next(stored, asked_key)
    of_one_form = key_rules.are_tagged(stored, asked_key)
    code = first(
        (Not(view.namespace.there), INVALID),
        (refusal != OK, refusal),
        (stored.form == key_rules.NO_KEY, INVALID),
        (goes_on, OK),
        (Not(of_one_form), TERMS),
        # Repeated.
        (key_rules.is_same(stored, asked_key), OK),
        (stored.number == asked_key.number, TERMS),
        # The secret is the one before.
        (asked_key.number == stored.number + 1, INVALID),
        KEY_NUMBER,
    )
    is_written = And(view.namespace.there, refusal == OK, Or(state.changed, goes_on))
    return without_node(code, but(state, seal=If(goes_on, asked, state.seal)), is_written, view)


def outlast(view, latest_end):
    """The mark of a drop waits for leases that are there."""
    namespace = view.namespace
    is_longer = And(namespace.there, namespace.dropped, namespace.quarantine < latest_end)
    return without_node(OK, but(namespace, quarantine=latest_end), is_longer, view)
