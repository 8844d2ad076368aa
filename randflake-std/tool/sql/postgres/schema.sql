CREATE SCHEMA {schema};
COMMENT ON SCHEMA {schema} IS 'Randflake ids of the namespace {namespace}: {layout}';
