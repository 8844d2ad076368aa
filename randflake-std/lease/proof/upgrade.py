"""A namespace whose records are raised to a version that older programs do not know, while programs of both versions work.

Each write is conditional on the namespace's record. An older program refuses a namespace's record that asks for a newer reader; a
newer one writes node ids' records in the version that the namespace's record allows. No record that an older program cannot read is
ever replaced by one; and an upgrade that is not forced ends no lease of an older holder.
"""

import z3

import upgrade_rules
from system import System, rest, same

OLD, NEW = 1, 2

SHAPE = {
    # `writes`: how often it was written; the version of holders that may acquire, and the one that records may be written in.
    "namespace": {"writes": int, "holder": int, "written": int},
    # The record of one node id: its form, and the version that its holder knows, while it has one.
    "node": {"form": int, "leased": bool, "knows": int},
    # An older program: what it has read, and decided to write.
    "older": {"reads": bool, "writes": int, "holder": int},
    # An upgrade: it has announced, and then seen that no older holder is there.
    "upgrade": {"announced": bool, "writes": int, "has_looked": bool},
    "ghost": {"replaced": bool, "ended": bool},
}


def begin(state):
    yield z3.And(state.namespace.holder == OLD, state.namespace.written == OLD, state.node.form == OLD, state.namespace.writes >= 0)
    yield z3.And(state.node.knows == OLD, z3.Not(state.node.leased))
    yield z3.Not(z3.Or(state.older.reads, state.upgrade.announced, state.upgrade.has_looked))
    yield z3.Not(z3.Or(state.ghost.replaced, state.ghost.ended))


def invariant(state):
    namespace, node, older, upgrade = state.namespace, state.node, state.older, state.upgrade
    yield z3.Not(z3.Or(state.ghost.replaced, state.ghost.ended))
    yield z3.And(namespace.written >= OLD, namespace.written <= namespace.holder, namespace.holder <= NEW)
    yield z3.And(node.form >= OLD, node.form <= namespace.written, node.knows <= NEW)
    # The record that an older program has read was written in a version that it knows.
    is_current = z3.And(older.reads, older.writes == namespace.writes)
    yield z3.Implies(older.reads, older.writes <= namespace.writes)
    yield z3.Implies(is_current, z3.And(namespace.written == OLD, older.holder == namespace.holder))
    yield z3.Implies(upgrade.announced, upgrade.writes <= namespace.writes)
    is_announced = z3.And(upgrade.announced, upgrade.writes == namespace.writes)
    yield z3.Implies(is_announced, namespace.holder == NEW)
    yield z3.Implies(upgrade.has_looked, upgrade.announced)
    yield z3.Implies(z3.And(is_announced, upgrade.has_looked), z3.Not(z3.And(node.leased, node.knows < NEW)))


def promise(state):
    return z3.Not(z3.Or(state.ghost.replaced, state.ghost.ended))


def older_reads(refuses=True):
    def step(before, after, local):
        yield before.namespace.written <= OLD if refuses else True
        # One that does not know what it reads does not know who may acquire.
        holder = before.namespace.holder if refuses else OLD
        yield z3.And(after.older.reads, after.older.writes == before.namespace.writes, after.older.holder == holder)
        yield rest(before, after, "older")

    return step


def older_writes(acquires, is_conditional=True, is_announced=True):
    """An acquire or a renewal; once an upgrade is announced, neither of a lease that a newer program wrote last."""

    def step(before, after, local):
        older, node, new = before.older, before.node, after.node
        yield z3.And(older.reads, older.writes == before.namespace.writes if is_conditional else True)
        is_allowed = older.holder <= OLD if is_announced else True
        yield z3.And(z3.Not(node.leased), is_allowed) if acquires else z3.And(node.leased, z3.Or(node.knows == OLD, is_allowed))
        yield z3.And(new.form == OLD, new.leased, new.knows == OLD)
        yield after.ghost.replaced == z3.Or(before.ghost.replaced, node.form > OLD)
        yield z3.And(same(before.ghost, after.ghost, "ended"), rest(before, after, "node", "ghost"))

    return step


def newer_writes(before, after, local):
    """An acquire or a renewal, also of a lease that an older server has renewed."""
    node, new = before.node, after.node
    yield z3.And(new.leased, new.knows == NEW, z3.Or(new.form == before.namespace.written, new.form == node.form))
    yield rest(before, after, "node")


def ends(before, after, local):
    yield z3.And(before.node.leased, z3.Not(after.node.leased), same(before.node, after.node, "form", "knows"))
    yield rest(before, after, "node")


def has(then, rule, namespace):
    """Whether it has the versions that a rule of a newer program gives."""
    versions = rule(namespace.holder, namespace.written, NEW)
    return z3.And(then.holder == versions.holder, then.written == versions.written)


def announces(before, after, local):
    namespace, then, upgrade = before.namespace, after.namespace, after.upgrade
    yield z3.And(has(then, upgrade_rules.announced, namespace), then.writes == namespace.writes + 1)
    yield z3.And(upgrade.announced, upgrade.writes == then.writes, z3.Not(upgrade.has_looked))
    yield rest(before, after, "namespace", "upgrade")


def looks(before, after, local):
    yield z3.And(before.upgrade.announced, z3.Not(z3.And(before.node.leased, before.node.knows < NEW)), after.upgrade.has_looked)
    yield z3.And(same(before.upgrade, after.upgrade, "announced", "writes"), rest(before, after, "upgrade"))


def withdraws(before, after, local):
    """Also another upgrade, or one that was interrupted."""
    namespace, then = before.namespace, after.namespace
    yield z3.And(has(then, upgrade_rules.withdrawn, namespace), then.writes == namespace.writes + 1)
    yield rest(before, after, "namespace")


def raises(compares=True):
    def step(before, after, local):
        namespace, then, upgrade, node = before.namespace, after.namespace, before.upgrade, before.node
        overtaken = upgrade_rules.is_overtaken(z3.BoolVal(True), namespace.writes, upgrade.writes)
        yield z3.And(upgrade.announced, upgrade.has_looked, z3.Not(overtaken) if compares else True)
        yield z3.And(has(then, upgrade_rules.raised, namespace), then.writes == namespace.writes + 1)
        is_ended = z3.And(node.leased, node.knows < NEW)
        yield z3.And(after.ghost.ended == z3.Or(before.ghost.ended, is_ended), same(before.ghost, after.ghost, "replaced"))
        yield rest(before, after, "namespace", "ghost")

    return step


def is_forced(before, after, local):
    """An operator raises it although older holders are there."""
    namespace, then = before.namespace, after.namespace
    yield z3.And(has(then, upgrade_rules.raised, namespace), then.writes == namespace.writes + 1, rest(before, after, "namespace"))


def system(**changed):
    steps = {
        "an older program reads": older_reads(),
        "an older program acquires": older_writes(True),
        "an older program renews": older_writes(False),
        "a newer program acquires or renews": newer_writes,
        "the lease ends": ends,
        "an upgrade is announced": announces,
        "the upgrade looks for older holders": looks,
        "an upgrade is withdrawn": withdraws,
        "the namespace is raised": raises(),
        "the namespace is raised by force": is_forced,
    }
    return System("programs of two versions", SHAPE, begin, invariant, promise, steps | changed)


def systems():
    return [system()]


def flaws():
    unconditional = {
        "an older program acquires": older_writes(True, is_conditional=False),
        "an older program renews": older_writes(False, is_conditional=False),
    }
    return {
        "a write is not conditional on the namespace's record": system(**unconditional),
        "an older program does not refuse a raised record": system(**{"an older program reads": older_reads(refuses=False)}),
        "an older program acquires after an announcement": system(
            **{"an older program acquires": older_writes(True, is_announced=False)}
        ),
        "an older program renews for a newer holder after an announcement": system(
            **{"an older program renews": older_writes(False, is_announced=False)}
        ),
        "a namespace is raised although it was changed since the announcement": system(
            **{"the namespace is raised": raises(compares=False)}
        ),
    }
