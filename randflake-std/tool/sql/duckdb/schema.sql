-- Randflake ids of the namespace {namespace}, for DuckDB: macros in a schema of their own.
-- {layout}
CREATE SCHEMA {schema};

-- What the macros were made for.
CREATE MACRO {schema}.layout() AS '{layout}';
CREATE MACRO {schema}.namespace() AS '{namespace}';

-- What is wrong with a number that should be an id, signed or unsigned; NULL if nothing is. Text and numbers with a
-- fraction are refused before DuckDB rounds them.
CREATE MACRO {schema}.problem(id) AS CASE
    WHEN typeof(id) NOT IN ('INTEGER', 'UINTEGER', 'BIGINT', 'UBIGINT', 'HUGEINT', 'UHUGEINT', '"NULL"')
        THEN 'an id is a BIGINT or a UBIGINT, and this is a ' || typeof(id)
    WHEN try_cast(id AS HUGEINT) NOT BETWEEN {least_id} AND {most_id}
        THEN 'an id has {id_bits} bits: {least_id} to {most_id} are allowed'
END;
-- The 64 bits of an id without a problem, and the signed number of 64 bits. Here and below a macro has an argument once if
-- it may be a long expression: DuckDB puts it in each place.
CREATE MACRO {schema}.bits(id) AS (try_cast(id AS HUGEINT) & 18446744073709551615)::UBIGINT;
CREATE MACRO {schema}.signed_number(bits) AS
    (xor(bits, 9223372036854775808::UBIGINT)::HUGEINT - 9223372036854775808)::BIGINT;
