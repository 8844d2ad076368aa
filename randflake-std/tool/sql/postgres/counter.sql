
-- Ids made here: sequential numbers, encrypted. The same ids as those of `randflake segment --encrypt` under the same secret.
CREATE SEQUENCE {schema}.number AS bigint MINVALUE 1 MAXVALUE 9223372036854775806 NO CYCLE;

-- The next id. Whoever may call it needs no other right: neither to encrypt nor to decrypt, nor on the sequence.
CREATE FUNCTION {schema}.next_id(name text) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- First: without a key no number is used up.
    k CONSTANT bigint[] := {schema}.round_keys();
BEGIN
    IF name IS NULL OR name {<>} '{namespace}' THEN
        RAISE invalid_parameter_value USING
            MESSAGE = pg_catalog.format('next_id(%L): the counter of this schema is ''{namespace}''', name);
    END IF;
    RETURN {schema}.encrypt_block(pg_catalog.nextval('{schema}.number'), k);
END
$$;

REVOKE ALL ON FUNCTION {schema}.next_id(text) FROM PUBLIC;
