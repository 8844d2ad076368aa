"""Ids that threads take in blocks, on a machine that is copied at any moment. The platform changes the copy's generation number before
it runs.

A position is a tick and a sequence of one lease; the word holds the next one. One position is watched, any of all: its id is handed out
once, although the copy has the same word, the same blocks, and threads in the middle of a call. Forked children are such copies.
"""

import z3

from system import System, rest, same

MACHINES = ["original", "copy"]
THREADS = "pq"

THREAD = {
    # What is left of its block; the id that it has taken and not handed out yet.
    "next": int, "end": int, "has_taken": bool, "taken": int,
    # Only where a rule is left out: it has compared the generation before it takes, or read the word before it exchanges it.
    "compared": bool, "word": int,
}
SHAPE = {
    **{machine: {"runs": bool, "word": int} for machine in MACHINES},
    **{f"{machine}_{thread}": THREAD for machine in MACHINES for thread in THREADS},
    "watched": {"position": int, "issued": bool, "again": bool},
}


def threads(state, machine):
    return [getattr(state, f"{machine}_{thread}") for thread in THREADS]


def has(thread, position):
    """It may still hand it out."""
    return z3.Or(
        z3.And(thread.next <= position, position < thread.end), z3.And(thread.has_taken, thread.taken == position)
    )


def begin(state):
    yield z3.And(state.original.runs, z3.Not(state.copy.runs), state.original.word == 0)
    yield z3.Not(z3.Or(state.watched.issued, state.watched.again))
    for machine in MACHINES:
        for it in threads(state, machine):
            yield z3.And(it.next == 0, it.end == 0, z3.Not(it.has_taken), z3.Not(it.compared), it.word == 0)


def invariant(state):
    """The copy hands out nothing, so all is as if there were the original alone."""
    position, issued = state.watched.position, state.watched.issued
    one, other = threads(state, "original")
    yield z3.And(state.original.runs, z3.Not(state.watched.again))
    for it in [one, other]:
        yield z3.Implies(has(it, position), z3.And(position < state.original.word, z3.Not(issued)))
        in_block = z3.And(it.next <= position, position < it.end)
        yield z3.Not(z3.And(in_block, it.has_taken, it.taken == position))
    yield z3.Not(z3.And(has(one, position), has(other, position)))
    yield z3.Implies(issued, position < state.original.word)


def promise(state):
    return z3.Not(state.watched.again)


def name_of(machine, thread):
    return f"{machine}_{thread}"


def reserves(machine, thread, is_exchanged=True):
    """A run of the word's next positions, or later ones: the clock moves on. The rest of the former block is dropped."""

    def step(before, after, local):
        it, its = getattr(before, machine), getattr(after, machine)
        mine, new = getattr(before, name_of(machine, thread)), getattr(after, name_of(machine, thread))
        word = it.word if is_exchanged else mine.word
        yield z3.And(it.runs, its.runs, z3.Not(mine.has_taken), new.next >= word, new.end > new.next, its.word == new.end)
        yield same(mine, new, "has_taken", "taken", "compared", "word")
        yield rest(before, after, machine, name_of(machine, thread))

    return step


def reads(machine, thread):
    """The word, for an exchange that does not compare it."""

    def step(before, after, local):
        mine, new = getattr(before, name_of(machine, thread)), getattr(after, name_of(machine, thread))
        yield z3.And(getattr(before, machine).runs, new.word == getattr(before, machine).word)
        yield z3.And(same(mine, new, "next", "end", "has_taken", "taken", "compared"), rest(before, after, name_of(machine, thread)))

    return step


def takes(machine, thread):
    """The next id of its block, which is no longer in it."""

    def step(before, after, local):
        mine, new = getattr(before, name_of(machine, thread)), getattr(after, name_of(machine, thread))
        yield z3.And(getattr(before, machine).runs, z3.Not(mine.has_taken), mine.next < mine.end)
        yield z3.And(new.has_taken, new.taken == mine.next, new.next == mine.next + 1, same(mine, new, "end", "compared", "word"))
        yield rest(before, after, name_of(machine, thread))

    return step


def is_handed_out(before, after, position):
    watched, then = before.watched, after.watched
    is_it = position == watched.position
    return z3.And(
        then.position == watched.position,
        then.issued == z3.Or(watched.issued, is_it),
        then.again == z3.Or(watched.again, z3.And(watched.issued, is_it)),
    )


def hands_out(machine, thread, compares=True):
    """After the id was taken, the generation number is compared. The copy's differs, so it drops the id and the block."""

    def step(before, after, local):
        mine, new = getattr(before, name_of(machine, thread)), getattr(after, name_of(machine, thread))
        yield z3.And(getattr(before, machine).runs, mine.has_taken, z3.Not(new.has_taken))
        yield same(mine, new, "end", "taken", "compared", "word")
        yield rest(before, after, name_of(machine, thread), "watched")
        if machine == "copy" and compares:
            yield z3.And(new.next == mine.end, same(before.watched, after.watched))
        else:
            yield z3.And(new.next == mine.next, is_handed_out(before, after, mine.taken))

    return step


def compares_first(machine, thread):
    def step(before, after, local):
        mine, new = getattr(before, name_of(machine, thread)), getattr(after, name_of(machine, thread))
        yield z3.And(getattr(before, machine).runs, machine == "original", new.compared)
        yield z3.And(same(mine, new, "next", "end", "has_taken", "taken", "word"), rest(before, after, name_of(machine, thread)))

    return step


def takes_after_comparing(machine, thread):
    def step(before, after, local):
        mine, new = getattr(before, name_of(machine, thread)), getattr(after, name_of(machine, thread))
        yield z3.And(getattr(before, machine).runs, mine.compared, mine.next < mine.end, new.next == mine.next + 1)
        yield z3.And(z3.Not(new.compared), same(mine, new, "end", "has_taken", "taken", "word"))
        yield z3.And(is_handed_out(before, after, mine.next), rest(before, after, name_of(machine, thread), "watched"))

    return step


def is_copied(before, after, local):
    """All of it, between any two steps of its threads; also a second time."""
    yield z3.And(after.copy.runs, after.copy.word == before.original.word)
    for thread in THREADS:
        yield same(getattr(before, name_of("original", thread)), getattr(after, name_of("copy", thread)))
    yield rest(before, after, "copy", *[name_of("copy", thread) for thread in THREADS])


def system(**changed):
    steps = {"the machine is copied": is_copied}
    for machine in MACHINES:
        for thread in THREADS:
            steps |= {
                f"thread {thread} of the {machine} reserves a block": reserves(machine, thread),
                f"thread {thread} of the {machine} takes an id": takes(machine, thread),
                f"thread {thread} of the {machine} compares and hands out": hands_out(machine, thread),
            }
    return System("blocks of threads on a machine that is copied", SHAPE, begin, invariant, promise, steps | changed)


def systems():
    return [system()]


def flaws():
    everywhere = [(machine, thread) for machine in MACHINES for thread in THREADS]
    uncompared = {f"thread {t} of the {m} compares and hands out": hands_out(m, t, compares=False) for m, t in everywhere}
    first = {f"thread {t} of the {m} compares": compares_first(m, t) for m, t in everywhere}
    first |= {f"thread {t} of the {m} takes an id, and hands it out": takes_after_comparing(m, t) for m, t in everywhere}
    unexchanged = {f"thread {t} of the {m} reserves a block": reserves(m, t, is_exchanged=False) for m, t in everywhere}
    unexchanged |= {f"thread {t} of the {m} reads the word": reads(m, t) for m, t in everywhere}
    return {
        "the generation number is not compared": system(**uncompared),
        "the generation number is compared before the id is taken": system(**first).without("compares and hands out"),
        "the word is written without a comparison": system(**unexchanged).without("copy", "copied"),
    }
