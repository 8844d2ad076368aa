SELECT about.namespace, {schema}.key_check() FROM {schema}.about() AS about
