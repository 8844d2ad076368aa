"""Loads the extension that is named, and prints what each statement of its input returns, or why it fails."""

import sqlite3
import sys

connection = sqlite3.connect(":memory:")
connection.enable_load_extension(True)
connection.load_extension(sys.argv[1])
connection.enable_load_extension(False)
for statement in sys.stdin:
    try:
        print(connection.execute(statement).fetchone()[0])
    except sqlite3.OperationalError as error:
        print(error)
