"""Compares the rules as they are proved with what the shipped functions answered and wrote."""

import os
import subprocess
from collections import Counter
from types import SimpleNamespace

import numpy

import agree_others
import key_rules
import operations
import rules
import upgrade_rules
from logic import And, Max, Not, Or, ceil

TRUTHS = {
    "certain", "has_window", "there", "dropped", "has_leased", "is_proxy", "held", "contested", "written",
    "namespace_written", "node_written", "has_leases", "is_chosen",
}
NAMESPACE = [
    "origin", "writes", "quarantine", "since", "cause", "dropped", "fingerprint", "identity", "max_ttl_ms", "seal", "holder_version",
    "record_version",
]
NODE = ["start", "end", "fencing", "serial", "nonce", "held", "contested", "knows"]
CHUNK = 30_000
EPOCH_UNIX_MS = 1_700_000_000_000


class Rows:
    """Some rows, as columns by name."""

    def __init__(self, names, numbers):
        rows = numpy.frombuffer(numbers, dtype="<i8").reshape(-1, len(names))
        self.columns = {name: rows[:, place].copy() for place, name in enumerate(names)}
        self.count = len(rows)

    def part(self, prefix):
        """The record whose columns begin so."""
        columns = self.columns.items()
        named = {name[len(prefix) :]: column for name, column in columns if name.startswith(prefix)}
        return SimpleNamespace(
            **{name: column == 1 if name in TRUTHS else column for name, column in named.items()}
        )


def predictions(rows):
    """What each operation answers and writes by the rules as they are proved."""
    every = rows.part("")
    node, other = rows.part("node_"), rows.part("other_node_")
    view, caller = given(rows, node.there)
    view.node = node
    leases = [with_tries(rows.part("lease_"), node), with_tries(rows.part("other_lease_"), other)]
    tries = [every.acquire_tried == node.nonce, every.acquire_tried == other.nonce]
    request = SimpleNamespace(
        ttl=every.ttl, token=every.acquire_token, is_tried=tries[0], node_ids=every.node_ids, is_chosen=every.is_chosen
    )
    found = {
        "acquire": operations.acquire(view, caller, request),
        "renew": operations.renew(view, caller, leases[0], every.ttl),
        "release": operations.release(view, caller, leases[0]),
        "create": operations.create(view, caller),
        "reopen": operations.reopen(view, caller),
        "quarantine": operations.quarantine(view, caller),
        "end_quarantine": operations.end_quarantine(view, caller, every.has_leases),
        "override_quarantine": operations.override_quarantine(view, caller),
        "declare_moved": operations.declare_moved(view, caller),
        "drop_namespace": operations.drop_namespace(view, caller),
        "outlast": operations.outlast(view, every.latest_end),
        "announce": operations.announce(view, caller),
        "withdraw": operations.withdraw(view, caller),
        "raise": operations.raise_version(view, caller, every.announced),
        "next_key": operations.next_key(view, caller, every.next_seal),
    }
    view.has_nodes = node.there | other.there
    nodes = [(node, tries[0], caller.seen.end), (other, tries[1], 0)]
    # Any two.
    request.is_chosen = every.is_chosen & False
    code, *written = operations.acquire_several(view, caller, nodes, request, every.wanted)
    found |= both("acquire_both", [code, code], *written)
    several = operations.renew_several(view, caller, [(node, leases[0]), (other, leases[1])], every.ttl)
    found |= both("renew_both", *several)
    for name, it, lease in [("release_both", node, leases[0]), ("release_both_other", other, leases[1])]:
        found[name] = operations.outcome(*operations.release_one(view, caller, it, lease))
    return found


def both(name, codes, state, state_written, nodes, nodes_written):
    """The outcomes of two node ids; the namespace's record is with the first one."""
    parts = zip([name, f"{name}_other"], codes, nodes, nodes_written)
    return {name: operations.outcome(code, state, state_written, node, is_written) for name, code, node, is_written in parts}


def with_tries(lease, node):
    lease.is_tried = lease.tried == node.nonce
    return lease


def given(rows, has_nodes):
    """The view and the caller."""
    every = rows.part("")
    seen = rows.part("seen_")
    # A proxy remembers no lease; who had none remembers no end.
    seen.end = numpy.where(seen.has_leased & ~seen.is_proxy, seen.end, 0)
    seen.latest_end = seen.end
    view = SimpleNamespace(
        tick_ms=every.tick_ms,
        now_ms=every.now_ms,
        fingerprint=every.fingerprint,
        identity=every.identity,
        certain=every.certain,
        # 0 is the Unix epoch, long before that of the layout.
        has_nodes=has_nodes,
        known_end_ms=numpy.where(every.known_end_ms == 0, -1, every.known_end_ms),
        made_ms=numpy.where(every.made_ms == 0, -EPOCH_UNIX_MS, every.made_ms),
        assumed_ms=every.assumed_ms,
        last=every.last,
        namespace=rows.part("namespace_"),
    )
    caller = SimpleNamespace(
        has_window=every.has_window,
        least=every.least,
        most=every.most,
        knows=every.knows,
        max_ttl_ms=every.asked_ttl_ms,
        seal=every.key_check,
        fresh_origin=every.fresh_origin,
        fresh_nonce=every.fresh_nonce,
        seen=seen,
    )
    return view, caller


def differences(rows):
    """Each column in which they differ: its name, how often, and a row that shows it."""
    found = []

    def compare(name, proved, where):
        wrong = numpy.flatnonzero(where & (proved != rows.columns[name]))
        if wrong.size:
            row = wrong[0]
            proved = numpy.broadcast_to(proved, rows.count)[row]
            shown = {key: int(column[row]) for key, column in rows.columns.items() if "." not in key}
            shipped = rows.columns[name][row]
            found.append(f"{name}: {wrong.size} rows; proved {proved}, shipped {shipped}, for {shown}")

    everywhere = numpy.ones(rows.count, dtype=bool)
    for operation, it in predictions(rows).items():
        shipped = rows.part(f"{operation}.")
        compare(f"{operation}.code", it.code, everywhere)
        compare(f"{operation}.node_written", it.node_written, everywhere)
        if not operation.endswith("_other"):
            compare(f"{operation}.namespace_written", it.namespace_written, everywhere)
            for name in NAMESPACE:
                proved = getattr(it.namespace, name)
                proved = proved + 1 if name == "writes" else proved
                compare(f"{operation}.{name}", proved, shipped.namespace_written)
        for name in NODE:
            compare(f"{operation}.{name}", getattr(it.node, name), shipped.node_written)
    for name, proved, where in agree_others.predictions(rows):
        compare(name, proved, where)
    return found


def changed_rules():
    """Changes of one rule each, all of which a comparison has to find."""

    def rounded_once(longest_ms, tick_ms):
        return ceil(longest_ms + 2 * rules.MAX_SKEW_MS, tick_ms)

    def one_tick_late(record, now):
        return Or(Not(record.there), record.end < now)

    def without_tries(record, lease, is_tried):
        return Or(Not(lease.written), And(record.serial == lease.serial, record.nonce == lease.nonce))

    def any_later_end(record, lease, is_tried):
        return And(record.there, rules.is_of(record, lease), rules.wrote(record, lease, is_tried))

    def at_any_time(record, now, in_quarantine, tick_ms):
        return now >= 0

    def may_go_back(record, now, ttl, last):
        return now + ttl

    def also_later(record, lease_end):
        return Max(lease_end, record.start)

    def by_token_alone(record, now, token, is_tried):
        return And(record.there, record.held, record.token == token, now < record.end)

    def whoever_chooses(tick_ms, node_ids, count, is_chosen):
        return youth(tick_ms, node_ids, count, is_chosen & False)

    def with_this_tick(made_ms, now_ms, wait_ms, tick_ms):
        return Max(grants_from(made_ms, now_ms, wait_ms, tick_ms) - 1, 0)

    def by_writes_alone(seen, record):
        return And(seen.there, Or(Not(record.there), record.writes < seen.writes))

    def never(state, now, view, seen):
        return now < 0

    def to_the_first(holder, written, knows):
        return SimpleNamespace(holder=1, written=written)

    def only_written(holder, written, knows):
        return SimpleNamespace(holder=holder, written=Max(written, knows))

    def lower(holder, written, knows):
        return SimpleNamespace(holder=knows, written=written)

    def gone_alone(there, writes, announced_writes):
        return Not(there)

    def any_secret(stored, asked):
        return Or(key_rules.are_tagged(stored, asked), agrees(stored, asked))

    def keyless_too(stored, asked):
        return Or(may_lease(stored, asked), asked.form == key_rules.NO_KEY)

    def skips(stored, asked):
        return And(key_rules.are_tagged(stored, asked), asked.number > stored.number, asked.check != stored.check)

    youth, grants_from = rules.youth, rules.grants_from
    agrees, may_lease = key_rules.agrees, key_rules.may_lease
    keys = {"agrees": any_secret, "may_lease": keyless_too, "is_next": skips}
    upgrades = {"announced": lower, "withdrawn": to_the_first, "raised": only_written, "is_overtaken": gone_alone}
    changes = {
        "quarantine_ticks": rounded_once,
        "is_free": one_tick_late,
        "wrote": without_tries,
        "is_as_known": any_later_end,
        "trusts": at_any_time,
        "renewed_end": may_go_back,
        "released_end": also_later,
        "is_claimed": by_token_alone,
        "contradicts": by_writes_alone,
        "youth": whoever_chooses,
        "grants_from": with_this_tick,
        "has_followed": never,
    }
    found = {(rules, name): changed for name, changed in changes.items()}
    found |= {(upgrade_rules, name): changed for name, changed in upgrades.items()}
    found |= {(key_rules, name): changed for name, changed in keys.items()}
    return found | agree_others.changed_rules()


def unnoticed(rows):
    """The changes of a rule that the rows do not tell from the shipped one."""
    for (module, name), changed in changed_rules().items():
        shipped = getattr(module, name)
        setattr(module, name, changed)
        try:
            if not differences(rows):
                yield name
        finally:
            setattr(module, name, shipped)


def compare(count, command):
    """Runs a command that writes rows of the shipped rules, and compares all of them."""
    reader, writer = os.pipe()
    given = {**os.environ, "RANDFLAKE_PROOF_ROWS": f"/dev/fd/{writer}", "RANDFLAKE_PROOF_COUNT": str(count)}
    run = subprocess.Popen(command, env=given, pass_fds=[writer])
    os.close(writer)
    compared, wrong, answers = 0, [], {}
    with open(reader, "rb") as pipe:
        names = pipe.readline().decode().split()
        while names and (numbers := pipe.read(CHUNK * len(names) * 8)):
            rows = Rows(names, numbers)
            if compared == 0:
                wrong += [f"the rows do not show a change of `{name}`" for name in unnoticed(rows)]
            compared += rows.count
            wrong += differences(rows)
            for name in names:
                if name.endswith(".code"):
                    answers.setdefault(name, Counter()).update(rows.columns[name].tolist())
    for name, counts in answers.items():
        print(f"  {name}: {dict(sorted(counts.items()))}")
    for what in wrong[:20]:
        print(f"  {what}")
    print(f"rules: {compared} views of {count}, {len(wrong)} differences")
    return run.wait() == 0 and compared == count and not wrong
