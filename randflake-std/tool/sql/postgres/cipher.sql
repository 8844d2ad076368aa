
-- What others call. STABLE and not IMMUTABLE, because the key is in a table: no index, generated column or partition key
-- can use them.

CREATE FUNCTION {schema}.encrypt(raw bigint) RETURNS bigint
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN {schema}.{encrypting}(raw, {schema}.round_keys());
END
$$;

CREATE FUNCTION {schema}.decrypt(id bigint) RETURNS bigint
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN {schema}.{decrypting}(id, {schema}.round_keys());
END
$$;

-- Of arrays, in their order; the key is looked up once. By loops, because the plan of a query would have the key in it as a
-- constant, and auto_explain writes plans to the log.

CREATE FUNCTION {schema}.encrypt_many(raws bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k CONSTANT bigint[] := {schema}.round_keys();
    raw bigint;
    ids bigint[] := ARRAY[]::bigint[];
BEGIN
    FOREACH raw IN ARRAY raws LOOP
        ids := pg_catalog.array_append(ids, {schema}.{encrypting}(raw, k));
    END LOOP;
    RETURN ids;
END
$$;

CREATE FUNCTION {schema}.decrypt_many(ids bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k CONSTANT bigint[] := {schema}.round_keys();
    id bigint;
    raws bigint[] := ARRAY[]::bigint[];
BEGIN
    FOREACH id IN ARRAY ids LOOP
        raws := pg_catalog.array_append(raws, {schema}.{decrypting}(id, k));
    END LOOP;
    RETURN raws;
END
$$;

REVOKE ALL ON FUNCTION {schema}.encrypt(bigint), {schema}.decrypt(bigint), {schema}.encrypt_many(bigint[]),
    {schema}.decrypt_many(bigint[])
FROM PUBLIC;
