"""The rules of upgrades, as `src/rules/administration.rs` has them: which version a holder must know, and which one records may have."""

from types import SimpleNamespace

from logic import Max, Not, Or


def announced(holder, written, knows):
    """`announce`: never lower, since another upgrade may have announced more."""
    return SimpleNamespace(holder=Max(holder, knows), written=written)


def withdrawn(holder, written, knows):
    """`withdraw`: only as far as the records need."""
    return SimpleNamespace(holder=written, written=written)


def raised(holder, written, knows):
    """`raise`."""
    return SimpleNamespace(holder=Max(holder, knows), written=Max(written, knows))


def is_overtaken(there, writes, announced_writes):
    """The namespace's record is not as it was announced."""
    return Or(Not(there), writes != announced_writes)
