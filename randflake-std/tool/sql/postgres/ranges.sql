
-- Raw ids and times. No key is needed; times are compared in UTC, whatever the session's time zone is.

-- Microseconds since 1970 of a time of the layout. Both ends are times: a range may end where the layout does.
CREATE FUNCTION {schema}.unix_us(at timestamptz) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    us bigint;
BEGIN
    IF at IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'the time is NULL';
    END IF;
    IF pg_catalog.isfinite(at) THEN
        -- Rounded: before PostgreSQL 14 these are floating-point numbers.
        us := pg_catalog.round(extract(epoch FROM at) {*} 1000000)::bigint;
    END IF;
    IF us {>=} {first_us} AND us {<=} {end_us} THEN
        RETURN us;
    END IF;
    RAISE datetime_field_overflow USING
        MESSAGE = pg_catalog.format('%s is no time of the layout', at AT TIME ZONE 'UTC'),
        DETAIL = 'Its times are from {first_time} to {last_time}; a range of all of them ends at {end_time}.';
END
$$;

-- The raw id of a time, a node id and a sequence. Nothing is cut off: a field out of range is an error.
CREATE FUNCTION {schema}.compose_raw(at timestamptz, node bigint, sequence bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    tick CONSTANT bigint := ({schema}.unix_us(at) {-} {first_us}) {/} {tick_us};
BEGIN
    IF tick {>} {max_tick} THEN
        RAISE datetime_field_overflow USING
            MESSAGE = pg_catalog.format('%s is no time of the layout', at AT TIME ZONE 'UTC'),
            DETAIL = 'Its times are from {first_time} to {last_time}.';
    END IF;
    IF node IS NULL OR node {<} 0 OR node {>} {max_node} THEN
        RAISE numeric_value_out_of_range USING
            MESSAGE = pg_catalog.format('node id %s: 0 to {max_node} are allowed', coalesce(node::pg_catalog.text, 'NULL'));
    END IF;
    IF sequence IS NULL OR sequence {<} 0 OR sequence {>} {max_sequence} THEN
        RAISE numeric_value_out_of_range USING
            MESSAGE = pg_catalog.format('sequence %s: 0 to {max_sequence} are allowed', coalesce(sequence::pg_catalog.text, 'NULL'));
    END IF;
    RETURN {packed};
END
$$;

-- The raw ids of the times from one on and before another, as one or two rows, both ends included: raw ids of {sign_time} and
-- later are negative in a bigint, and sort before the others. No row for no time.
CREATE FUNCTION {schema}.raw_ranges(from_time timestamptz, to_time timestamptz)
RETURNS TABLE (first bigint, last bigint)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 1 AS $$
DECLARE
    -- A tick counts by its first moment, which is what raw_time returns.
    from_tick CONSTANT bigint := ({schema}.unix_us(from_time) {-} {first_us} {+} {tick_us} {-} 1) {/} {tick_us};
    to_tick CONSTANT bigint := ({schema}.unix_us(to_time) {-} {first_us} {+} {tick_us} {-} 1) {/} {tick_us};
BEGIN
    IF from_time {>=} to_time THEN
        RAISE invalid_parameter_value USING
            MESSAGE = pg_catalog.format('the range begins at %s and does not end after that, but at %s',
                from_time AT TIME ZONE 'UTC', to_time AT TIME ZONE 'UTC');
    END IF;
    RETURN QUERY
        SELECT greatest(from_tick, part.begins) {<<} {time_shift}, (least(to_tick, part.ends) {-} 1) {<<} {time_shift} {|} {below_time}
        FROM (VALUES (0::bigint, {sign_tick}::bigint), ({sign_tick}, {max_tick} {+} 1)) AS part (begins, ends)
        WHERE greatest(from_tick, part.begins) {<} least(to_tick, part.ends);
END
$$;

-- The ends of that range, for a query without a join: raw BETWEEN raw_first(a, b) AND raw_last(a, b). A range of two parts
-- has no such ends, and is refused.

CREATE FUNCTION {schema}.raw_first(from_time timestamptz, to_time timestamptz) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF (SELECT pg_catalog.count(*) FROM {schema}.raw_ranges(from_time, to_time)) {>} 1 THEN
        RAISE numeric_value_out_of_range USING
            MESSAGE = 'raw ids become negative at {sign_time}, within the range: join raw_ranges, which gives both parts';
    END IF;
    -- The larger end of no range, so that nothing is between.
    RETURN coalesce((SELECT r.first FROM {schema}.raw_ranges(from_time, to_time) r), 0);
END
$$;

CREATE FUNCTION {schema}.raw_last(from_time timestamptz, to_time timestamptz) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    -- Refuses what has two parts.
    PERFORM {schema}.raw_first(from_time, to_time);
    RETURN coalesce((SELECT r.last FROM {schema}.raw_ranges(from_time, to_time) r), -1);
END
$$;
