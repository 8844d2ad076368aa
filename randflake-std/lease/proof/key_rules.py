"""The rules of keys, as `src/types/terms.rs` and `src/rules/administration.rs` have them.

A key is a form of ids, a number, which is 0 unless they are tagged UUIDs, and the check value of a secret, which is 0 where there
is none.
"""

from types import SimpleNamespace

from logic import And, Not, Or, floor

# Forms; a client without the key has none.
NO_KEY, PLAIN, KEY, KEY53, TAGGED = range(5)


def of(seal):
    """The key in a column."""
    return SimpleNamespace(form=seal % 10, check=floor(seal, 10) % 10, number=floor(seal, 100))


def are_tagged(one, other):
    return And(one.form == TAGGED, other.form == TAGGED)


def is_same(one, other):
    return And(one.form == other.form, one.number == other.number, one.check == other.check)


def agrees(stored, asked):
    """`Terms::agrees_with`: a rotation may lie between two numbers."""
    is_rotated = And(are_tagged(stored, asked), stored.number != asked.number)
    return Or(stored.form == NO_KEY, asked.form == NO_KEY, is_same(stored, asked), is_rotated)


def may_lease(stored, asked):
    """`Terms::check_key_number`: who leases has the number that is stored."""
    is_number = And(asked.form == TAGGED, asked.number == stored.number)
    return Or(stored.form != TAGGED, is_number)


def is_next(stored, asked):
    """`follows`: the number after the one that is stored, with another secret."""
    return And(are_tagged(stored, asked), asked.number == stored.number + 1, Not(asked.check == stored.check))
