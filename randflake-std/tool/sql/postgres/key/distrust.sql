WITH me AS (
    SELECT oid FROM pg_roles WHERE rolname = current_user
), made AS (
    SELECT oid, nspowner, nspacl FROM pg_namespace WHERE nspname = $1
), key AS (
    SELECT c.* FROM pg_class c JOIN made ON made.oid = c.relnamespace WHERE c.relname = 'key'
), functions AS (
    SELECT proname AS name, proowner AS owner, coalesce(proacl, acldefault('f', proowner)) AS acl
    FROM pg_proc JOIN made ON made.oid = pronamespace
), owned (what, owner) AS (
    SELECT 'schema', nspowner FROM made
    UNION ALL SELECT 'table key', relowner FROM key
    UNION ALL SELECT 'function ' || name, owner FROM functions
), open (name) AS (
    SELECT DISTINCT name FROM functions, aclexplode(acl)
    WHERE grantee = 0 AND name IN ({inner_functions}, {granted_functions})
), wrong (what) AS (
    SELECT format('is not in the database %I: run the output of randflake sql postgres there first, or name the database that has it',
            current_database())
        WHERE NOT EXISTS (SELECT FROM made)
    UNION ALL SELECT 'has no table of a key: it is of a layout whose ids are not encrypted, or was not made by randflake sql postgres'
        WHERE EXISTS (SELECT FROM made) AND NOT EXISTS (SELECT FROM key WHERE relkind = 'r')
    UNION ALL SELECT format('is not this role''s: its %s belongs to %s; connect as the role that made it', what, owner::regrole)
        FROM owned WHERE owner <> (SELECT oid FROM me)
    UNION ALL SELECT format('lets %s make something in it', coalesce(nullif(grantee, 0)::regrole::text, 'everybody'))
        FROM made, aclexplode(nspacl) WHERE privilege_type = 'CREATE' AND grantee <> (SELECT oid FROM me)
    UNION ALL SELECT format('lets %s use the table of the key', coalesce(nullif(grantee, 0)::regrole::text, 'everybody'))
        FROM key, aclexplode(relacl) WHERE grantee <> (SELECT oid FROM me)
    UNION ALL SELECT format('lets everybody call %s, as after the restore of a dump without rights (--no-acl). Run, as this role: '
            'REVOKE ALL ON FUNCTION %s FROM PUBLIC. Then grant roles their rights again, and run this command again',
            string_agg(name, ', ' ORDER BY name), string_agg(format('%I.%I', $1, name), ', ' ORDER BY name))
        FROM open HAVING count(*) > 0
    UNION ALL SELECT format('lets %s call %s, which only its owner may', grantee::regrole, name)
        FROM functions, aclexplode(acl) WHERE name IN ({inner_functions}) AND grantee NOT IN (0, owner)
    UNION ALL SELECT 'has a table of the key without row-level security' FROM key WHERE NOT relrowsecurity
    UNION ALL SELECT 'has a trigger on the table of the key: ' || tgname FROM pg_trigger JOIN key ON key.oid = tgrelid
    UNION ALL SELECT 'has a rule on the table of the key: ' || rulename FROM pg_rewrite JOIN key ON key.oid = ev_class
    UNION ALL SELECT 'has a policy on the table of the key: ' || polname FROM pg_policy JOIN key ON key.oid = polrelid
    UNION ALL SELECT format('has its table of the key in the publication %I, whose subscribers get the key: --published allows it',
            pubname)
        FROM pg_publication_tables WHERE schemaname = $1 AND tablename = 'key' AND NOT $2::boolean
)
SELECT format('the schema %s %s', $1::text, what) FROM wrong LIMIT 1
