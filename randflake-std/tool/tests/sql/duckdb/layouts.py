import json

import duckdb

for layout in json.load(open("layouts.json")):
    db = duckdb.connect()
    db.execute(layout["sql"])
    columns = "id BIGINT, raw BIGINT, text VARCHAR, unix_ms BIGINT, node BIGINT, sequence BIGINT, composed BIGINT"
    db.execute(f"CREATE TABLE expected ({columns})")
    db.executemany("INSERT INTO expected VALUES (?, ?, ?, ?, ?, ?, ?)", layout["rows"])
    questions = [
        """s.id_to_text(id) = text AND s.id_from_text(text) = id
        AND epoch_ms(s.id_time(id)) = unix_ms AND s.id_node(id) = node AND s.id_sequence(id) = sequence
        AND epoch_ms(s.raw_time(raw)) = unix_ms AND s.raw_node(raw) = node AND s.raw_sequence(raw) = sequence
        AND s.compose_raw(make_timestamp_ms(unix_ms), node, sequence) = composed"""
    ]
    if layout["key"]:
        db.execute(f"SET VARIABLE s_key = (SELECT s.key_of(content) FROM read_text('{layout['key']}'))")
        assert db.execute("SELECT s.key_check()").fetchone()[0] == layout["check"]
        questions += [
            """s.decrypt(id) = raw AND s.encrypt(raw) = id AND s.decrypt(id::HUGEINT) = raw
            AND s.compose(make_timestamp_ms(unix_ms), node, sequence) = s.encrypt(composed)"""
        ]
    for question in questions:
        same = db.execute(f"SELECT count(*) FROM expected WHERE {question}").fetchone()[0]
        assert same == len(layout["rows"]) > 100, (layout["layout"], same, question)
