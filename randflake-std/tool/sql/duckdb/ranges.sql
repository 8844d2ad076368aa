
-- Ranges of raw ids in a signed column: times t with from_time <= t < to_time, as a list of one or, where the numbers
-- become negative in between, of two; of none where no tick begins in between. Both ends are included.
CREATE MACRO {schema}.raw_ranges(from_time, to_time) AS CASE
    WHEN from_time IS NULL OR to_time IS NULL THEN error('a time is NULL')
    WHEN epoch_us(from_time) >= epoch_us(to_time) THEN error('the range ends before it begins, or as it begins')
    WHEN epoch_us(from_time) < {first_us} OR epoch_us(to_time) > {end_us}
        THEN error('the range is not within {first_time} to {end_time}, the times of the layout')
    ELSE {schema}.signed_ranges(
        {schema}.first_tick(from_time)::HUGEINT << {time_shift}, {schema}.first_tick(to_time)::HUGEINT << {time_shift})
END;
-- The first tick that begins then or later. Not negative: it may be computed before the conditions, and fail to be shifted.
CREATE MACRO {schema}.first_tick(at_time) AS greatest(epoch_us(at_time) - {first_us} + {tick_us} - 1, 0) // {tick_us};
CREATE MACRO {schema}.signed_ranges(first, past) AS CASE
    WHEN first = past THEN []
    WHEN first < 9223372036854775808 AND past > 9223372036854775808 THEN [
        {'first': try_cast(first AS BIGINT), 'last': 9223372036854775807},
        {'first': -9223372036854775808, 'last': {schema}.signed_number(try_cast(past - 1 AS UBIGINT))}]
    ELSE [{'first': {schema}.signed_number(try_cast(first AS UBIGINT)), 'last': {schema}.signed_number(try_cast(past - 1 AS UBIGINT))}]
END;

-- The first and the last raw id of a range, for BETWEEN; 1 and 0, with nothing in between, if it has none.
CREATE MACRO {schema}.raw_first(from_time, to_time) AS CASE
    WHEN len({schema}.raw_ranges(from_time, to_time)) <= 1
        THEN coalesce({schema}.raw_ranges(from_time, to_time)[1].first, 1)
    ELSE error('in this range raw ids become negative: raw_ranges gives its two parts')
END;
CREATE MACRO {schema}.raw_last(from_time, to_time) AS CASE
    WHEN len({schema}.raw_ranges(from_time, to_time)) <= 1
        THEN coalesce({schema}.raw_ranges(from_time, to_time)[1].last, 0)
    ELSE error('in this range raw ids become negative: raw_ranges gives its two parts')
END;
