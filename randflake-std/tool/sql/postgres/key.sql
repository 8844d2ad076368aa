
-- The key. No statement has it in its text: `randflake sql key` copies it in. Rows of a table with row-level security and
-- no policy are seen by its owner and superusers alone, whatever rights others have on all tables.
CREATE TABLE {schema}.key (
    -- SPARX-64/128: two for each of 24 rounds of both branches, and two of whitening. The left branch's 16 bits are
    -- the lower ones, the right branch's begin at bit 32.
    round_keys bigint[] NOT NULL,
    -- Tells keys apart, and nothing else.
    check_value text NOT NULL
);
-- One key for ever: ids of another one could not be read.
CREATE UNIQUE INDEX one_key ON {schema}.key ((true));
-- Statistics would have the values, in a catalog that others may read.
ALTER TABLE {schema}.key ALTER round_keys SET STATISTICS 0, ALTER check_value SET STATISTICS 0;
ALTER TABLE {schema}.key ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE {schema}.key FROM PUBLIC;

-- The check value of the key, eight hex digits; NULL without one. `randflake lease namespaces` shows that of a namespace.
CREATE FUNCTION {schema}.key_check() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT check_value FROM {schema}.key
$$;

-- The functions that follow read the key, and are the cipher; only the owner may call them.

CREATE FUNCTION {schema}.round_keys() RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    found_keys bigint[];
BEGIN
    -- As after the restore of a dump without rights, where everybody may call every function.
    IF pg_catalog.has_function_privilege('public', '{schema}.round_keys()'::pg_catalog.regprocedure, 'EXECUTE') THEN
        RAISE insufficient_privilege USING
            MESSAGE = 'everybody has rights to the key: the rights of the schema {schema} were not restored',
            HINT = 'Run: randflake sql key --namespace {namespace} --schema {schema} --database URL';
    END IF;
    SELECT k.round_keys INTO found_keys FROM {schema}.key k;
    IF found_keys IS NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'no key: the schema {schema} has none',
            HINT = 'Run: randflake sql key --namespace {namespace} --schema {schema} --database URL';
    END IF;
    RETURN found_keys;
END
$$;

REVOKE ALL ON FUNCTION {schema}.round_keys() FROM PUBLIC;
