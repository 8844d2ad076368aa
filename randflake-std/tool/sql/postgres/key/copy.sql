COPY {schema}.key (round_keys, check_value) FROM STDIN (FORMAT binary)
