# What the guide says of pandas, and its snippets, in a folder with a secret and tables whose second row has no id.
import io
import re
import sqlite3
import sys

import numpy as np
import pandas as pd

by_hour, functions, join = re.findall(r"```python\n(.*?)```", open(sys.argv[1]).read(), re.S)

*statements, count = by_hour.strip().rsplit("\n", 1)
exec("\n".join(statements))
assert orders["order_id"][0] == 4594531474933654033 and orders["order_id"].isna()[1]
hour = pd.Timestamp("2024-12-09T01:00Z")
assert eval(count).to_dict() == {(hour, 42): 2}
assert orders["order_id"].duplicated().to_list() == [False, False, True]

exec(functions)
exec(join)
assert orders["node"].dtype == "UInt64" and orders["sequence"].dtype == "UInt64"
assert orders["node"][0] == 42 and orders["sequence"][0] == 1 and orders["node"].isna()[1]
assert orders["time"][0] == pd.Timestamp("2024-12-09T01:04:57Z")
without = orders[["order_id"]].join(fields.set_index(orders.index[known]))
assert without["node"].dtype == "float64"
texts = ["3vgoe12ccb8gh"]
assert np.array([int(text, 32) for text in texts], dtype=np.uint64) == [4594531474933654033]

# Numbers that lose their last digits.
ROUNDED = 4594531474933654016
assert int(pd.read_csv("orders.csv")["order_id"][0]) == ROUNDED
database = sqlite3.connect(":memory:")
database.execute("CREATE TABLE orders (order_id bigint)")
database.executemany("INSERT INTO orders VALUES (?)", [(4594531474933654033,), (None,)])


def read_sql(query="SELECT order_id FROM orders", **options):
    return pd.read_sql(query, database, **options)["order_id"][0]


assert int(read_sql()) == int(read_sql(dtype={"order_id": "Int64"})) == ROUNDED
assert read_sql(dtype_backend="numpy_nullable") == 4594531474933654033
assert read_sql("SELECT CAST(order_id AS text) AS order_id FROM orders") == "4594531474933654033"
table = "order_id\n0012345678901\n"
assert pd.read_csv(io.StringIO(table))["order_id"][0] == 12345678901
assert pd.read_csv(io.StringIO(table), dtype={"order_id": "string"})["order_id"][0] == "0012345678901"


def read_json(**options):
    line = '{"order_id":"4594531474933654033"}\n'
    return pd.read_json(io.StringIO(line), lines=True, **options)["order_id"][0]


assert not isinstance(read_json(), str)
assert read_json(dtype={"order_id": "string"}) == "4594531474933654033"
