"""Counters, from which processes reserve segments of numbers.

Two promises. Where each loss changes the engine's fingerprint or leaves no counter at all, and operators are right, no number is
reserved twice, by any process. Where nothing is assumed, of losses, operators and other processes, one process never reserves a number
twice.

A write is conditional on the whole record and on the fingerprint, so a rule acts as if it were evaluated at the write. Its answer may
be lost: then the process knows of no segment, and nobody issues those numbers.

Whatever the terms are: a reservation may jump ahead, as to the numbers of the next date, it takes its count times any step, and a
number that an operator names is raised to the next one of the steps.
"""

from types import SimpleNamespace

import z3

import counter_rules as rules
from counter_rules import LOST, MARKED, OK
from logic import Max
from system import System, rest, same

RECORD = {"there": bool, "next": int, "origin": int, "vouched": int, "first": int}


def view_of(state):
    return SimpleNamespace(record=state.record, fingerprint=state.engine.fingerprint)


def caller_of(seen, local):
    return SimpleNamespace(
        seen=seen,
        fresh_origin=local("fresh"),
        fresh_nonce=0,
        is_other=local("is_other") == 1,
        named_first=local("named_first"),
        new_first=local("new_first"),
    )


def window_of(record, local):
    """Any numbers that are not below the next one, or a refusal."""
    return SimpleNamespace(first=record.next + local("jump"), code=local("window"))


def is_window(local):
    codes = [rules.OK, rules.FULL, rules.AHEAD]
    return z3.And(local("jump") >= 0, local("length") >= 1, z3.Or([local("window") == code for code in codes]))


def any_resume(view, caller, local):
    return rules.resume(view, caller, local("number"), True, local("up"))


def writes(before, after, it):
    """The record is what an outcome says."""
    there = z3.And(after.record.there, *[getattr(after.record, of) == getattr(it.record, of) for of in RECORD if of != "there"])
    return z3.If(it.is_written, there, same(before.record, after.record))


# --- noticed losses

NOTICED = {
    "record": RECORD,
    "engine": {"fingerprint": int},
    # `reached`: the number after the highest that was ever reserved; `repeated`: one was reserved again.
    "ghost": {"reached": int, "repeated": bool},
}


def begin(state):
    yield z3.And(z3.Not(state.record.there), state.engine.fingerprint >= 0)
    yield z3.And(state.ghost.reached == 1, z3.Not(state.ghost.repeated))


def invariant(state):
    record, ghost = state.record, state.ghost
    yield z3.And(z3.Not(ghost.repeated), ghost.reached >= 1, state.engine.fingerprint >= 0)
    yield z3.Implies(record.there, record.next >= 1)
    yield z3.Implies(rules.kept(view_of(state)), record.next >= ghost.reached)


def promise(state):
    return z3.Not(state.ghost.repeated)


def any_seen(local):
    """Whatever a process has seen, or believes to have."""
    used = z3.And(local("seen_used") == 1, local("seen_next") > 1)
    return SimpleNamespace(origin=local("seen_origin"), next=local("seen_next"), used=used)


def reserves(before, after, local, goes_on=None):
    """`goes_on`: where a refused counter goes on all the same; one that is not there begins at 1."""
    view, record = view_of(before), before.record
    window = window_of(record, local)
    it = rules.reserve(view, caller_of(any_seen(local), local), window, local("length"))
    first = z3.If(record.there, window.first, 1)
    if goes_on is not None:
        went_on = rules.outcome(OK, True, rules.but(it.record, next=first + local("length"), vouched=view.fingerprint))
        it = rules.choose_outcome(goes_on(it, record), went_on, it)
    is_reserved = it.code == OK
    yield z3.And(is_window(local), writes(before, after, it))
    yield after.ghost.repeated == z3.Or(before.ghost.repeated, z3.And(is_reserved, first < before.ghost.reached))
    yield after.ghost.reached == z3.If(is_reserved, Max(before.ghost.reached, it.record.next), before.ghost.reached)
    yield rest(before, after, "record", "ghost")


def although_lost(before, after, local):
    yield from reserves(before, after, local, lambda it, record: z3.And(it.code == LOST, record.there))


def although_missing(before, after, local):
    yield from reserves(before, after, local, lambda it, record: z3.And(it.code == LOST, z3.Not(record.there)))


def checks(before, after, local):
    yield writes(before, after, rules.check(view_of(before), caller_of(any_seen(local), local)))
    yield rest(before, after, "record")


def is_declared_new(is_right):
    def step(before, after, local):
        yield before.ghost.reached == 1 if is_right else True
        yield z3.And(local("named_first") >= 1, writes(before, after, rules.create(view_of(before), caller_of(any_seen(local), local))))
        yield rest(before, after, "record")

    return step


def is_resumed(is_right):
    def step(before, after, local):
        yield local("number") >= before.ghost.reached if is_right else True
        yield z3.And(local("up") >= 0, writes(before, after, any_resume(view_of(before), caller_of(any_seen(local), local), local)))
        yield rest(before, after, "record")

    return step


def loses(is_noticed):
    """Any earlier record, or none; the engine has another fingerprint than any that was vouched for."""

    def step(before, after, local):
        record = after.record
        yield z3.And(record.next >= 1, record.next <= before.ghost.reached)
        changed = z3.And(after.engine.fingerprint >= 0, after.engine.fingerprint != record.vouched)
        yield changed if is_noticed else same(before.engine, after.engine)
        yield rest(before, after, "record", "engine")

    return step


def is_another(before, after, local):
    """A store without the counter, which nothing tells from a new one: another path or volume, or all files deleted."""
    yield z3.And(z3.Not(after.record.there), after.record.next >= 1, after.engine.fingerprint >= 0)
    yield rest(before, after, "record", "engine")


def noticed(**changed):
    steps = {
        "a process reserves": reserves,
        "a process compares the counter": checks,
        "an operator declares it new": is_declared_new(True),
        "an operator resumes it": is_resumed(True),
        "the store forgets": loses(True),
        "the store is another one, without the counter": is_another,
    }
    return System("a counter, losses noticed", NOTICED, begin, invariant, promise, steps | changed)


# --- anything

ANYTHING = {
    "record": RECORD,
    "engine": {"fingerprint": int},
    # What the process has seen of the counter, and the number after the last one that it was told of.
    "seen": {"origin": int, "next": int, "used": bool},
    "own": {"reached": int, "repeated": bool},
}


def own_begin(state):
    yield z3.And(state.seen.next == 0, z3.Not(state.seen.used), state.own.reached == 1, z3.Not(state.own.repeated))


def own_invariant(state):
    yield z3.And(z3.Not(state.own.repeated), state.own.reached >= 1, state.own.reached <= Max(state.seen.next, 1))
    yield z3.Or(state.own.reached == 1, state.seen.used)


def own_promise(state):
    return z3.Not(state.own.repeated)


def notes(before, after, it):
    """`SeenCounter::note`: only what was answered with success. The answer may be lost."""
    record = before.record
    now = rules.choose(it.is_written, it.record, SimpleNamespace(**vars(record), nonce=0))
    is_used = z3.Or(before.seen.used, now.next > now.first)
    known = z3.And(after.seen.origin == now.origin, after.seen.next == now.next, after.seen.used == is_used)
    is_known = z3.And(it.code == OK, z3.Or(it.is_written, record.there))
    return z3.If(is_known, known, same(before.seen, after.seen))


def is_record(record):
    """Whatever others make of it, it stands at its first number or above."""
    return z3.Implies(record.there, z3.And(record.first >= 1, record.next >= record.first))


def own_reserves(compares=True, is_answered=True):
    def step(before, after, local):
        view = view_of(before)
        window = window_of(before.record, local)
        nothing = SimpleNamespace(origin=z3.IntVal(0), next=z3.IntVal(0), used=z3.BoolVal(False))
        it = rules.reserve(view, caller_of(before.seen if compares else nothing, local), window, local("length"))
        yield z3.And(is_window(local), is_record(before.record), writes(before, after, it))
        if is_answered:
            yield it.code == OK
            yield notes(before, after, it)
            yield after.own.repeated == z3.Or(before.own.repeated, window.first < before.own.reached)
            yield after.own.reached == it.record.next
            yield rest(before, after, "record", "seen", "own")
        else:
            yield rest(before, after, "record")

    return step


def own_operation(rule):
    """Any other operation of this process."""

    def step(before, after, local):
        it = rule(view_of(before), caller_of(before.seen, local), local)
        is_given = z3.And(local("named_first") >= 1, local("up") >= 0)
        yield z3.And(is_given, is_record(before.record), writes(before, after, it), notes(before, after, it))
        yield rest(before, after, "record", "seen")

    return step


def others(before, after, local):
    yield rest(before, after, "record", "engine")


def anything(**changed):
    steps = {
        "the process reserves": own_reserves(),
        "it reserves, and the answer is lost": own_reserves(is_answered=False),
        "it compares the counter": own_operation(lambda view, caller, local: rules.check(view, caller)),
        "it declares the counter new": own_operation(lambda view, caller, local: rules.create(view, caller)),
        "it resumes the counter": own_operation(any_resume),
        "others or a loss change the record": others,
    }
    return System("a counter and one process, anything else", ANYTHING, own_begin, own_invariant, own_promise, steps | changed)


def systems():
    return [noticed(), anything()]


def flaws():
    return {
        "a counter that may have gone back goes on": noticed(**{"a process reserves": although_lost}),
        "a counter that is not there begins at 1": noticed(**{"a process reserves": although_missing}),
        "an operator declares a counter new that is not": noticed(**{"an operator declares it new": is_declared_new(False)}),
        "an operator resumes a counter too low": noticed(**{"an operator resumes it": is_resumed(False)}),
        "a loss of a counter is not noticed": noticed(**{"the store forgets": loses(False)}),
        "a process does not compare the counter with what it has seen": anything(
            **{"the process reserves": own_reserves(compares=False)}
        ),
    }
