"""What the rules of counters, clocks and blocks answer as they are proved, by the name of the column of the shipped one."""

from types import SimpleNamespace

import numpy

import block_rules
import counter_rules
import rules
from logic import And, If, Max, Min, floor


def counters(rows):
    given = rows.part("counter_")
    there, dated = given.there == 1, given.dated == 1
    record = SimpleNamespace(there=there, next=given.next, origin=given.origin, vouched=given.vouched, first=given.first)
    view = SimpleNamespace(record=record, fingerprint=given.fingerprint)
    seen = SimpleNamespace(next=given.seen_next, origin=given.seen_origin, used=given.seen_next > given.first)
    # 0 names no terms, 1 the record's, 2 others.
    named_first = numpy.choose(given.named, [1, given.first, given.first + 1])
    caller = SimpleNamespace(
        seen=seen,
        fresh_origin=90,
        fresh_nonce=91,
        is_other=there & (given.named == 2),
        named_first=named_first,
        new_first=If(given.seen_next > 0, given.first, named_first),
    )
    # Numbers with dates have one digit behind them.
    begin = given.today * 10
    first = If(dated, Max(given.next, begin + 1), given.next)
    is_ahead = dated & (floor(given.next - 1, 10) > given.today)
    is_full = dated & (given.count > begin + 10 - first)
    code = If(is_ahead, counter_rules.AHEAD, If(is_full, counter_rules.FULL, counter_rules.OK))
    window = SimpleNamespace(first=first, code=code)
    fits = given.count <= floor(counter_rules.END - first, given.step)
    length = If(fits, If(fits, given.count, 0) * given.step, counter_rules.END)
    # A counter that is not there goes on by the terms that were seen or named.
    is_named = ~there & (given.seen_next == 0) & (given.named != 1)
    of_step = If(is_named, If(given.named == 2, given.step + 1, 1), given.step)
    of_first = If(is_named, named_first, given.first)
    is_dated = dated & ~is_named
    is_today = floor(given.number, 10) - given.today
    is_valid = ~is_dated | And(given.number % 10 > 0, is_today <= 0, is_today >= -1)
    highest = Max(given.number, counter_rules.reached(view), given.seen_next)
    up = If(highest < of_first, of_first - highest, (of_first - highest) % of_step)
    answers = {
        "reserve": counter_rules.reserve(view, caller, window, length),
        "compare": counter_rules.check(view, caller),
        "declare_new": counter_rules.create(view, caller),
        "resume": counter_rules.resume(view, caller, given.number, is_valid, up),
    }
    for name, it in answers.items():
        prefix = f"counter_{name}."
        yield f"{prefix}code", it.code, True
        yield f"{prefix}is_written", it.is_written, True
        for of in ["next", "origin", "vouched", "first", "nonce"]:
            yield f"{prefix}{of}", getattr(it.record, of), it.is_written


def clocks(rows):
    given = rows.part("clock_")
    near = SimpleNamespace(least=given.near_least, most=given.near_most)
    blind = rules.blind_window(given.estimate, near)
    yield "clock_blind.is_allowed", blind.is_allowed, True
    carried = rules.carried_window(given.before, given.after, given.age)
    yield "clock_carried.is_allowed", carried.is_allowed, True
    windows = {
        "carried": (carried, carried.is_allowed),
        "machine": (rules.machine_window(given.before, given.after), True),
        "store": (rules.store_window(given.before, given.after), True),
        "blind": (blind, blind.is_allowed),
    }
    for name, (window, where) in windows.items():
        yield f"clock_{name}.least", window.least, where
        yield f"clock_{name}.most", window.most, where


def blocks(rows):
    given = rows.part("block_")
    tick_ms, horizon, end = given.tick_ms, given.horizon, given.grant_end
    lost, used, foreign = 1, 2, 3
    now = If(given.now < 0, 0, floor(given.now, tick_ms))

    def raised(code, start, goes_on_from):
        to = block_rules.claimed_horizon(goes_on_from, given.s, tick_ms)
        after = If(code == 0, Max(horizon, to), horizon)
        return code, start, block_rules.end_below(after, end, tick_ms), after

    first = block_rules.first_tick(horizon, given.grant_start, now, tick_ms)
    is_last = given.end == block_rules.end_below(horizon, end, tick_ms)
    begun = If(horizon == 0, lost, If(first >= end, used, 0))
    extended = If(horizon == 0, lost, If(is_last, If(given.end >= end, used, 0), foreign))
    answers = {
        "begin": raised(begun, first, first),
        "extend": raised(extended, given.start, given.end),
        "resume": (If(is_last, 0, foreign), given.start, given.end, horizon),
    }
    for name, (code, start, until, after) in answers.items():
        prefix = f"block_{name}."
        yield f"{prefix}code", code, True
        yield f"{prefix}horizon", after, True
        yield f"{prefix}start", start, code == 0
        yield f"{prefix}end", until, code == 0


def predictions(rows):
    """Names of columns, what is proved, and in which rows."""
    for found in [counters(rows), clocks(rows), blocks(rows)]:
        for name, proved, where in found:
            yield name, proved, numpy.broadcast_to(where, rows.count)


def changed_rules():
    """Changes of one rule each, all of which a comparison has to find."""

    def by_number_alone(view, caller):
        record, seen = view.record, caller.seen
        found, refused = contradiction(view, caller)
        return found & ~(record.there & (record.next >= seen.next)), refused

    def later(estimate, near):
        window = blind_window(estimate, near)
        return SimpleNamespace(**{**vars(window), "most": Min(estimate + 3 * rules.LEAP_MS, near.most)})

    def for_ever(before, after, age):
        return carried_window(before, after, 0)

    def rounded_down(horizon, grant_start, now, tick_ms):
        return Max(grant_start, block_rules.tick_at(horizon, tick_ms), now)

    def of_no_grant(horizon, grant_end, tick_ms):
        return block_rules.tick_at(horizon, tick_ms)

    contradiction, blind_window, carried_window = counter_rules.contradiction, rules.blind_window, rules.carried_window
    return {
        (counter_rules, "contradiction"): by_number_alone,
        (rules, "blind_window"): later,
        (rules, "carried_window"): for_ever,
        (block_rules, "first_tick"): rounded_down,
        (block_rules, "end_below"): of_no_grant,
    }
