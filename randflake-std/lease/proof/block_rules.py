"""The rules of a device's blocks, as `randflake-core/src/horizon/blocks` has them. `agree_others.py` compares them with the shipped
functions. The horizon is in seconds; the layout's epoch is 0."""

from logic import Max, Min, ceil, floor

SECOND_MS = 1_000


def tick_at(second, tick_ms):
    """The tick that has begun at a second."""
    return floor(second * SECOND_MS, tick_ms)


def tick_from(second, tick_ms):
    """The first tick that begins at a second or later."""
    return ceil(second * SECOND_MS, tick_ms)


def second_from(tick, tick_ms):
    """`unix_s_from`: the first second at which a tick has begun."""
    return ceil(tick * tick_ms, SECOND_MS)


def first_tick(horizon, grant_start, now, tick_ms):
    """`Blocks::next`: where a block begins."""
    return Max(grant_start, tick_from(horizon, tick_ms), now)


def claimed_horizon(end, block_s, tick_ms):
    """`Blocks::claim`: what the horizon is raised to, for a block that goes on from `end`."""
    return second_from(end, tick_ms) + Max(block_s, 1, ceil(tick_ms, SECOND_MS))


def end_below(horizon, grant_end, tick_ms):
    """`Blocks::end_below`: where the last block ends."""
    return Min(tick_at(horizon, tick_ms), grant_end)
