import datetime
import json

import duckdb

db = duckdb.connect()
db.execute(open("orders.sql").read())


def refused(statement, reason):
    try:
        answer = db.execute(statement.replace("ids.", "randflake_orders.")).fetchall()
    except duckdb.Error as error:
        assert reason in str(error), (statement, error)
    else:
        raise AssertionError((statement, answer))


about = db.execute("SELECT i.namespace(), i.layout(), i.key_check()".replace("i.", "randflake_orders.")).fetchone()
assert about[0] == "orders" and about[1].startswith("time 30 bits from bit 34,") and about[2] is None, about
refused("SELECT ids.decrypt(1)", "no key")
refused("SELECT ids.compose(DATE '2025-01-01', 0, 0)", "no key")

count = 0
for file in ["reference.json", "randflake.json"]:
    for vector in json.load(open(file)):
        secret = vector["secret"]
        db.execute("SET VARIABLE randflake_orders_key = randflake_orders.key_of($secret)", {"secret": secret})
        id = int(vector["encrypted_id"])
        raw = int(vector["raw_id"])
        for number in [f"({id})::BIGINT", f"{id % 2**64}::UBIGINT"]:
            found = db.execute(
                f"""SELECT i.decrypt(n), i.id_to_text(n), i.id_time(n), i.id_node(n), i.id_sequence(n)
                FROM (SELECT {number} AS n)""".replace("i.", "randflake_orders.")
            ).fetchone()
            time = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=vector["timestamp"])
            signed = raw - 2**64 if raw >= 2**63 else raw
            fields = (vector["node_id"], vector["sequence"])
            assert found == (signed, vector["encoded_id"], time, *fields), (vector, found)
        count += 1
assert count > 10, count

for statement, reason in [
    ("ids.decrypt(1.5)", "this is a DECIMAL"),
    ("ids.decrypt(1e18)", "this is a DOUBLE"),
    ("ids.decrypt('12')", "this is a VARCHAR"),
    ("ids.decrypt(18446744073709551616)", "an id has 64 bits"),
    ("ids.id_from_text('')", "it is empty"),
    ("ids.id_from_text('3VGOE')", "only 0-9 and a-v are allowed"),
    ("ids.id_from_text('03vgoe')", "it begins with a zero"),
    ("ids.id_from_text('g000000000000')", "more than 64 bits"),
    ("ids.id_from_text('3vgoe12ccb8gh0')", "at most 13 characters"),
    ("ids.compose(NULL::TIMESTAMP, 0, 0)", "is NULL"),
    ("ids.compose(DATE '2024-01-01', 0, 0)", "the time is out of range: 2024-10-27T03:33:20Z"),
    ("ids.compose(DATE '2059-01-01', 0, 0)", "the time is out of range"),
    ("ids.compose(DATE '2025-01-01', 131072, 0)", "0 to 131071 is allowed"),
    ("ids.compose(DATE '2025-01-01', 0, -1)", "0 to 131071 is allowed"),
    ("ids.raw_ranges(DATE '2025-01-01', DATE '2025-01-01')", "ends before it begins"),
    ("ids.raw_ranges(DATE '2025-01-01', DATE '2059-01-01')", "not within"),
    ("ids.raw_first(DATE '2041-01-01', DATE '2042-01-01')", "become negative"),
    ("ids.raw_ranges(DATE '2020-01-01', DATE '2025-01-01')", "not within 2024-10-27T03:33:20Z to 2058-11-05T17:10:24Z"),
    ("ids.key_of('abc')", "a key is 32 hex digits"),
    ("ids.key_of('id,total')", "a key is 32 hex digits"),
]:
    refused(f"SELECT {statement}", reason)

ranges = db.execute(
    """SELECT count(*) FROM range(0, 60) t(m)
    JOIN (SELECT unnest(randflake_orders.raw_ranges(TIMESTAMP '2041-10-31 22:00', TIMESTAMP '2041-10-31 22:30'),
        recursive := true)) r
    ON randflake_orders.compose_raw(TIMESTAMP '2041-10-31 22:00' + to_minutes(m), 0, 0) BETWEEN r.first AND r.last"""
).fetchone()[0]
assert ranges == 30, ranges
# A tick counts by its first moment: between two of them there are no ids, also where they become negative.
empty = db.execute(
    """SELECT len(i.raw_ranges(a, b)), i.raw_first(a, b), i.raw_last(a, b), 7::UBIGINT BETWEEN i.raw_first(a, b) AND i.raw_last(a, b)
    FROM (SELECT TIMESTAMP '2041-10-31 22:21:51.1' AS a, TIMESTAMP '2041-10-31 22:21:51.9' AS b)""".replace("i.", "randflake_orders.")
).fetchone()
assert empty == (0, 1, 0, False), empty
db.execute("SET VARIABLE randflake_orders_key = randflake_orders.key_of('dffd6021bb2bd5b0af676290809ec3a5')")
check = db.execute("SELECT randflake_orders.key_check()").fetchone()
assert check == ("990dc77e",), check
# A file that is not there sets no key, and the secret itself is none: it is in no message.
for value in ["(SELECT randflake_orders.key_of(content) FROM read_text('nothing.key'))", "'dffd6021bb2bd5b0af676290809ec3a5'"]:
    db.execute(f"SET VARIABLE randflake_orders_key = {value}")
    for call in ["decrypt(1)", "encrypt(1)", "id_time(1)", "id_node(1)", "compose(DATE '2025-01-01', 0, 0)"]:
        refused(f"SELECT ids.{call}", "no key: set the variable randflake_orders_key to randflake_orders.key_of(SECRET)")
    assert db.execute("SELECT randflake_orders.key_check()").fetchone() == (None,)
db.execute("SET VARIABLE randflake_orders_key = randflake_orders.key_of('dffd6021bb2bd5b0af676290809ec3a5')")
nulls = db.execute("SELECT i.decrypt(NULL), i.id_time(NULL), i.id_to_text(NULL)".replace("i.", "randflake_orders."))
assert nulls.fetchone() == (None, None, None)
