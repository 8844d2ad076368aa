
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
LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
    SELECT check_value FROM {schema}.key
$$;

-- The functions that follow are the cipher, and read the key; only the owner may call them.

CREATE FUNCTION {schema}.round_keys() RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    found_keys bigint[];
BEGIN
    SELECT k.round_keys INTO found_keys FROM {schema}.key k;
    IF found_keys IS NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'no key: the schema {schema} has none',
            HINT = 'Run: randflake sql key --namespace {namespace} --schema {schema} --database URL';
    END IF;
    RETURN found_keys;
END
$$;

-- The cipher. A round of the left branch and one of the right are computed at once, in the lower and the upper 32 bits of two
-- numbers: x has the first word of each branch, y the second. 281470681808895 is 16 bits of each half, 71777214294589695 the
-- lower byte of each 16 bits, 281474976776192 the bit above each word, from which a difference borrows.

CREATE FUNCTION {schema}.encrypt_block(block bigint, k bigint[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    -- The words of the cipher are big-endian, the block is little-endian.
    words CONSTANT bigint := (block >> 8 & 71777214294589695) | ((block & 71777214294589695) << 8);
    x bigint := words & 281470681808895;
    y bigint := words >> 16 & 281470681808895;
    t bigint;
BEGIN
    FOR i IN 1 .. 48 BY 6 LOOP
        x := (((x # k[i]) << 9 | ((x # k[i]) >> 7)) & 281470681808895) + (y # k[i + 1]) & 281470681808895;
        y := ((y # k[i + 1]) << 2 | ((y # k[i + 1]) >> 14)) & 281470681808895 # x;
        x := (((x # k[i + 2]) << 9 | ((x # k[i + 2]) >> 7)) & 281470681808895) + (y # k[i + 3]) & 281470681808895;
        y := ((y # k[i + 3]) << 2 | ((y # k[i + 3]) >> 14)) & 281470681808895 # x;
        x := (((x # k[i + 4]) << 9 | ((x # k[i + 4]) >> 7)) & 281470681808895) + (y # k[i + 5]) & 281470681808895;
        y := ((y # k[i + 5]) << 2 | ((y # k[i + 5]) >> 14)) & 281470681808895 # x;
        t := (x # y) & 65535;
        t := (t << 8 | (t >> 8)) & 65535;
        x := x & 65535 # t # (x >> 32) | ((x & 65535) << 32);
        y := y & 65535 # t # (y >> 32) | ((y & 65535) << 32);
    END LOOP;
    x := (x # k[49]) | ((y # k[50]) << 16);
    RETURN (x >> 8 & 71777214294589695) | ((x & 71777214294589695) << 8);
END
$$;

CREATE FUNCTION {schema}.decrypt_block(block bigint, k bigint[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    words CONSTANT bigint := (block >> 8 & 71777214294589695) | ((block & 71777214294589695) << 8);
    x bigint := words & 281470681808895 # k[49];
    y bigint := words >> 16 & 281470681808895 # k[50];
    t bigint;
BEGIN
    FOR i IN REVERSE 43 .. 1 BY 6 LOOP
        t := (x # y) >> 32;
        t := (t << 8 | (t >> 8)) & 65535;
        x := (x >> 32) | ((x & 65535 # t # (x >> 32)) << 32);
        y := (y >> 32) | ((y & 65535 # t # (y >> 32)) << 32);
        y := ((y # x) << 14 | ((y # x) >> 2)) & 281470681808895;
        x := (x | 281474976776192) - y & 281470681808895;
        x := (x << 7 | (x >> 9)) & 281470681808895 # k[i + 4];
        y := y # k[i + 5];
        y := ((y # x) << 14 | ((y # x) >> 2)) & 281470681808895;
        x := (x | 281474976776192) - y & 281470681808895;
        x := (x << 7 | (x >> 9)) & 281470681808895 # k[i + 2];
        y := y # k[i + 3];
        y := ((y # x) << 14 | ((y # x) >> 2)) & 281470681808895;
        x := (x | 281474976776192) - y & 281470681808895;
        x := (x << 7 | (x >> 9)) & 281470681808895 # k[i];
        y := y # k[i + 1];
    END LOOP;
    x := x | (y << 16);
    RETURN (x >> 8 & 71777214294589695) | ((x & 71777214294589695) << 8);
END
$$;

-- What others call. STABLE and not IMMUTABLE, because the key is in a table: no index, generated column or partition key
-- can use them.

CREATE FUNCTION {schema}.encrypt(raw bigint) RETURNS bigint
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    RETURN {schema}.{encrypting}(raw, {schema}.round_keys());
END
$$;

CREATE FUNCTION {schema}.decrypt(id bigint) RETURNS bigint
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    RETURN {schema}.{decrypting}(id, {schema}.round_keys());
END
$$;

-- Of arrays, in their order; the key is looked up once. By loops, because the plan of a query would have the key in it as a
-- constant, and auto_explain writes plans to the log.

CREATE FUNCTION {schema}.encrypt_many(raws bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    k CONSTANT bigint[] := {schema}.round_keys();
    raw bigint;
    ids bigint[] := ARRAY[]::bigint[];
BEGIN
    FOREACH raw IN ARRAY raws LOOP
        ids := array_append(ids, {schema}.{encrypting}(raw, k));
    END LOOP;
    RETURN ids;
END
$$;

CREATE FUNCTION {schema}.decrypt_many(ids bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
    k CONSTANT bigint[] := {schema}.round_keys();
    id bigint;
    raws bigint[] := ARRAY[]::bigint[];
BEGIN
    FOREACH id IN ARRAY ids LOOP
        raws := array_append(raws, {schema}.{decrypting}(id, k));
    END LOOP;
    RETURN raws;
END
$$;

REVOKE ALL ON FUNCTION {schema}.round_keys(), {schema}.encrypt_block(bigint, bigint[]), {schema}.decrypt_block(bigint, bigint[]),
    {schema}.encrypt(bigint), {schema}.decrypt(bigint), {schema}.encrypt_many(bigint[]), {schema}.decrypt_many(bigint[])
FROM PUBLIC;
