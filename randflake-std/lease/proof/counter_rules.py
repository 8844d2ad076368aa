"""The rules of counters, as `src/rules/counter.rs` has them. `agree_others.py` compares each with the shipped function."""

from types import SimpleNamespace

from logic import And, If, Max, Not, Or, but, choose

# Answers: 0, or the kind of an error.
OK, LOST, REWOUND, INVALID, OTHER_TERMS, FULL, AHEAD = range(7)
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
    first = If(view.record.there, view.record.first, caller.new_first)
    return SimpleNamespace(there=True, next=next, origin=origin, vouched=view.fingerprint, first=first, nonce=caller.fresh_nonce)


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
    found = And(seen.used, Or(is_replaced, is_behind))
    return found, outcome(If(is_rewound, REWOUND, LOST), Not(is_marked), mark)


def check(view, caller):
    found, refused = contradiction(view, caller)
    answer = choose_outcome(found, refused, outcome(If(kept(view), OK, LOST), False, refused.record))
    return choose_outcome(caller.is_other, outcome(OTHER_TERMS, False, refused.record), answer)


def reserve(view, caller, window, length):
    """The segment is from the first number of the window on, which is never below the next number, and ends so much further.

    The window is that of the period, if numbers have dates; the length is the step times the count.
    """
    checked, first = check(view, caller), window.first
    # One more than the highest number may be next, so no sum is above 64 bits.
    end = first + If(is_range(first, length), length, 0)
    reserved = written(view, caller, end, view.record.origin)
    answer = choose_outcome(is_range(first, length), outcome(OK, True, reserved), outcome(INVALID, False, reserved))
    answer = choose_outcome(window.code == OK, answer, outcome(window.code, False, reserved))
    return choose_outcome(checked.code == OK, answer, checked)


def create(view, caller):
    """Declares it new, so that it begins at its first number; one that nobody has a number of may get other terms."""
    found, refused = contradiction(view, caller)
    record = view.record
    is_used = Or(record.next > record.first, caller.seen.used)
    known = If(kept(view), If(is_used, If(caller.is_other, OTHER_TERMS, INVALID), OK), LOST)
    made = but(written(view, caller, caller.named_first, caller.fresh_origin), first=caller.named_first)
    is_changed = And(kept(view), Not(is_used), caller.is_other)
    answer = outcome(If(record.there, known, OK), Or(Not(record.there), is_changed), made)
    return choose_outcome(found, refused, answer)


def resume(view, caller, number, is_valid, up):
    """An operator vouches that all below is reserved at most. It goes on at the next number of its steps, so much further up."""
    highest = Max(number, reached(view), caller.seen.next)
    fits = And(is_range(number, 1), is_valid, up <= END - highest)
    record = written(view, caller, highest + If(fits, up, 0), 0)
    answer = choose_outcome(fits, outcome(OK, True, record), outcome(INVALID, False, record))
    return choose_outcome(caller.is_other, outcome(OTHER_TERMS, False, record), answer)


def choose_outcome(condition, then, otherwise):
    return outcome(
        If(condition, then.code, otherwise.code),
        If(condition, then.is_written, otherwise.is_written),
        choose(condition, then.record, otherwise.record),
    )
