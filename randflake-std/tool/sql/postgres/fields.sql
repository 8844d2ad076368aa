
-- Fields of raw ids, which are decrypted: no key is needed.

CREATE FUNCTION {schema}.raw_time(raw bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT {time}
$$;

CREATE FUNCTION {schema}.raw_node(raw bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT {node}
$$;

CREATE FUNCTION {schema}.raw_sequence(raw bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT {sequence}
$$;
