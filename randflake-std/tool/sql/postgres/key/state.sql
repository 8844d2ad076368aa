SELECT about.namespace, {schema}.key_check(), EXISTS (
    SELECT FROM pg_proc WHERE pronamespace = '{schema}'::regnamespace AND proname = 'encrypt_number'
) FROM {schema}.about() AS about
