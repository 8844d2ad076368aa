SELECT n.nspname::text
FROM pg_namespace n
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = 'key' AND c.relkind = 'r'
WHERE n.nspname <> $1
    AND (
        SELECT count(*) FROM pg_proc p
        WHERE p.pronamespace = n.oid AND p.proname IN ('about', 'key_check', 'key_checks') AND p.pronargs = 0
            AND p.proowner = (SELECT oid FROM pg_roles WHERE rolname = current_user)
    ) = 2
ORDER BY 1
