-- Ids made here: numbers that only grow, encrypted. The same ids as those of `randflake segment --encrypt` under the same secret.
CREATE SEQUENCE {schema}.number AS bigint MINVALUE 1 MAXVALUE 9223372036854775806 NO CYCLE;

-- Where the last number was drawn. In sequences, whose values are neither rolled back with a transaction nor locked until its
-- end. Dumps and copies of the server's files have them; a logical replica and a dump without data do not.
CREATE SEQUENCE {schema}.known_system AS bigint MINVALUE -9223372036854775808;
CREATE SEQUENCE {schema}.known_database AS bigint MINVALUE -9223372036854775808;
CREATE SEQUENCE {schema}.known_timeline AS bigint;
CREATE SEQUENCE {schema}.known_run AS bigint MINVALUE -9223372036854775808;

-- The system identifier; the numbers of the database and of the sequence in it, another one after the restore of a dump; and the
-- timeline, which is read from the name of the log: the last checkpoint may be one from before the promotion.
CREATE FUNCTION {schema}.here(OUT system bigint, OUT database bigint, OUT timeline bigint)
LANGUAGE sql VOLATILE AS $$
    SELECT c.system_identifier,
        (d.oid::pg_catalog.int8 {<<} 32) {|} '{schema}.number'::pg_catalog.regclass::pg_catalog.oid::pg_catalog.int8,
        ('x' {||} pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8))::bit(32)::bigint
    FROM pg_catalog.pg_control_system() c, pg_catalog.pg_database d
    WHERE d.datname {=} pg_catalog.current_database()
$$;

-- Another number after each start, crash and promotion of the server, and in each copy of the database; a crash of one process,
-- which takes back what was not yet on the disk as well, resets statistics. Costs less than `here`, which reads a file.
CREATE FUNCTION {schema}.this_run() RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    SELECT pg_catalog.hashtextextended(pg_catalog.concat_ws('/',
        (pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()) {*} 1000000)::bigint,
        (pg_catalog.date_part('epoch', pg_catalog.pg_stat_get_bgwriter_stat_reset_time()) {*} 1000000)::bigint,
        pg_catalog.pg_relation_filepath('{schema}.known_system'::pg_catalog.regclass),
        pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 8)), 0)
$$;

-- Jumps ahead in another run of the server, which may have lost numbers that were drawn; refuses in another database.
CREATE FUNCTION {schema}.confirm() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    system CONSTANT bigint := pg_catalog.pg_sequence_last_value('{schema}.known_system'::pg_catalog.regclass);
    database CONSTANT bigint := pg_catalog.pg_sequence_last_value('{schema}.known_database'::pg_catalog.regclass);
    now_system bigint;
    now_database bigint;
    now_timeline bigint;
    ahead bigint := 1000000000000;
    said pg_catalog.text;
BEGIN
    SELECT h.system, h.database, h.timeline INTO now_system, now_database, now_timeline FROM {schema}.here() h;
    said := CASE
        WHEN system IS NULL OR database IS NULL THEN 'has no record of where it was used: its numbers were not copied'
        WHEN system {<>} now_system THEN pg_catalog.format('was last used on another server, of system identifier %s', system)
        WHEN database {<>} now_database THEN 'was last used in another database, or before a dump was restored'
    END;
    IF said IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the counter of the schema {schema} ' {||} said,
            DETAIL = 'It may be behind ids that have left.',
            HINT = 'If no ids are made there any more, run here as its owner: SELECT {schema}.resume(NUMBER); '
                'with a NUMBER above that of every id ever made, which {schema}.decrypt(id) shows.';
    END IF;
    BEGIN
        LOCK TABLE {schema}.key IN SHARE UPDATE EXCLUSIVE MODE;
        IF (pg_catalog.pg_sequence_last_value('{schema}.known_run'::pg_catalog.regclass) {=} {schema}.this_run()) IS NOT TRUE THEN
            -- A standby may have missed some starts of its primary, each with its jump.
            IF (pg_catalog.pg_sequence_last_value('{schema}.known_timeline'::pg_catalog.regclass) {=} now_timeline) IS NOT TRUE THEN
                ahead := 100000000000000;
            END IF;
            -- By chance, so that two copies of one backup do not jump to the same number.
            PERFORM pg_catalog.setval('{schema}.number', n.last_value {+} ahead
                {+} pg_catalog.floor(ahead {*} pg_catalog.random())::bigint) FROM {schema}.number n;
            PERFORM pg_catalog.setval('{schema}.known_timeline', now_timeline);
            PERFORM pg_catalog.setval('{schema}.known_run', {schema}.this_run());
        END IF;
        -- Ends the lock now instead of with the caller's transaction. The sequences keep their values.
        RAISE SQLSTATE 'RF001';
    EXCEPTION WHEN SQLSTATE 'RF001' THEN
        NULL;
    END;
END
$$;

-- Goes on here, with this number, which must be above all that were ever drawn. For the owner, while nobody makes ids.
CREATE FUNCTION {schema}.resume(first bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    used CONSTANT bigint := (
        SELECT CASE WHEN n.is_called THEN n.last_value ELSE n.last_value {-} 1 END FROM {schema}.number n
    );
    now_system bigint;
    now_database bigint;
    now_timeline bigint;
BEGIN
    IF (first {>} used) IS NOT TRUE THEN
        RAISE invalid_parameter_value USING
            MESSAGE = pg_catalog.format('resume(%s): numbers up to %s were used or skipped here', coalesce(first::pg_catalog.text, 'NULL'), used),
            HINT = 'Name a number above that of every id ever made, here and elsewhere.';
    END IF;
    SELECT h.system, h.database, h.timeline INTO now_system, now_database, now_timeline FROM {schema}.here() h;
    -- The identity of the server last: what a crash leaves of these is refused.
    PERFORM pg_catalog.setval('{schema}.number', first, false);
    PERFORM pg_catalog.setval('{schema}.known_run', {schema}.this_run());
    PERFORM pg_catalog.setval('{schema}.known_timeline', now_timeline);
    PERFORM pg_catalog.setval('{schema}.known_database', now_database);
    PERFORM pg_catalog.setval('{schema}.known_system', now_system);
    RETURN first;
END
$$;

-- The next id. Whoever may call it needs no other right: neither to encrypt nor to decrypt, nor on the sequences.
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
    -- A commit that does not wait for the disk could be lost after the id has left. The other settings wait for it.
    IF pg_catalog.current_setting('synchronous_commit') {=} 'off' THEN
        PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;
    IF (pg_catalog.pg_sequence_last_value('{schema}.known_run'::pg_catalog.regclass) {=} {schema}.this_run()) IS NOT TRUE THEN
        PERFORM {schema}.confirm();
    END IF;
    RETURN {schema}.encrypt_block(pg_catalog.nextval('{schema}.number'), k);
END
$$;

REVOKE ALL ON FUNCTION {schema}.here(), {schema}.this_run(), {schema}.confirm(), {schema}.resume(bigint), {schema}.next_id(text)
    FROM PUBLIC;

DO $$
DECLARE
    closed pg_catalog.text;
BEGIN
    SELECT pg_catalog.string_agg(f::pg_catalog.text, ', ') INTO closed
    FROM pg_catalog.unnest(ARRAY['pg_catalog.pg_control_system()', 'pg_catalog.pg_walfile_name(pg_lsn)',
        'pg_catalog.pg_current_wal_insert_lsn()']::pg_catalog.regprocedure[]) f
    WHERE NOT pg_catalog.has_function_privilege(f, 'EXECUTE');
    IF closed IS NOT NULL THEN
        RAISE insufficient_privilege USING
            MESSAGE = pg_catalog.format('the counter does not notice a failover or a copy without the right to call %s', closed),
            HINT = pg_catalog.format('As a superuser: GRANT EXECUTE ON FUNCTION %s TO %I;', closed, current_user);
    END IF;
    PERFORM {schema}.resume(1);
END
$$;
