-- The schema `randflake`, version 1: tables and nothing else. Whoever comes first makes it; the others wait for
-- that, and find it made.
--
-- - `store` has one row. Its fingerprint is that of the server as it was when the schema was made: on another one
--   a namespace or counter that is not there may have been lost.
-- - `lease` has a row for each node id that was ever leased. Room is left free in each block, so that a renewed row
--   stays in its block and no index changes.
-- - `page` says of 64 node ids that none of them is free before a tick. It may be lost, and is a lower bound: who
--   looks at a page in vain notes it. Whoever releases counts `changes` up, so that nobody notes what was so
--   before. An index of the leases by their end would do without it, but old snapshots keep the entries of
--   every renewal in it, at the very end where the search begins.
-- - Times are in the namespace's ticks.
DO $create$
BEGIN
PERFORM pg_advisory_xact_lock(1919315051);  -- "rflk"
-- Looked up in the tables, whose locks bring the news: a name may still be remembered as missing.
IF EXISTS (
    SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'randflake' AND c.relname = 'store'
) THEN
    RETURN;
END IF;
CREATE SCHEMA IF NOT EXISTS randflake;

CREATE TABLE randflake.store (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version integer NOT NULL,
    id bigint NOT NULL,
    fingerprint text NOT NULL
);
CREATE TABLE randflake.namespace (
    name text PRIMARY KEY,
    terms text NOT NULL,
    origin bigint NOT NULL,
    writes bigint NOT NULL,
    quarantine bigint NOT NULL,
    fingerprint text NOT NULL
);
CREATE TABLE randflake.lease (
    node_id bigint NOT NULL,
    start_tick bigint NOT NULL,
    end_tick bigint NOT NULL,
    fencing_token bigint NOT NULL,
    serial bigint NOT NULL,
    nonce bigint NOT NULL,
    held boolean NOT NULL,
    contested boolean NOT NULL,
    namespace text NOT NULL,
    token bytea NOT NULL,
    holder text NOT NULL,
    PRIMARY KEY (namespace, node_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE randflake.page (
    page bigint NOT NULL,
    free_from bigint NOT NULL DEFAULT 0,
    changes bigint NOT NULL DEFAULT 0,
    namespace text NOT NULL,
    PRIMARY KEY (namespace, page)
) WITH (fillfactor = 50);
CREATE TABLE randflake.counter (
    name text PRIMARY KEY,
    next bigint NOT NULL,
    vouched text NOT NULL
) WITH (fillfactor = 10);

INSERT INTO randflake.store (version, id, fingerprint)
VALUES (1, floor(random() * 9e18)::bigint, {fingerprint});
END $create$;
