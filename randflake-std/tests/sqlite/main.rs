//! What an SQLite file brings with it: deletion, copies, backups, other programs, many processes.
