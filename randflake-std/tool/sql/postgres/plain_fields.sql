
-- Fields of ids. They are not encrypted, so an id is its raw id.

CREATE FUNCTION {schema}.id_time(id bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT {schema}.raw_time(id)
$$;

CREATE FUNCTION {schema}.id_node(id bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT {schema}.raw_node(id)
$$;

CREATE FUNCTION {schema}.id_sequence(id bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT {schema}.raw_sequence(id)
$$;

-- One row for each id, in the order of the array.
CREATE FUNCTION {schema}.id_fields_many(ids bigint[])
RETURNS TABLE (id bigint, at timestamptz, node bigint, sequence bigint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT given.id, {schema}.raw_time(given.id), {schema}.raw_node(given.id), {schema}.raw_sequence(given.id)
    FROM pg_catalog.unnest(ids) WITH ORDINALITY AS given (id, place)
    ORDER BY place
$$;

-- The id of a time, a node id and a sequence. For tests: it asks no store, so somebody else may issue the same id.
CREATE FUNCTION {schema}.compose(at timestamptz, node bigint, sequence bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT {schema}.compose_raw(at, node, sequence)
$$;
