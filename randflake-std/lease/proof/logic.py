"""Operators that mean the same for terms of the solver and for arrays of numbers: what is proved is what is compared."""

from functools import reduce
from types import SimpleNamespace

import numpy
import z3


def is_term(*values):
    return any(isinstance(value, z3.ExprRef) for value in values)


def And(*values):
    return z3.And(*values) if is_term(*values) else reduce(numpy.logical_and, values)


def Or(*values):
    return z3.Or(*values) if is_term(*values) else reduce(numpy.logical_or, values)


def Not(value):
    return z3.Not(value) if is_term(value) else numpy.logical_not(value)


def Implies(if_so, then):
    return Or(Not(if_so), then)


def If(condition, then, otherwise):
    if is_term(condition):
        return z3.If(condition, then, otherwise)
    return numpy.where(condition, then, otherwise)


def Max(*values):
    return reduce(lambda a, b: If(a >= b, a, b), values)


def Min(*values):
    return reduce(lambda a, b: If(a <= b, a, b), values)


def floor(number, by):
    """Quotient, rounded down; of a term by a number above 0."""
    return number / by if is_term(number) else number // by


def ceil(number, by):
    return floor(number + by - 1, by)


def but(record, **changes):
    """A record with some fields changed."""
    return SimpleNamespace(**{**vars(record), **changes})


def choose(condition, then, otherwise):
    """One of two records, field by field."""
    other = vars(otherwise)
    return SimpleNamespace(
        **{name: If(condition, value, other[name]) for name, value in vars(then).items()}
    )
