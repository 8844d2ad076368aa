//! SQL statements of the PostgreSQL engine.

/// What the store relies on, whatever the server's, the database's or the role's settings are.
/// There is one good plan for each statement: by the primary key. And whether the server is a
/// standby.
// A commit must be on the disk when it is answered; a later transaction must see what an earlier
// one wrote; names must not be looked up in schemas of other users; a statement whose client has
// gone ends. The rest keeps the planner, whose statistics may be old, from reading the rows of all
// namespaces. Writes that an operator has switched off stay off: it may be the former primary.
pub(crate) const SETTINGS: &str = "
    SET synchronous_commit = on;
    SET default_transaction_isolation = 'read committed';
    SET search_path = pg_catalog;
    SET statement_timeout = '20s';
    SET jit = off;
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    SET enable_material = off;
    SELECT pg_is_in_recovery()";

/// What stands in statements between braces; each may stand in those before it.
pub(crate) const PARTS: [(&str, &str); 9] = [
    ("{texts}", TEXTS),
    ("{change}", CHANGE),
    // What a write is done in: the tables, a window of time, and the session.
    (
        "{may}",
        "{fit} AND {tables} = $2 AND {now} BETWEEN $3 AND $4 AND {session} = $5",
    ),
    // The answers to writes are lost without these.
    (
        "{fit}",
        "current_setting('fsync') = 'on' AND current_setting('synchronous_commit') IN ('on', 'remote_apply')",
    ),
    (
        "{session}",
        "coalesce(current_setting('randflake.session', true), '')",
    ),
    (
        "{now}",
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
    ),
    ("{fingerprint}", "(SELECT f.fingerprint FROM {server} f)"),
    // The identity is another one on a copy of server or database, and the same after a promotion;
    // it is in words, for a message. The fingerprint is another one also after a promotion or a
    // restoration to a point in time, and when a dump was restored in place. Both are of one look
    // at the server's control file.
    (
        "{server}",
        "(SELECT 'database ' || c.database || ' of the PostgreSQL system ' || c.system AS identity,
            c.system || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '/' || c.database || '/' || {tables}
                AS fingerprint
        FROM (
            SELECT system_identifier AS system, (SELECT oid FROM pg_database WHERE datname = current_database()) AS database
            FROM pg_control_system() OFFSET 0
        ) c)",
    ),
    // All that may change under a session. The second number is another one when all records were
    // removed.
    (
        "{tables}",
        "concat_ws('/', to_regclass('randflake.record')::oid,
            pg_relation_filenode(to_regclass('randflake.record')))",
    ),
];

/// The texts of some places. What is looked up for each of a list has a `LIMIT` or an `OFFSET`, or
/// it would be joined in any order.
pub(crate) const TEXTS: &str = "
    SELECT coalesce(array_agg(r.kind), '{}') AS kinds, coalesce(array_agg(r.number), '{}') AS numbers,
        coalesce(array_agg(r.value), '{}') AS texts
    FROM unnest($2::smallint[], $3::bigint[], $4::bigint[]) AS k (kind, first, last)
    CROSS JOIN LATERAL (
        SELECT * FROM randflake.record r
        WHERE r.namespace = $1 AND r.kind = k.kind AND r.number BETWEEN k.first AND k.last
        ORDER BY r.number LIMIT $5
    ) r";

/// Reads texts, and what the server says of itself.
pub(crate) const LOOK: &str = "
    SELECT r.*, ARRAY[{now}::text, {session}, f.identity, f.fingerprint, s.id::text, CASE WHEN {fit} THEN '' ELSE
        'fsync=' || current_setting('fsync') || ' and synchronous_commit=' || current_setting('synchronous_commit')
        || ': turn them on' END]
    FROM randflake.store s CROSS JOIN {server} f CROSS JOIN ({texts}) r";

/// Reads what is remembered of the tables, and gives the session its number.
pub(crate) const ENTER: &str = "
    SELECT {fingerprint} || '/' || id, {tables}, set_config('randflake.session', $1, false)
    FROM randflake.store";

/// All that may change under a session, as a holder asks between renewals.
pub(crate) const TABLES: &str = "SELECT {tables}";

/// The text of a namespace.
pub(crate) const NAMESPACE: &str = "
    SELECT value FROM randflake.record WHERE namespace = $1 AND kind = 0 AND number = 0";

/// The next namespace. They are in the order of their bytes.
pub(crate) const NEXT_NAMESPACE: &str = "
    SELECT namespace, namespace, value FROM randflake.record
    WHERE kind = 0 AND number = 0 AND namespace > $1 ORDER BY namespace LIMIT 1";

/// Where there is no record of the namespace, the comparison with it is not true.
pub(crate) const REMOVE: &str = "
    DELETE FROM randflake.record
    WHERE namespace = $1 AND kind BETWEEN $2 AND $3 AND number BETWEEN $4 AND $5 AND $6 IN ('', (
        SELECT n.value FROM randflake.record n WHERE n.namespace = $7 AND n.kind = 0 AND n.number = 0
    ))";

/// One record in the place of another, if the namespace's is still so: a renewal, a release, a
/// counter.
pub(crate) const CHANGE: &str = "
    UPDATE randflake.record r SET value = $9
    WHERE r.namespace = $1 AND r.kind = $6 AND r.number = $7 AND r.value = $8 AND {may} AND ($10::text IS NULL OR EXISTS (
        SELECT FROM randflake.record n WHERE n.namespace = $1 AND n.kind = 0 AND n.number = 0 AND n.value = $10
    ))
    RETURNING {now}";

/// The same, and what is put elsewhere with it: an acquire keeps the lease before it in the
/// history, a release leaves hints. It takes three fifths of the time of the general statement: see
/// `docs/performance.md`.
pub(crate) const CHANGE_AND_PUT: &str = "
    WITH changed AS ({change} AS now), put AS (
        INSERT INTO randflake.record (namespace, kind, number, value)
        SELECT $1, p.kind, p.number, p.value
        FROM changed CROSS JOIN unnest($11::smallint[], $12::bigint[], $13::text[]) AS p (kind, number, value)
        ON CONFLICT (namespace, kind, number) DO UPDATE SET value = excluded.value
    )
    SELECT now FROM changed";

/// Any other write. If only a part can be written, the division fails and nothing is. Records are
/// changed by their place: joined by their keys, a plan made for few of them would compare each
/// with each. Where somebody else changes one meanwhile, the server looks at the new one: its text
/// too, because servers of before the end of 2025 do not look at its place.
pub(crate) const PUT: &str = "
    WITH asked AS MATERIALIZED (
        SELECT a.*, r.ctid AS place, r.value AS found
        FROM unnest($6::smallint[], $7::bigint[], $8::text[], $9::text[], $10::boolean[])
            AS a (kind, number, before, after, is_blind)
        LEFT JOIN LATERAL (
            SELECT r.ctid, r.value FROM randflake.record r
            WHERE r.namespace = $1 AND r.kind = a.kind AND r.number = a.number OFFSET 0
        ) r ON true
    ), fit AS MATERIALIZED (
        SELECT WHERE {may} AND NOT EXISTS (
            SELECT FROM asked a WHERE NOT a.is_blind AND a.before IS DISTINCT FROM a.found
        )
    ), put AS MATERIALIZED (
        SELECT a.* FROM asked a CROSS JOIN fit WHERE a.after IS NOT NULL
    ), changed AS (
        UPDATE randflake.record r SET value = p.after FROM put p
        WHERE r.ctid = p.place AND r.value = p.before AND NOT p.is_blind RETURNING 1
    ), made AS (
        INSERT INTO randflake.record (namespace, kind, number, value)
        SELECT $1, p.kind, p.number, p.after FROM put p WHERE p.before IS NULL AND NOT p.is_blind
        ON CONFLICT DO NOTHING RETURNING 1
    ), forced AS (
        INSERT INTO randflake.record (namespace, kind, number, value)
        SELECT $1, p.kind, p.number, p.after FROM put p WHERE p.is_blind
        ON CONFLICT (namespace, kind, number) DO UPDATE SET value = excluded.value RETURNING 1
    ), metrics AS MATERIALIZED (
        SELECT (SELECT count(*) FROM fit) AS fits, (SELECT count(*) FROM put) AS asked,
            (SELECT count(*) FROM changed) + (SELECT count(*) FROM made) + (SELECT count(*) FROM forced) AS written
    )
    SELECT CASE WHEN written = asked AND fits = 1 THEN {now}
        WHEN written > 0 THEN 1 / (asked - asked) END
    FROM metrics";

/// What this role, superusers and the owner that the URL names (`$1`) have not made; and what no
/// `schema.sql` has.
pub(crate) const CHECK: &str = r#"
    WITH trusted AS (
        SELECT oid FROM pg_roles WHERE rolsuper OR rolname IN (current_user, $1)
    ), made AS (
        SELECT oid, nspowner, nspacl FROM pg_namespace WHERE nspname = 'randflake'
    ), relation AS (
        SELECT c.* FROM pg_class c JOIN made ON made.oid = c.relnamespace
    ), untrusted (what, of) AS (
        SELECT 'schema', nspowner FROM made
        UNION ALL SELECT 'right to create in the schema', grantee FROM made, aclexplode(nspacl)
            WHERE privilege_type = 'CREATE'
        UNION ALL SELECT 'relation ' || relname, relowner FROM relation
    ), changed (what) AS (
        SELECT 'view or foreign table ' || relname FROM relation WHERE relkind NOT IN ('r', 'i', 'S')
        UNION ALL SELECT 'unlogged table ' || relname FROM relation WHERE relpersistence <> 'p'
        UNION ALL SELECT 'row level security of ' || relname FROM relation WHERE relrowsecurity
        UNION ALL SELECT 'trigger ' || tgname
            FROM pg_trigger JOIN relation ON relation.oid = tgrelid WHERE NOT tgisinternal
        UNION ALL SELECT 'rule ' || rulename
            FROM pg_rewrite JOIN relation ON relation.oid = ev_class WHERE relkind = 'r'
    )
    SELECT format('the schema randflake of the lease store is not trusted: its "%s" belongs to the role "%s", which could do '
            'all that this role may: name that role in the URL, owner=ROLE, if it is the one that made the schema for you',
        what, coalesce((SELECT rolname::text FROM pg_roles WHERE oid = of), 'PUBLIC'))
    FROM untrusted WHERE of NOT IN (SELECT oid FROM trusted)
    UNION ALL SELECT format('the lease store was changed: it has a "%s", which no randflake has made: remove it', what)
    FROM changed
    LIMIT 1"#;
