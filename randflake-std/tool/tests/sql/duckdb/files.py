import os
import re
import subprocess
import sys

import duckdb

program, id_of_october = sys.argv[1:]
os.environ["PATH"] = os.path.dirname(program) + os.pathsep + os.environ["PATH"]
guide = open("data.md").read()
db = duckdb.connect()


def blocks(title, kind):
    section = guide.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return re.findall(f"```{kind}\n(.*?)```", section, re.S)


def run(command):
    """Runs a command of the guide, with DuckDB's package as its program, on the store of this user."""
    if statement := re.fullmatch('duckdb -c "(.*)"', command):
        return db.sql(statement[1])
    command = command.replace(" --store postgres://ids@db.internal/ids", "")
    assert command.startswith("randflake "), command
    return subprocess.run(command, shell=True, check=True)


def run_all(title):
    lines = "".join(blocks(title, "console")).splitlines()
    return [run(line[2:]) for line in lines if line.startswith("$ ")][-1]


ids = open("ids.txt").read().split()
# In October in UTC, and in November in this time zone.
rows = [4594531474933654033, id_of_october, id_of_october, "", *ids, "", *ids[:7]]
with open("orders.csv", "w") as table:
    table.write("order_id,zip,note\n")
    for row, id in enumerate(rows):
        table.write(f'{id},{row % 100:05},"a, b\n"\n')
run("randflake inspect --csv --column order_id --from int --key-file orders.key < orders.csv > inspected.csv")

hours, query = blocks("Group by hour and node", "sql")[0].split(";")[:2]
db.execute(hours)
found = db.sql(f"SELECT hour::VARCHAR, node, \"count_star()\" FROM ({query})").fetchall()
assert ("2024-12-09 01:00:00+00", 42, 1) in found, found
assert ("2026-10-31 23:00:00+00", 3, 2) in found, found
assert sum(count for _, _, count in found) == len(rows), found

db.execute("RESET TimeZone")
db.execute(blocks("Partition by time", "sql")[0])
months = db.sql("SELECT DISTINCT month FROM 'orders/*/*.parquet' WHERE node = 3").fetchall()
assert months == [("2026-10",)], months

types = "columns = {order_id: BIGINT, zip: VARCHAR, note: VARCHAR}"
db.sql(f"COPY (SELECT *, 1.50::DECIMAL(9, 2) AS amount FROM read_csv('orders.csv', {types})) TO 'orders.parquet'")
run_all("Parquet")
described = dict(db.sql("SELECT column_name, column_type FROM (DESCRIBE FROM 'inspected.parquet')").fetchall())
assert (described["zip"], described["amount"], described["node"]) == ("VARCHAR", "DECIMAL(9,2)", "BIGINT"), described
same = """SELECT count(*) FROM (FROM 'inspected.parquet' POSITIONAL JOIN
(SELECT order_id AS id, zip AS its_zip, time_utc AS time, node AS its_node FROM read_csv('inspected.csv', types = {'zip': 'VARCHAR'})))
WHERE order_id IS NOT DISTINCT FROM id AND zip = its_zip AND time_utc IS NOT DISTINCT FROM time AND node IS NOT DISTINCT FROM its_node"""
assert db.sql(same).fetchall() == [(len(rows),)], db.sql(same)

found = run_all("Find duplicates, and who made them").project("order_id, verdict, holder").fetchall()
issued = {str(id) for id, verdict, holder in found if verdict == "held" and holder}
assert issued == set(ids[:7]), found
others = {(str(id), holder) for id, verdict, holder in found if verdict != "held"}
assert others == {(id_of_october, None)} and len(found) == 16, found
