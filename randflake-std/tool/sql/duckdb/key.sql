
-- The key. It is in a variable of the session, and in no file of the database:
--   SET VARIABLE {schema}_key = (SELECT {schema}.key_of(content) FROM read_text('FILE'));

-- The round keys of a secret, 32 hex digits: SPARX-64/128, as the cipher below uses them. A branch takes three of the four
-- pairs of 16-bit words of the key state, which is permuted for the next one. A cast that fails would show the secret.
CREATE MACRO {schema}.key_of(secret) AS CASE
    WHEN regexp_full_match(trim(secret, e' \t\r\n'), '[0-9A-Fa-f]{32}') THEN (
        WITH RECURSIVE words AS (
            SELECT [try_cast('0x' || substr(trim(secret, e' \t\r\n'), 4 * i + 1, 4) AS UBIGINT) for i in range(8)] AS w
        ), branches AS (
            SELECT 1::UBIGINT AS number, w FROM words
            UNION ALL
            SELECT number + 1, [w[7], (w[8] + number) & 65535, x, y, (w[3] + x) & 65535, (w[4] + y) & 65535, w[5], w[6]]
            FROM (
                SELECT number, w, x, xor(((w[2] << 2) | (w[2] >> 14)) & 65535, x) AS y
                FROM (SELECT number, w, ((((w[1] << 9) | (w[1] >> 7)) & 65535) + w[2]) & 65535 AS x FROM branches WHERE number <= 16)
            )
        ), pairs AS (
            SELECT list(w[1] | (w[2] << 16) ORDER BY number) AS first,
                list(w[3] | (w[4] << 16) ORDER BY number) AS second,
                list(w[5] | (w[6] << 16) ORDER BY number) AS third
            FROM branches
        )
        SELECT {
            'steps': [[
                    first[2 * s + 1] | (first[2 * s + 2] << 32),
                    second[2 * s + 1] | (second[2 * s + 2] << 32),
                    third[2 * s + 1] | (third[2 * s + 2] << 32)] for s in range(8)],
            'whitening': first[17] | (second[17] << 32)
        } FROM pairs)
    ELSE error('a key is 32 hex digits')
END;

-- What the variable has; NULL if that is no key, such as the secret itself, which an error would show.
CREATE MACRO {schema}.session_key() AS
    try_cast(getvariable('{schema}_key') AS STRUCT(steps UBIGINT[][], whitening UBIGINT));

-- What keeps an id from being decrypted or encrypted; NULL if nothing does.
CREATE MACRO {schema}.problem_or_no_key(id) AS CASE
    WHEN {schema}.session_key() IS NULL THEN 'no key: set the variable {schema}_key to {schema}.key_of(SECRET)'
    ELSE {schema}.problem(id)
END;
