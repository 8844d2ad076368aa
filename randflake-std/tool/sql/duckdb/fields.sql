
-- Fields of raw ids, which are decrypted: no key is needed. Times are in UTC.

CREATE MACRO {schema}.time_of(bits) AS
    make_timestamp_ms({epoch_ms} + {tick_ms} * ((bits >> {time_shift}) & {max_tick})::BIGINT);
CREATE MACRO {schema}.node_of(bits) AS ((bits >> {node_shift}) & {max_node})::BIGINT;
CREATE MACRO {schema}.sequence_of(bits) AS ((bits >> {sequence_shift}) & {max_sequence})::BIGINT;

CREATE MACRO {schema}.raw_time(raw) AS CASE
    WHEN {schema}.problem(raw) IS NOT NULL THEN error({schema}.problem(raw))::TIMESTAMP
    ELSE {schema}.time_of({schema}.bits(raw))
END;
CREATE MACRO {schema}.raw_node(raw) AS CASE
    WHEN {schema}.problem(raw) IS NOT NULL THEN error({schema}.problem(raw))::BIGINT
    ELSE {schema}.node_of({schema}.bits(raw))
END;
CREATE MACRO {schema}.raw_sequence(raw) AS CASE
    WHEN {schema}.problem(raw) IS NOT NULL THEN error({schema}.problem(raw))::BIGINT
    ELSE {schema}.sequence_of({schema}.bits(raw))
END;

-- The bits of a raw id of these fields. The time is in UTC unless it is a TIMESTAMPTZ, and its tick the one that it is in.
-- Casts may be computed before the conditions, so they never fail.
CREATE MACRO {schema}.bits_of(at_time, node, sequence) AS CASE
    WHEN at_time IS NULL OR node IS NULL OR sequence IS NULL
        THEN error('the time, the node id or the sequence is NULL')::UBIGINT
    WHEN epoch_us(at_time) NOT BETWEEN {first_us} AND {end_us} - 1
        THEN error('the time is out of range: {first_time} to {last_time} is allowed')::UBIGINT
    WHEN node NOT BETWEEN 0 AND {max_node}
        THEN error('the node id is out of range: 0 to {max_node} is allowed')::UBIGINT
    WHEN sequence NOT BETWEEN 0 AND {max_sequence}
        THEN error('the sequence is out of range: 0 to {max_sequence} is allowed')::UBIGINT
    ELSE (try_cast((epoch_us(at_time) - {first_us}) // {tick_us} AS UBIGINT) << {time_shift})
        | (try_cast(node AS UBIGINT) << {node_shift}) | (try_cast(sequence AS UBIGINT) << {sequence_shift})
END;
CREATE MACRO {schema}.compose_raw(at_time, node, sequence) AS
    {schema}.signed_number({schema}.bits_of(at_time, node, sequence));
