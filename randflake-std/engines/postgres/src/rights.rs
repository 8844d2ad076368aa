//! Whose code this role may run: a view, a trigger or a rule in a table's place runs functions with the rights of
//! whoever uses the table.

/// What this role, superusers and the owner that the URL names (`$1`) have not made; and what no `schema.sql` has.
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
