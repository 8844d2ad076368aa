SELECT about.namespace, k.number, k.check_value
FROM {schema}.about() AS about LEFT JOIN {schema}.key_checks() AS k ON true
