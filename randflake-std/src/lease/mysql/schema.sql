-- The tables and procedures `randflake_...` of a database, version 1. Each operation is one call of one
-- procedure, so that a client which is stopped or cut off in the middle of one holds no lock.
--
-- - `randflake_store` has one row: what is known of the database itself.
-- - `randflake_lease` has a row for each node id. Of one that was never leased, the fencing token is 0.
-- - `randflake_page` has a row for each 256 node ids: none of them is free before `soonest_end`. It is
--   what finds a free one without a look at those that are taken, and says so if there is none. It is a
--   lower bound: renewals leave it behind. Who takes the last free one of a page moves it on, who looks
--   in vain, and in a page that is full a renewal half a TTL before it is reached: each holder comes by in
--   that time, so nobody has to look at a page whose holders live.
-- - Who acquires or releases locks the page first, then the leases; who renews, only the leases.
-- - Times are in the namespace's ticks, or in units of Unix time where their name says so.
-- - Statements end with a semicolon at the end of a line without indentation.
CREATE TABLE IF NOT EXISTS randflake_store (
    only_row INT NOT NULL PRIMARY KEY,
    version INT NOT NULL,
    id BIGINT NOT NULL,
    fingerprint VARBINARY(200) NOT NULL,
    fence_until_ms BIGINT NOT NULL,
    breaks BIGINT NOT NULL
) ENGINE = InnoDB
;
CREATE TABLE IF NOT EXISTS randflake_namespace (
    id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name VARBINARY(64) NOT NULL UNIQUE,
    node_ids BIGINT NOT NULL,
    epoch_unix_ms BIGINT NOT NULL,
    tick_ms BIGINT NOT NULL,
    max_tick BIGINT NOT NULL,
    max_ttl_ms BIGINT NOT NULL,
    fence_tick BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB
;
CREATE TABLE IF NOT EXISTS randflake_page (
    namespace INT NOT NULL,
    page INT NOT NULL,
    soonest_end BIGINT NOT NULL DEFAULT 0,
    is_full BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (namespace, page)
) ENGINE = InnoDB
;
CREATE TABLE IF NOT EXISTS randflake_lease (
    namespace INT NOT NULL,
    node_id BIGINT NOT NULL,
    held BOOLEAN NOT NULL DEFAULT FALSE,
    start_tick BIGINT NOT NULL DEFAULT 0,
    end_tick BIGINT NOT NULL DEFAULT 0,
    fencing_token BIGINT NOT NULL DEFAULT 0,
    token VARBINARY(16) NOT NULL DEFAULT '',
    holder VARBINARY(1024) NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, node_id),
    KEY lease_by_token (namespace, token)
) ENGINE = InnoDB
;
-- The next number, and up to which of the store's breaks of continuity somebody vouches for it.
CREATE TABLE IF NOT EXISTS randflake_counter (
    namespace INT NOT NULL PRIMARY KEY,
    next_number BIGINT NOT NULL DEFAULT 1,
    vouched BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB
;
DROP PROCEDURE IF EXISTS randflake_clock
;
-- The store's clock.
CREATE PROCEDURE randflake_clock(OUT unix_us BIGINT) SQL SECURITY INVOKER
SET unix_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', SYSDATE(6))
;
DROP PROCEDURE IF EXISTS randflake_open_namespace
;
-- Creates the namespace unless it is there; and compares the server with what it was. The caller
-- remembers the store and when its last lease ends: what it knows counts if the server forgot it.
CREATE PROCEDURE randflake_open_namespace(
    the_fingerprint VARBINARY(200), the_name VARBINARY(64), the_node_ids BIGINT,
    the_epoch_unix_ms BIGINT, the_tick_ms BIGINT, the_max_tick BIGINT, the_max_ttl_ms BIGINT,
    skew_ms BIGINT, remembered_id BIGINT, remembered_until_ms BIGINT
) SQL SECURITY INVOKER
BEGIN
    DECLARE unix_us, known, row_id BIGINT;
    DECLARE made BIGINT DEFAULT 1;
    DECLARE lock_name VARCHAR(64) DEFAULT MD5(CONCAT('randflake.', DATABASE()));
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        DO RELEASE_LOCK(lock_name);
        RESIGNAL;
    END;
    CALL randflake_clock(unix_us);
    SELECT COUNT(*) INTO known FROM randflake_namespace WHERE name = the_name;
    IF NOT known THEN
        IF NOT COALESCE(GET_LOCK(lock_name, 15), 0) THEN
            SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205,
                MESSAGE_TEXT = 'somebody else is making the schema of the lease store for too long';
        END IF;
        START TRANSACTION;
        SELECT COUNT(*) INTO known FROM randflake_namespace WHERE name = the_name;
        IF NOT known THEN
            INSERT INTO randflake_namespace
                (name, node_ids, epoch_unix_ms, tick_ms, max_tick, max_ttl_ms)
            VALUES (the_name, the_node_ids, the_epoch_unix_ms, the_tick_ms, the_max_tick, the_max_ttl_ms);
            SET row_id = LAST_INSERT_ID();
            INSERT INTO randflake_lease (namespace, node_id) VALUES (row_id, 0);
            WHILE made < the_node_ids DO
                INSERT INTO randflake_lease (namespace, node_id)
                SELECT row_id, l.node_id + made FROM randflake_lease l
                WHERE l.namespace = row_id AND l.node_id + made < the_node_ids;
                SET made = made * 2;
            END WHILE;
            INSERT INTO randflake_page (namespace, page)
            SELECT row_id, l.node_id DIV 256 FROM randflake_lease l
            WHERE l.namespace = row_id AND l.node_id MOD 256 = 0;
        END IF;
        COMMIT;
        DO RELEASE_LOCK(lock_name);
    END IF;
    SELECT COUNT(*) INTO known FROM randflake_store
    WHERE fingerprint = the_fingerprint AND id = COALESCE(remembered_id, id);
    IF NOT known THEN
        START TRANSACTION;
        UPDATE randflake_store SET
            fingerprint = the_fingerprint,
            breaks = breaks + 1,
            fence_until_ms = GREATEST(fence_until_ms, remembered_until_ms, unix_us DIV 1000 + skew_ms
                + (SELECT MAX(max_ttl_ms + tick_ms) FROM randflake_namespace));
        -- What became of them may be forgotten, so none is renewed.
        UPDATE randflake_lease SET held = FALSE WHERE held;
        COMMIT;
    END IF;
    SELECT s.id, n.id, n.node_ids, n.epoch_unix_ms, n.tick_ms, n.max_ttl_ms
    FROM randflake_namespace n, randflake_store s WHERE n.name = the_name;
END
;
DROP PROCEDURE IF EXISTS randflake_look_at_page
;
-- When the first lease of a page ends. The page is locked.
CREATE PROCEDURE randflake_look_at_page(the_namespace INT, the_page INT, tick BIGINT)
SQL SECURITY INVOKER
BEGIN
    DECLARE soonest BIGINT;
    SELECT MIN(end_tick) INTO soonest FROM randflake_lease
    WHERE namespace = the_namespace AND node_id >= the_page * 256 AND node_id < (the_page + 1) * 256;
    UPDATE randflake_page SET soonest_end = soonest, is_full = soonest > tick
    WHERE namespace = the_namespace AND page = the_page;
END
;
DROP PROCEDURE IF EXISTS randflake_take
;
-- Free node ids for an acquire, in its transaction; how many are still missing at the end.
CREATE PROCEDURE randflake_take(
    the_namespace INT, the_token VARBINARY(16), the_holder VARBINARY(1024), tick BIGINT,
    the_end BIGINT, begin_page INT, end_page INT, INOUT missing BIGINT
) SQL SECURITY INVOKER
BEGIN
    DECLARE candidate, taken, free, first_free INT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET candidate = NULL;
    pages: WHILE missing > 0 DO
        SELECT page INTO candidate FROM randflake_page
        WHERE namespace = the_namespace AND page >= begin_page AND page < end_page
            AND soonest_end <= tick
        ORDER BY page LIMIT 1 FOR UPDATE SKIP LOCKED;
        IF candidate IS NULL THEN
            LEAVE pages;
        END IF;
        -- Looked at without locks first: an update would lock all that it passes over.
        SELECT COUNT(*), MIN(node_id) INTO free, first_free FROM randflake_lease
        WHERE namespace = the_namespace AND end_tick <= tick
            AND node_id >= candidate * 256 AND node_id < (candidate + 1) * 256;
        UPDATE randflake_lease SET
            held = TRUE, start_tick = tick, end_tick = the_end,
            fencing_token = GREATEST(tick, fencing_token + 1), token = the_token, holder = the_holder
        WHERE namespace = the_namespace AND end_tick <= tick
            AND node_id >= first_free AND node_id < (candidate + 1) * 256
        ORDER BY node_id LIMIT missing;
        SET taken = ROW_COUNT(), missing = missing - taken, begin_page = candidate + 1;
        IF taken >= free THEN
            CALL randflake_look_at_page(the_namespace, candidate, tick);
        END IF;
    END WHILE;
END
;
DROP PROCEDURE IF EXISTS randflake_acquire
;
CREATE PROCEDURE randflake_acquire(
    the_namespace INT, the_token VARBINARY(16), the_holder VARBINARY(1024), wanted BIGINT,
    ttl BIGINT, max_end BIGINT, first_page INT, waits BOOLEAN
) SQL SECURITY INVOKER
acquire: BEGIN
    DECLARE outcome VARCHAR(16) DEFAULT 'granted';
    DECLARE unix_us, tick, until_tick, known, live, others, missing BIGINT;
    DECLARE lock_name VARCHAR(64) DEFAULT CONCAT('randflake.', HEX(the_token));
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        DO RELEASE_LOCK(lock_name);
        RESIGNAL;
    END;
    -- Two who name one token come one after the other.
    IF NOT COALESCE(GET_LOCK(lock_name, 2), 0) THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205,
            MESSAGE_TEXT = 'another acquire with the same token takes too long';
    END IF;
    START TRANSACTION;
    IF waits THEN
        -- Pages that others work on now are waited for; all wait in one order.
        UPDATE randflake_page SET is_full = is_full WHERE namespace = the_namespace ORDER BY page;
    END IF;
    CALL randflake_clock(unix_us);
    SELECT FLOOR((unix_us DIV 1000 - epoch_unix_ms) / tick_ms),
        GREATEST(fence_tick, CEIL((fence_until_ms - epoch_unix_ms) / tick_ms)),
        IF(FLOOR((unix_us DIV 1000 - epoch_unix_ms) / tick_ms) BETWEEN 0 AND max_tick,
            outcome, 'clock')
    INTO tick, until_tick, outcome
    FROM randflake_namespace n, randflake_store s WHERE n.id = the_namespace;
    IF outcome = 'granted' AND tick < until_tick THEN
        SET outcome = 'fenced';
    END IF;
    SELECT COUNT(*), COALESCE(SUM(end_tick > tick), 0), COALESCE(SUM(holder <> the_holder), 0)
    INTO known, live, others FROM randflake_lease
    WHERE namespace = the_namespace AND token = the_token AND held;
    IF outcome = 'granted' AND others > 0 THEN
        SET outcome = 'foreign';
    END IF;
    IF outcome = 'granted' AND live <> wanted THEN
        IF known > 0 THEN
            UPDATE randflake_lease SET held = FALSE
            WHERE namespace = the_namespace AND token = the_token AND held;
        END IF;
        SET missing = wanted;
        CALL randflake_take(the_namespace, the_token, the_holder, tick, LEAST(tick + ttl, max_end),
            first_page, 2147483647, missing);
        IF missing > 0 AND first_page > 0 THEN
            CALL randflake_take(the_namespace, the_token, the_holder, tick,
                LEAST(tick + ttl, max_end), 0, first_page, missing);
        END IF;
        IF missing > 0 THEN
            SET outcome = 'exhausted';
            -- Each page that was looked at is known to be full now, so the rest were others'.
            IF NOT waits AND EXISTS (
                SELECT * FROM randflake_page WHERE namespace = the_namespace AND soonest_end <= tick
            ) THEN
                SET outcome = 'busy';
            END IF;
            IF missing < wanted OR known > 0 THEN
                ROLLBACK;
            END IF;
        END IF;
    END IF;
    IF outcome = 'exhausted' THEN
        IF wanted = 1 OR (SELECT node_ids FROM randflake_namespace WHERE id = the_namespace) > 4096 THEN
            -- Not before this; to sort all the leases would take longer than to ask again.
            SELECT MIN(soonest_end) INTO until_tick FROM randflake_page
            WHERE namespace = the_namespace AND soonest_end > tick;
        ELSE
            SELECT MAX(end_tick) INTO until_tick FROM (
                SELECT end_tick FROM randflake_lease
                WHERE namespace = the_namespace AND end_tick > tick
                ORDER BY end_tick LIMIT missing
            ) soonest;
        END IF;
    END IF;
    COMMIT;
    DO RELEASE_LOCK(lock_name);
    SELECT outcome, unix_us, until_tick;
    IF outcome = 'granted' THEN
        SELECT node_id, start_tick, end_tick, fencing_token FROM randflake_lease
        WHERE namespace = the_namespace AND token = the_token AND held AND end_tick > tick
        ORDER BY node_id;
    END IF;
END
;
DROP PROCEDURE IF EXISTS randflake_renew
;
-- The grants are a JSON array of [node id, fencing token, token].
CREATE PROCEDURE randflake_renew(the_namespace INT, the_grants LONGTEXT, ttl BIGINT, max_end BIGINT)
SQL SECURITY INVOKER
BEGIN
    DECLARE unix_us, tick BIGINT;
    DECLARE stale INT;
    DECLARE pages CURSOR FOR
        SELECT DISTINCT p.page
        FROM JSON_TABLE(the_grants, '$[*]' COLUMNS (node_id BIGINT PATH '$[0]')) a
        STRAIGHT_JOIN randflake_page p FORCE INDEX (PRIMARY)
            ON p.namespace = the_namespace AND p.page = a.node_id DIV 256
        WHERE p.is_full AND p.soonest_end <= tick + ttl DIV 2;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET stale = NULL;
    CALL randflake_clock(unix_us);
    SELECT FLOOR((unix_us DIV 1000 - epoch_unix_ms) / tick_ms) INTO tick
    FROM randflake_namespace WHERE id = the_namespace;
    UPDATE JSON_TABLE(the_grants, '$[*]' COLUMNS (
        node_id BIGINT PATH '$[0]', fencing_token BIGINT PATH '$[1]', token VARCHAR(32) PATH '$[2]'
    )) a STRAIGHT_JOIN randflake_lease l FORCE INDEX (PRIMARY)
        ON l.namespace = the_namespace AND l.node_id = a.node_id
            AND l.fencing_token = a.fencing_token AND l.token = UNHEX(a.token)
    SET l.end_tick = GREATEST(l.end_tick, LEAST(tick + ttl, max_end))
    WHERE l.held AND l.end_tick > tick AND tick >= 0;
    SELECT unix_us;
    SELECT l.end_tick FROM JSON_TABLE(the_grants, '$[*]' COLUMNS (
        place FOR ORDINALITY,
        node_id BIGINT PATH '$[0]', fencing_token BIGINT PATH '$[1]', token VARCHAR(32) PATH '$[2]'
    )) a LEFT JOIN randflake_lease l FORCE INDEX (PRIMARY)
        ON l.namespace = the_namespace AND l.node_id = a.node_id
            AND l.fencing_token = a.fencing_token AND l.token = UNHEX(a.token)
            AND l.held AND l.end_tick > tick AND tick >= 0
    ORDER BY a.place;
    START TRANSACTION;
    OPEN pages;
    FETCH pages INTO stale;
    WHILE stale IS NOT NULL DO
        SELECT page INTO stale FROM randflake_page
        WHERE namespace = the_namespace AND page = stale FOR UPDATE SKIP LOCKED;
        IF stale IS NOT NULL THEN
            CALL randflake_look_at_page(the_namespace, stale, tick);
        END IF;
        FETCH pages INTO stale;
    END WHILE;
    CLOSE pages;
    COMMIT;
END
;
DROP PROCEDURE IF EXISTS randflake_release
;
-- The grants are a JSON array of [node id, fencing token, token, end], in the order of node ids: all lock
-- pages in one order.
CREATE PROCEDURE randflake_release(the_namespace INT, the_grants LONGTEXT) SQL SECURITY INVOKER
BEGIN
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    START TRANSACTION;
    UPDATE JSON_TABLE(the_grants, '$[*]' COLUMNS (node_id BIGINT PATH '$[0]')) a
    STRAIGHT_JOIN randflake_page p FORCE INDEX (PRIMARY)
        ON p.namespace = the_namespace AND p.page = a.node_id DIV 256
    SET p.is_full = p.is_full;
    UPDATE JSON_TABLE(the_grants, '$[*]' COLUMNS (
        node_id BIGINT PATH '$[0]', fencing_token BIGINT PATH '$[1]', token VARCHAR(32) PATH '$[2]',
        end_tick BIGINT PATH '$[3]'
    )) a STRAIGHT_JOIN randflake_lease l FORCE INDEX (PRIMARY)
        ON l.namespace = the_namespace AND l.node_id = a.node_id
            AND l.fencing_token = a.fencing_token AND l.token = UNHEX(a.token)
    SET l.end_tick = GREATEST(l.start_tick, LEAST(l.end_tick, a.end_tick)), l.held = FALSE
    WHERE l.held;
    UPDATE randflake_page p JOIN (
        SELECT l.node_id DIV 256 AS page, MIN(l.end_tick) AS soonest_end
        FROM JSON_TABLE(the_grants, '$[*]' COLUMNS (node_id BIGINT PATH '$[0]')) a
        STRAIGHT_JOIN randflake_lease l FORCE INDEX (PRIMARY) ON l.namespace = the_namespace AND l.node_id = a.node_id
        GROUP BY 1
    ) s ON p.namespace = the_namespace AND p.page = s.page
    SET p.soonest_end = s.soonest_end, p.is_full = FALSE
    WHERE p.soonest_end > s.soonest_end;
    COMMIT;
END
;
DROP PROCEDURE IF EXISTS randflake_fence
;
CREATE PROCEDURE randflake_fence(the_namespace INT, skew_ms BIGINT) SQL SECURITY INVOKER
BEGIN
    DECLARE unix_us BIGINT;
    CALL randflake_clock(unix_us);
    UPDATE randflake_namespace SET fence_tick = GREATEST(fence_tick,
        FLOOR((unix_us DIV 1000 - epoch_unix_ms) / tick_ms)
            + CEIL(max_ttl_ms / tick_ms) + CEIL(skew_ms / tick_ms))
    WHERE id = the_namespace;
    SELECT unix_us, fence_tick FROM randflake_namespace WHERE id = the_namespace;
END
;
DROP PROCEDURE IF EXISTS randflake_reserve
;
-- Reserves the next numbers, and says where the counter stood before; none if it is lost or has fewer.
CREATE PROCEDURE randflake_reserve(the_namespace INT, how_many BIGINT) SQL SECURITY INVOKER
BEGIN
    DECLARE stood, store_breaks, up_to BIGINT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    IF NOT EXISTS (SELECT * FROM randflake_counter WHERE namespace = the_namespace) THEN
        INSERT IGNORE INTO randflake_counter (namespace) VALUES (the_namespace);
    END IF;
    START TRANSACTION;
    SELECT next_number, vouched INTO stood, up_to FROM randflake_counter
    WHERE namespace = the_namespace FOR UPDATE;
    SELECT breaks INTO store_breaks FROM randflake_store;
    IF up_to = store_breaks AND how_many BETWEEN 1 AND 9223372036854775807 - stood THEN
        UPDATE randflake_counter SET next_number = stood + how_many WHERE namespace = the_namespace;
    END IF;
    COMMIT;
    SELECT stood, up_to <> store_breaks;
END
;
DROP PROCEDURE IF EXISTS randflake_resume
;
-- Goes on at a number or beyond it, as somebody says who knows.
CREATE PROCEDURE randflake_resume(the_namespace INT, first_number BIGINT) SQL SECURITY INVOKER
BEGIN
    DECLARE store_breaks BIGINT;
    SELECT breaks INTO store_breaks FROM randflake_store;
    INSERT INTO randflake_counter VALUES (the_namespace, first_number, store_breaks)
    ON DUPLICATE KEY UPDATE
        next_number = GREATEST(next_number, first_number), vouched = store_breaks;
    SELECT next_number FROM randflake_counter WHERE namespace = the_namespace;
END
;
