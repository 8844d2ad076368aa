
-- Rights that others have by default, by ALTER DEFAULT PRIVILEGES, would be rights to the key.
DO $$
DECLARE
    others pg_catalog.text;
BEGIN
    SELECT pg_catalog.string_agg(DISTINCT
            CASE WHEN grantee {=} 0 THEN 'PUBLIC' ELSE grantee::pg_catalog.regrole::pg_catalog.text END {||} ' on ' {||} what, ', ')
        INTO others
    FROM (
        SELECT c.relname, c.relowner, (pg_catalog.aclexplode(c.relacl)).grantee FROM pg_catalog.pg_class c
        WHERE c.relnamespace {=} '{schema}'::pg_catalog.regnamespace AND c.relkind {=} ANY (ARRAY['r', 'S'])
        UNION ALL
        SELECT p.proname, p.proowner, (pg_catalog.aclexplode(p.proacl)).grantee FROM pg_catalog.pg_proc p
        WHERE p.pronamespace {=} '{schema}'::pg_catalog.regnamespace
            AND p.proname {=} ANY (ARRAY[{inner_functions}, {granted_functions}])
    ) AS has (what, owner, grantee)
    WHERE grantee {<>} owner;
    IF others IS NOT NULL THEN
        RAISE insufficient_privilege USING
            MESSAGE = 'others would have rights: ' {||} others,
            HINT = 'They come from ALTER DEFAULT PRIVILEGES: revoke them there first.';
    END IF;
END
$$;
