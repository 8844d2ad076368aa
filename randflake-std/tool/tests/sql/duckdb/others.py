import duckdb

# Somebody else's database: its macros have the names of functions and operators of DuckDB.
theirs = duckdb.connect("theirs.duckdb")
for macro in ['"&"(a, b)', "xor(a, b)", "typeof(a)", "getvariable(a)"]:
    theirs.execute(f"CREATE MACRO {macro} AS error('taken')")
theirs.execute("CREATE TABLE orders AS SELECT 4594531474933654033 AS id")
theirs.close()

SQL = open("orders.sql").read()
KEY = "SET VARIABLE randflake_orders_key = randflake_orders.key_of('dffd6021bb2bd5b0af676290809ec3a5')"
NODE = "SELECT randflake_orders.id_node(id) FROM "

# As the guide says it: attached to a database of one's own.
db = duckdb.connect()
db.execute(SQL)
db.execute(KEY)
db.execute("ATTACH 'theirs.duckdb' AS theirs (READ_ONLY)")
assert db.execute(NODE + "theirs.orders").fetchall() == [(42,)]
# Used, it has no such functions.
db.execute("USE theirs")
for schema in ["", "memory."]:
    try:
        answer = db.execute(NODE.replace("randflake", schema + "randflake") + "orders").fetchall()
    except duckdb.CatalogException as error:
        assert "does not exist" in str(error), error
    else:
        raise AssertionError(answer)
db.close()

# What the guide warns of: opened, its macros are run in place of DuckDB's functions.
db = duckdb.connect("theirs.duckdb")
db.execute(SQL)
try:
    answer = db.execute(NODE + "orders").fetchall()
except duckdb.Error as error:
    assert "taken" in str(error), error
else:
    raise AssertionError(answer)
