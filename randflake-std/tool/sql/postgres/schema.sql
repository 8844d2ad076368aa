CREATE SCHEMA {schema};
COMMENT ON SCHEMA {schema} IS 'Randflake ids of the namespace {namespace}: {layout}';

-- What the functions were made for.
CREATE FUNCTION {schema}.about(OUT namespace text, OUT layout text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT '{namespace}', '{layout}'
$$;
