
-- The check value of the session's key, eight hex digits; NULL without one. `randflake lease namespaces` shows that of a
-- namespace. It is half of a block under another key, which is the two blocks `rflkseal` and `sealrflk` encrypted.
CREATE MACRO {schema}.key_check() AS (
    SELECT printf('%08x', {schema}.encrypt_block(8243395376701596012::UBIGINT, other_key) >> 32)
    FROM (SELECT {schema}.key_of(printf('%016x%016x',
        {schema}.{encrypting}(8243395376701596012::UBIGINT, {schema}.session_key()),
        {schema}.{encrypting}(8315159405413166187::UBIGINT, {schema}.session_key()))) AS other_key)
    WHERE {schema}.session_key() IS NOT NULL
);

-- A NULL remains NULL.
CREATE MACRO {schema}.decrypt(id) AS CASE
    WHEN {schema}.problem_or_no_key(id) IS NOT NULL THEN error({schema}.problem_or_no_key(id))::BIGINT
    ELSE {schema}.signed_number({schema}.{decrypting}({schema}.bits(id), {schema}.session_key()))
END;
CREATE MACRO {schema}.encrypt(raw) AS CASE
    WHEN {schema}.problem_or_no_key(raw) IS NOT NULL THEN error({schema}.problem_or_no_key(raw))::BIGINT
    ELSE {schema}.signed_number({schema}.{encrypting}({schema}.bits(raw), {schema}.session_key()))
END;
