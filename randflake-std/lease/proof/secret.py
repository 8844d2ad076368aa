"""One secret and two namespaces, which would issue equal ids. A claim outside of both says which took the secret first.

The claim is put if there is none, before the namespace's record says that it has the secret. Clients crash between the two writes,
and a drop leaves the claim. The store remembers.
"""

import z3

from system import System, rest, same

NAMESPACES = {"a": 0, "b": 1}

SHAPE = {
    # Whose it is, or -1.
    "claim": {"owner": int},
    # Of the client of each: whether it has seen that the claim is its own, or nobody's; of the namespace: whether it has the
    # secret, and whether it ever had it and may have issued ids.
    **{name: {"may_take": bool, "has": bool, "issued": bool} for name in NAMESPACES},
}


def begin(state):
    yield state.claim.owner == -1
    for name in NAMESPACES:
        it = getattr(state, name)
        yield z3.Not(z3.Or(it.may_take, it.has, it.issued))


def invariant(state):
    for name, number in NAMESPACES.items():
        it = getattr(state, name)
        yield z3.Implies(z3.Or(it.may_take, it.has, it.issued), state.claim.owner == number)


def promise(state):
    return z3.Not(z3.And(state.a.issued, state.b.issued))


def claims(name, puts=True):
    """Put if absent; what is there then decides."""

    def step(before, after, local):
        owner, number = before.claim.owner, NAMESPACES[name]
        it, its = getattr(before, name), getattr(after, name)
        if puts:
            yield after.claim.owner == z3.If(owner == -1, number, owner)
            yield its.may_take == (after.claim.owner == number)
        else:
            # Only a look at what others have.
            other = getattr(before, "b" if name == "a" else "a")
            yield z3.And(its.may_take == z3.Not(other.has), same(before.claim, after.claim))
        yield z3.And(same(it, its, "has", "issued"), rest(before, after, "claim", name))

    return step


def takes(name):
    def step(before, after, local):
        it, its = getattr(before, name), getattr(after, name)
        yield z3.And(it.may_take, its.has, same(it, its, "may_take", "issued"), rest(before, after, name))

    return step


def issues(name):
    def step(before, after, local):
        it, its = getattr(before, name), getattr(after, name)
        yield z3.And(it.has, its.issued, same(it, its, "may_take", "has"), rest(before, after, name))

    return step


def crashes(name):
    def step(before, after, local):
        it, its = getattr(before, name), getattr(after, name)
        yield z3.And(z3.Not(its.may_take), same(it, its, "has", "issued"), rest(before, after, name))

    return step


def is_dropped(name, keeps_claim=True):
    """Its record is gone; ids of it are in use."""

    def step(before, after, local):
        it, its = getattr(before, name), getattr(after, name)
        yield z3.And(it.has, z3.Not(its.has), z3.Not(its.may_take), same(it, its, "issued"))
        yield same(before.claim, after.claim) if keeps_claim else after.claim.owner == -1
        yield rest(before, after, "claim", name)

    return step


def system(**changed):
    steps = {}
    for name in NAMESPACES:
        steps |= {
            f"a client of {name} claims the secret": claims(name),
            f"{name} takes the secret": takes(name),
            f"{name} issues": issues(name),
            f"the client of {name} crashes": crashes(name),
            f"{name} is dropped": is_dropped(name),
        }
    return System("one secret and two namespaces", SHAPE, begin, invariant, promise, steps | changed)


def systems():
    return [system()]


def flaws():
    looked = {f"a client of {name} claims the secret": claims(name, puts=False) for name in NAMESPACES}
    return {
        "a client only looks whether another namespace has the secret": system(**looked),
        "a drop removes the claim": system(**{"a is dropped": is_dropped("a", keeps_claim=False)}),
    }
