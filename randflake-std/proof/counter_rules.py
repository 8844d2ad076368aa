"""The rules of counters, as `src/rules/counter.rs` has them. `agree_others.py` compares each with the shipped function."""

from types import SimpleNamespace

from logic import And, If, Max, Not, Or, but, choose

# Answers: 0, or the kind of an error.
OK, LOST, REWOUND, INVALID = range(4)
# Of a counter whose loss a client has marked; no engine has this fingerprint.
MARKED = -1
# A counter that has issued its highest number stands here.
END = 2**63 - 1


def reached(view):
    """`CounterView::reached`: the next number as far as the store knows; 0 if there is no counter."""
    return If(view.record.there, view.record.next, 0)


def kept(view):
    """`CounterView::kept`: whether it is there, and has not gone back. A counter that is not there is lost."""
    return And(view.record.there, view.record.vouched == view.fingerprint)


def is_range(first, count):
    return And(first >= 1, count >= 1, count <= END - first)


def written(view, caller, next, origin):
    return SimpleNamespace(there=True, next=next, origin=origin, vouched=view.fingerprint, nonce=caller.fresh_nonce)


def outcome(code, is_written, record):
    return SimpleNamespace(code=code, is_written=is_written, record=record)


def contradiction(view, caller):
    """`CounterCaller::contradiction`: whether it is behind what this process has seen, and the refusal."""
    seen, record = caller.seen, view.record
    is_replaced = And(record.there, record.origin != seen.origin, record.origin != 0)
    is_behind = Or(Not(record.there), record.next < seen.next)
    is_rewound = Or(is_replaced, kept(view))
    is_marked = And(Not(is_behind), record.there, record.vouched == MARKED)
    origin = If(record.there, If(is_rewound, caller.fresh_origin, record.origin), seen.origin)
    mark = but(written(view, caller, Max(reached(view), seen.next), origin), vouched=MARKED)
    found = And(seen.next > 1, Or(is_replaced, is_behind))
    return found, outcome(If(is_rewound, REWOUND, LOST), Not(is_marked), mark)


def check(view, caller):
    found, refused = contradiction(view, caller)
    return choose_outcome(found, refused, outcome(If(kept(view), OK, LOST), False, refused.record))


def reserve(view, caller, count):
    """The segment is from the next number on."""
    checked, next = check(view, caller), view.record.next
    # One more than the highest number may be next, so no sum is above 64 bits.
    end = next + If(is_range(next, count), count, 0)
    reserved = written(view, caller, end, view.record.origin)
    answer = choose_outcome(is_range(next, count), outcome(OK, True, reserved), outcome(INVALID, False, reserved))
    return choose_outcome(checked.code == OK, answer, checked)


def create(view, caller):
    """Declares it new, so that it begins at 1."""
    found, refused = contradiction(view, caller)
    record = view.record
    known = If(kept(view), If(record.next > 1, INVALID, OK), LOST)
    made = written(view, caller, 1, caller.fresh_origin)
    answer = outcome(If(record.there, known, OK), Not(record.there), made)
    return choose_outcome(found, refused, answer)


def resume(view, caller, number):
    """An operator vouches that all below is reserved at most."""
    record = written(view, caller, Max(number, reached(view), caller.seen.next), 0)
    return choose_outcome(is_range(number, 1), outcome(OK, True, record), outcome(INVALID, False, record))


def choose_outcome(condition, then, otherwise):
    return outcome(
        If(condition, then.code, otherwise.code),
        If(condition, then.is_written, otherwise.is_written),
        choose(condition, then.record, otherwise.record),
    )
