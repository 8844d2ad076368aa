-- The schema `randflake`, version 1: tables and nothing else. Whoever comes first makes it; the others wait for
-- that, and find it made. Where somebody has deleted the row of `store`, the next one makes another.
--
-- - `store` has one row, with a random number.
-- - `record` has the texts; of no namespace (''), and of kind 6, those are the claims of secrets by their check value.
--   Room is left free in each block, so that a changed row stays in its block and no index
--   changes. Texts are compared byte by byte: a collation of the operating system may be another one after an
--   update, and its indexes miss rows then.
DO $create$
BEGIN
PERFORM pg_advisory_xact_lock(1919315051);  -- "rflk"
-- Looked up in the tables, whose locks bring the news: a name may still be remembered as missing.
IF NOT EXISTS (
    SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'randflake' AND c.relname = 'store'
) THEN
    CREATE SCHEMA IF NOT EXISTS randflake;

    CREATE TABLE randflake.store (
        only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
        version integer NOT NULL,
        id bigint NOT NULL
    );
    CREATE TABLE randflake.record (
        number bigint NOT NULL,
        kind smallint NOT NULL,
        namespace text COLLATE "C" NOT NULL,
        value text COLLATE "C" NOT NULL,
        PRIMARY KEY (namespace, kind, number)
    ) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);
END IF;
-- A right to insert is needed only where a row is missing.
IF NOT EXISTS (SELECT FROM randflake.store) THEN
    INSERT INTO randflake.store (version, id)
    VALUES (1, floor(random() * 9e18)::bigint);
END IF;
END $create$;
