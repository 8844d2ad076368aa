-- The schema `randflake`, version 1. Whoever comes first makes it; the others wait for that, and find
-- it made. Each operation is one call of one function, so that a client which is stopped or cut off
-- in the middle of one holds no lock.
--
-- - `store` has one row: what is known of the database itself.
-- - `lease` has a row for each node id. Of one that was never leased, the fencing token is 0.
-- - `page` has a row for each 256 node ids: none of them is free before `soonest_end`. It is what
--   finds a free one without a look at those that are taken, and says so if there is none. It is a
--   lower bound: renewals leave it behind. Who takes the last free one of a page moves it on, who looks
--   in vain, and in a page that is full a renewal half a TTL before it is reached: each holder comes by in
--   that time, so nobody has to look at a page whose holders live.
--   An index of the leases by their end would do without it, but old snapshots keep the entries of
--   every renewal in it, at the very end where the search begins.
-- - Tokens are compared by `IS NOT DISTINCT FROM` where the node id is known: as `=` does, but with no use
--   for the index of tokens, in which a holder of many has as many entries under one.
-- - Who acquires or releases locks the page first, then the leases; who renews, only the leases.
-- - Times are in the namespace's ticks, or in units of Unix time where their name says so.
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
    fingerprint text NOT NULL,
    fence_until_ms bigint NOT NULL,
    breaks bigint NOT NULL DEFAULT 0
);
CREATE TABLE randflake.namespace (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    node_ids bigint NOT NULL,
    epoch_unix_ms bigint NOT NULL,
    tick_ms bigint NOT NULL,
    max_tick bigint NOT NULL,
    max_ttl_ms bigint NOT NULL,
    fence_tick bigint NOT NULL DEFAULT 0
);
-- Half of each block is left free, so that a renewed row stays in its block and no index changes.
CREATE TABLE randflake.page (
    namespace integer NOT NULL,
    page integer NOT NULL,
    soonest_end bigint NOT NULL DEFAULT 0,
    is_full boolean NOT NULL DEFAULT false,
    PRIMARY KEY (namespace, page)
) WITH (fillfactor = 50);
CREATE TABLE randflake.lease (
    namespace integer NOT NULL,
    node_id integer NOT NULL,
    held boolean NOT NULL DEFAULT false,
    start_tick bigint NOT NULL DEFAULT 0,
    end_tick bigint NOT NULL DEFAULT 0,
    fencing_token bigint NOT NULL DEFAULT 0,
    token bytea NOT NULL DEFAULT '',
    holder text NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, node_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX lease_by_token ON randflake.lease (namespace, token) WHERE held;

-- The next number, and up to which of the store's breaks of continuity somebody vouches for it.
CREATE TABLE randflake.counter (
    namespace integer PRIMARY KEY,
    next bigint NOT NULL DEFAULT 1,
    vouched bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);

-- The store's clock.
CREATE FUNCTION randflake.unix_us() RETURNS bigint LANGUAGE sql VOLATILE AS
'SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint';

-- What changes when the server is another one: a restored backup, a copy, a promoted standby.
CREATE FUNCTION randflake.fingerprint() RETURNS text LANGUAGE sql VOLATILE AS
'SELECT system_identifier || ''/'' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)
FROM pg_control_system()';

INSERT INTO randflake.store (version, id, fingerprint, fence_until_ms)
VALUES (1, floor(random() * 9e18)::bigint, randflake.fingerprint(), 0);

-- Creates the namespace unless it is there; and compares the server with what it was. The caller
-- remembers the store and when its last lease ends: what it knows counts if the server forgot it.
CREATE FUNCTION randflake.open_namespace(
    the_name text, the_node_ids bigint, the_epoch_unix_ms bigint, the_tick_ms bigint,
    the_max_tick bigint, the_max_ttl_ms bigint, skew_ms bigint,
    remembered_id bigint, remembered_until_ms bigint,
    OUT store_id bigint, OUT row_id integer, OUT node_ids bigint, OUT epoch_unix_ms bigint,
    OUT tick_ms bigint, OUT max_ttl_ms bigint
) LANGUAGE plpgsql AS $$
DECLARE
    fingerprint_now text := randflake.fingerprint();
BEGIN
    IF NOT EXISTS (SELECT FROM randflake.namespace n WHERE n.name = the_name) THEN
        PERFORM pg_advisory_xact_lock(1919315051);
        INSERT INTO randflake.namespace AS n
            (name, node_ids, epoch_unix_ms, tick_ms, max_tick, max_ttl_ms)
        VALUES (the_name, the_node_ids, the_epoch_unix_ms, the_tick_ms, the_max_tick, the_max_ttl_ms)
        ON CONFLICT DO NOTHING
        RETURNING n.id INTO row_id;
        IF row_id IS NOT NULL THEN
            INSERT INTO randflake.page (namespace, page)
            SELECT row_id, generate_series(0, (the_node_ids - 1) / 256);
            INSERT INTO randflake.lease (namespace, node_id)
            SELECT row_id, generate_series(0, the_node_ids - 1);
        END IF;
    END IF;
    IF EXISTS (
        SELECT FROM randflake.store s
        WHERE s.fingerprint <> fingerprint_now OR s.id <> remembered_id
    ) THEN
        UPDATE randflake.store s SET
            fingerprint = fingerprint_now,
            breaks = s.breaks + 1,
            fence_until_ms = greatest(s.fence_until_ms, remembered_until_ms,
                randflake.unix_us() / 1000 + skew_ms
                    + (SELECT max(n.max_ttl_ms + n.tick_ms) FROM randflake.namespace n))
        WHERE s.fingerprint <> fingerprint_now OR s.id <> remembered_id;
        IF FOUND THEN
            -- What became of them may be forgotten, so none is renewed.
            UPDATE randflake.lease SET held = false WHERE held;
        END IF;
    END IF;
    SELECT s.id, n.id, n.node_ids, n.epoch_unix_ms, n.tick_ms, n.max_ttl_ms
    INTO store_id, row_id, node_ids, epoch_unix_ms, tick_ms, max_ttl_ms
    FROM randflake.namespace n, randflake.store s WHERE n.name = the_name;
END $$;

-- When the first lease of a page ends. The page is locked.
CREATE FUNCTION randflake.look_at_page(the_namespace integer, the_page integer, tick bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    soonest bigint;
BEGIN
    SELECT min(l.end_tick) INTO soonest FROM randflake.lease l
    WHERE l.namespace = the_namespace
        AND l.node_id >= the_page * 256 AND l.node_id < (the_page + 1) * 256;
    UPDATE randflake.page p SET soonest_end = soonest, is_full = soonest > tick
    WHERE p.namespace = the_namespace AND p.page = the_page;
END $$;

CREATE FUNCTION randflake.acquire(
    the_namespace integer, the_token bytea, the_holder text, wanted bigint, ttl bigint,
    max_end bigint, token_key integer, first_page integer, waits boolean,
    OUT outcome text, OUT unix_us bigint, OUT until_tick bigint,
    OUT nodes integer[], OUT starts bigint[], OUT ends bigint[], OUT fencing_tokens bigint[]
) LANGUAGE plpgsql AS $$
DECLARE
    space randflake.namespace;
    store_fence_ms bigint;
    tick bigint;
    known record;
    candidate integer;
    begin_page integer := first_page;
    end_page integer := 2147483647;
    free integer[];
    found_nodes integer[] := '{}';
    looked_at integer[] := '{}';
    emptied integer[] := '{}';
BEGIN
    -- Two who name one token come one after the other.
    PERFORM pg_advisory_xact_lock(1919315051, token_key);
    IF waits THEN
        -- Pages that others work on now are waited for; all wait in one order.
        PERFORM FROM randflake.page p WHERE p.namespace = the_namespace ORDER BY p.page FOR UPDATE;
    END IF;
    unix_us := randflake.unix_us();
    SELECT n.* INTO STRICT space FROM randflake.namespace n WHERE n.id = the_namespace;
    SELECT s.fence_until_ms INTO STRICT store_fence_ms FROM randflake.store s;
    tick := floor((unix_us / 1000 - space.epoch_unix_ms)::numeric / space.tick_ms);
    IF tick < 0 OR tick > space.max_tick THEN
        outcome := 'clock';
        RETURN;
    END IF;
    until_tick := greatest(space.fence_tick,
        ceil((store_fence_ms - space.epoch_unix_ms)::numeric / space.tick_ms));
    IF tick < until_tick THEN
        outcome := 'fenced';
        RETURN;
    END IF;

    SELECT count(*) AS all_of_it, count(*) FILTER (WHERE l.end_tick > tick) AS live,
        bool_or(l.holder <> the_holder) AS is_foreign,
        array_agg(l.node_id ORDER BY l.node_id) FILTER (WHERE l.end_tick > tick) AS nodes,
        array_agg(l.start_tick ORDER BY l.node_id) FILTER (WHERE l.end_tick > tick) AS starts,
        array_agg(l.end_tick ORDER BY l.node_id) FILTER (WHERE l.end_tick > tick) AS ends,
        array_agg(l.fencing_token ORDER BY l.node_id) FILTER (WHERE l.end_tick > tick) AS fencing_tokens
    INTO known FROM randflake.lease l
    WHERE l.namespace = the_namespace AND l.token = the_token AND l.held;
    IF known.is_foreign THEN
        outcome := 'foreign';
        RETURN;
    ELSIF known.live = wanted THEN
        outcome := 'granted';
        nodes := known.nodes;
        starts := known.starts;
        ends := known.ends;
        fencing_tokens := known.fencing_tokens;
        RETURN;
    END IF;

    LOOP
        SELECT p.page INTO candidate FROM randflake.page p
        WHERE p.namespace = the_namespace AND p.page >= begin_page AND p.page < end_page
            AND p.soonest_end <= tick
        ORDER BY p.page LIMIT 1 FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            EXIT WHEN first_page = 0;
            -- Once around.
            begin_page := 0;
            end_page := first_page;
            first_page := 0;
            CONTINUE;
        END IF;
        begin_page := candidate + 1;
        looked_at := looked_at || candidate;
        SELECT coalesce(array_agg(f.node_id ORDER BY f.node_id), '{}') INTO free FROM (
            SELECT l.node_id FROM randflake.lease l
            WHERE l.namespace = the_namespace AND l.end_tick <= tick
                AND l.node_id >= candidate * 256 AND l.node_id < (candidate + 1) * 256
            ORDER BY l.node_id LIMIT wanted - cardinality(found_nodes) FOR UPDATE
        ) f;
        found_nodes := found_nodes || free;
        IF free = '{}' THEN
            PERFORM randflake.look_at_page(the_namespace, candidate, tick);
        ELSIF cardinality(found_nodes) < wanted OR NOT EXISTS (
            SELECT FROM randflake.lease l
            WHERE l.namespace = the_namespace AND l.end_tick <= tick
                AND l.node_id > free[cardinality(free)] AND l.node_id < (candidate + 1) * 256
        ) THEN
            emptied := emptied || candidate;
        END IF;
        EXIT WHEN cardinality(found_nodes) = wanted;
    END LOOP;

    IF cardinality(found_nodes) < wanted THEN
        IF NOT waits AND EXISTS (
            SELECT FROM randflake.page p WHERE p.namespace = the_namespace
                AND p.soonest_end <= tick AND p.page <> ALL (looked_at)
        ) THEN
            outcome := 'busy';
            RETURN;
        END IF;
        outcome := 'exhausted';
        IF wanted = 1 OR space.node_ids > 4096 THEN
            -- Not before this; to sort all the leases would take longer than to ask again.
            SELECT min(p.soonest_end) INTO until_tick FROM randflake.page p
            WHERE p.namespace = the_namespace AND p.soonest_end > tick;
        ELSE
            SELECT l.end_tick INTO until_tick FROM randflake.lease l
            WHERE l.namespace = the_namespace AND l.end_tick > tick
            ORDER BY l.end_tick OFFSET wanted - cardinality(found_nodes) - 1 LIMIT 1;
        END IF;
        RETURN;
    END IF;

    IF known.all_of_it > 0 THEN
        UPDATE randflake.lease l SET held = false
        WHERE l.namespace = the_namespace AND l.token = the_token AND l.held;
    END IF;
    WITH taken AS (
        UPDATE randflake.lease l SET
            held = true, start_tick = tick, end_tick = least(tick + ttl, max_end),
            fencing_token = greatest(tick, l.fencing_token + 1), token = the_token,
            holder = the_holder
        WHERE l.namespace = the_namespace AND l.node_id = ANY (found_nodes)
        RETURNING l.node_id, l.start_tick, l.end_tick, l.fencing_token
    )
    SELECT 'granted', array_agg(t.node_id ORDER BY t.node_id),
        array_agg(t.start_tick ORDER BY t.node_id), array_agg(t.end_tick ORDER BY t.node_id),
        array_agg(t.fencing_token ORDER BY t.node_id)
    INTO outcome, nodes, starts, ends, fencing_tokens FROM taken t;
    PERFORM randflake.look_at_page(the_namespace, e.page, tick) FROM unnest(emptied) AS e (page);
END $$;

CREATE FUNCTION randflake.renew(
    the_namespace integer, the_nodes bigint[], the_fencing_tokens bigint[], the_tokens bytea[],
    ttl bigint, max_end bigint,
    OUT unix_us bigint, OUT ends bigint[]
) LANGUAGE plpgsql AS $$
DECLARE
    tick bigint;
    end_of_one bigint;
    pages bigint[];
BEGIN
    unix_us := randflake.unix_us();
    SELECT floor((unix_us / 1000 - n.epoch_unix_ms)::numeric / n.tick_ms) INTO STRICT tick
    FROM randflake.namespace n WHERE n.id = the_namespace;
    IF cardinality(the_nodes) = 1 THEN
        -- What most holders have; as below, without the joins, which would take twice as long as the rest.
        UPDATE randflake.lease l SET end_tick = greatest(l.end_tick, least(tick + ttl, max_end))
        WHERE l.namespace = the_namespace AND l.node_id = the_nodes[1] AND l.held
            AND l.fencing_token = the_fencing_tokens[1]
            AND l.token IS NOT DISTINCT FROM the_tokens[1]
            AND l.end_tick > tick AND tick >= 0
        RETURNING l.end_tick INTO end_of_one;
        ends := ARRAY[end_of_one];
        pages := ARRAY[the_nodes[1] / 256];
    ELSE
        WITH asked AS (
            SELECT * FROM unnest(the_nodes, the_fencing_tokens, the_tokens)
                WITH ORDINALITY AS a (node_id, fencing_token, token, place)
        ), renewed AS (
            UPDATE randflake.lease l SET end_tick = greatest(l.end_tick, least(tick + ttl, max_end))
            FROM asked a
            WHERE l.namespace = the_namespace AND l.node_id = a.node_id AND l.held
                AND l.fencing_token = a.fencing_token AND l.token IS NOT DISTINCT FROM a.token
                AND l.end_tick > tick AND tick >= 0
            RETURNING l.node_id, l.fencing_token, l.token, l.end_tick
        )
        SELECT coalesce(array_agg(r.end_tick ORDER BY a.place), '{}'), array_agg(DISTINCT a.node_id / 256)
        INTO ends, pages
        FROM asked a LEFT JOIN renewed r USING (node_id, fencing_token, token);
    END IF;
    PERFORM FROM randflake.page p
    WHERE p.namespace = the_namespace AND p.page = ANY (pages)
        AND p.is_full AND p.soonest_end <= tick + ttl / 2;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM randflake.look_at_page(the_namespace, stale.page, tick) FROM (
        SELECT p.page FROM randflake.page p
        WHERE p.namespace = the_namespace AND p.page = ANY (pages)
            AND p.is_full AND p.soonest_end <= tick + ttl / 2
        FOR UPDATE SKIP LOCKED
    ) stale;
END $$;

CREATE FUNCTION randflake.release(
    the_namespace integer, the_nodes bigint[], the_fencing_tokens bigint[], the_tokens bytea[],
    the_ends bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM randflake.page p
    WHERE p.namespace = the_namespace AND p.page IN (SELECT unnest(the_nodes) / 256)
    ORDER BY p.page FOR UPDATE;
    WITH asked AS (
        SELECT * FROM unnest(the_nodes, the_fencing_tokens, the_tokens, the_ends)
            AS a (node_id, fencing_token, token, end_tick)
    ), released AS (
        UPDATE randflake.lease l
        SET end_tick = greatest(l.start_tick, least(l.end_tick, a.end_tick)), held = false
        FROM asked a
        WHERE l.namespace = the_namespace AND l.node_id = a.node_id AND l.held
            AND l.fencing_token = a.fencing_token AND l.token IS NOT DISTINCT FROM a.token
        RETURNING l.node_id, l.end_tick
    ), pages AS (
        SELECT r.node_id / 256 AS page, min(r.end_tick) AS soonest_end FROM released r GROUP BY 1
    )
    UPDATE randflake.page p SET soonest_end = s.soonest_end, is_full = false FROM pages s
    WHERE p.namespace = the_namespace AND p.page = s.page AND p.soonest_end > s.soonest_end;
END $$;

CREATE FUNCTION randflake.fence(
    the_namespace integer, skew_ms bigint, OUT unix_us bigint, OUT until_tick bigint
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM randflake.namespace n WHERE n.id = the_namespace FOR UPDATE;
    unix_us := randflake.unix_us();
    UPDATE randflake.namespace n SET fence_tick = greatest(n.fence_tick,
        floor((unix_us / 1000 - n.epoch_unix_ms)::numeric / n.tick_ms)
            + ceil(n.max_ttl_ms::numeric / n.tick_ms) + ceil(skew_ms::numeric / n.tick_ms))
    WHERE n.id = the_namespace
    RETURNING n.fence_tick INTO until_tick;
END $$;

-- Reserves the next numbers, and says where the counter stood before; none if it is lost or has fewer.
CREATE FUNCTION randflake.reserve(
    the_namespace integer, how_many bigint, OUT next_number bigint, OUT is_lost boolean
) LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        SELECT c.next, c.vouched <> s.breaks INTO next_number, is_lost
        FROM randflake.counter c, randflake.store s
        WHERE c.namespace = the_namespace FOR UPDATE OF c;
        EXIT WHEN FOUND;
        INSERT INTO randflake.counter (namespace) VALUES (the_namespace) ON CONFLICT DO NOTHING;
    END LOOP;
    IF NOT is_lost AND how_many > 0 AND how_many <= 9223372036854775807 - next_number THEN
        UPDATE randflake.counter c SET next = next_number + how_many
        WHERE c.namespace = the_namespace;
    END IF;
END $$;

-- Goes on at a number or beyond it, as somebody says who knows.
CREATE FUNCTION randflake.resume(
    the_namespace integer, first_number bigint, OUT next_number bigint
) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO randflake.counter AS c (namespace, next, vouched)
    SELECT the_namespace, first_number, s.breaks FROM randflake.store s
    ON CONFLICT (namespace) DO UPDATE
        SET next = greatest(c.next, excluded.next), vouched = excluded.vouched
    RETURNING c.next INTO next_number;
END $$;
END $create$;
