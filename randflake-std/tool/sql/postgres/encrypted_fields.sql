
-- Fields of ids: whoever calls these needs the right to decrypt.

CREATE FUNCTION {schema}.id_time(id bigint) RETURNS timestamptz
LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT {schema}.raw_time({schema}.decrypt(id))
$$;

CREATE FUNCTION {schema}.id_node(id bigint) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT {schema}.raw_node({schema}.decrypt(id))
$$;

CREATE FUNCTION {schema}.id_sequence(id bigint) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT {schema}.raw_sequence({schema}.decrypt(id))
$$;

-- One row for each id, in the order of the array; the key is looked up once.
CREATE FUNCTION {schema}.id_fields_many(ids bigint[])
RETURNS TABLE (id bigint, at timestamptz, node bigint, sequence bigint)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT given.id, {schema}.raw_time(raw), {schema}.raw_node(raw), {schema}.raw_sequence(raw)
    FROM ROWS FROM (pg_catalog.unnest(ids), pg_catalog.unnest({schema}.decrypt_many(ids)))
        WITH ORDINALITY AS given (id, raw, place)
    ORDER BY place
$$;

-- The id of a time, a node id and a sequence: needs the right to encrypt. For tests: it asks no store, so somebody else may
-- issue the same id.
CREATE FUNCTION {schema}.compose(at timestamptz, node bigint, sequence bigint) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT {schema}.encrypt({schema}.compose_raw(at, node, sequence))
$$;
