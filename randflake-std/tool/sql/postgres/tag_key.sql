
-- The keys of tags, by key number. No statement has one in its text: `randflake sql key --tagged` derives it from the secret,
-- which stays outside, and copies it in. A key is retired when its row is deleted. Rows of a table with row-level security
-- and no policy are seen by its owner and superusers alone, whatever rights others have on all tables.
CREATE TABLE {schema}.key (
    number integer PRIMARY KEY CHECK (number {>=} 1 AND number {<=} 63),
    -- SPARX-64/128: two for each of 24 rounds of both branches, and two of whitening. The left branch's 16 bits are
    -- the lower ones, the right branch's begin at bit 32.
    round_keys bigint[] NOT NULL,
    -- Tells secrets apart, and nothing else. Under one secret of two numbers ids would be equal.
    check_value text NOT NULL UNIQUE
);
-- Statistics would have the values, in a catalog that others may read.
ALTER TABLE {schema}.key ALTER number SET STATISTICS 0, ALTER round_keys SET STATISTICS 0, ALTER check_value SET STATISTICS 0;
ALTER TABLE {schema}.key ENABLE ROW LEVEL SECURITY;
REVOKE ALL ON TABLE {schema}.key FROM PUBLIC;

-- The key numbers that are accepted, and the check values of their secrets, eight hex digits each. `randflake lease namespaces`
-- shows that of a namespace.
CREATE FUNCTION {schema}.key_checks() RETURNS TABLE (number integer, check_value text)
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT k.number, k.check_value FROM {schema}.key k ORDER BY k.number
$$;

-- The functions that follow read the keys, and are the cipher; only the owner may call them.

-- The key of a number, or NULL. A schema without any key is a mistake of who installed it.
CREATE FUNCTION {schema}.round_keys(of_number bigint) RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    found_keys bigint[];
BEGIN
    -- As after the restore of a dump without rights, where everybody may call every function.
    IF pg_catalog.has_function_privilege('public', '{schema}.round_keys(bigint)'::pg_catalog.regprocedure, 'EXECUTE') THEN
        RAISE insufficient_privilege USING
            MESSAGE = 'everybody has rights to the key: the rights of the schema {schema} were not restored',
            HINT = 'Run: randflake sql key --tagged NUMBER --namespace {namespace} --schema {schema} --database URL';
    END IF;
    SELECT k.round_keys INTO found_keys FROM {schema}.key k WHERE k.number {=} of_number;
    IF found_keys IS NULL AND NOT EXISTS (SELECT FROM {schema}.key) THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'no key: the schema {schema} has none',
            HINT = 'Run: randflake sql key --tagged NUMBER --namespace {namespace} --schema {schema} --database URL';
    END IF;
    RETURN found_keys;
END
$$;

REVOKE ALL ON FUNCTION {schema}.round_keys(bigint) FROM PUBLIC;
