COPY {schema}.key (number, round_keys, check_value) FROM STDIN (FORMAT binary)
