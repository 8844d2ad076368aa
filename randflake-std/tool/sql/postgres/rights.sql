
-- Rights that others have by default, by ALTER DEFAULT PRIVILEGES, would be rights to the key.
DO $$
DECLARE
    others text;
BEGIN
    SELECT string_agg(DISTINCT coalesce(nullif(grantee, 0)::regrole::text, 'PUBLIC') || ' on ' || what, ', ') INTO others
    FROM (
        SELECT relname, relowner, (aclexplode(relacl)).grantee FROM pg_catalog.pg_class
        WHERE relnamespace = '{schema}'::regnamespace AND relkind IN ('r', 'S')
        UNION ALL
        SELECT proname, proowner, (aclexplode(proacl)).grantee FROM pg_catalog.pg_proc
        WHERE pronamespace = '{schema}'::regnamespace AND proname IN ('round_keys', 'encrypt_block', 'decrypt_block',
            'encrypt_number', 'decrypt_number',
            'encrypt', 'decrypt', 'encrypt_many', 'decrypt_many', 'next_id',
            'is_tagged', 'tagged_id', 'make_uuid')
    ) AS has (what, owner, grantee)
    WHERE grantee <> owner;
    IF others IS NOT NULL THEN
        RAISE insufficient_privilege USING
            MESSAGE = 'others would have rights: ' || others,
            HINT = 'They come from ALTER DEFAULT PRIVILEGES: revoke them there first.';
    END IF;
END
$$;
