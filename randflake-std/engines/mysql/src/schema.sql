-- The tables of a database, version 1. All that a namespace has is text, and compared as bytes.
CREATE TABLE IF NOT EXISTS randflake_record (
    namespace VARBINARY(64) NOT NULL,
    -- 0 namespace, 1 counter, 2 node, 4 hint, 5 earlier lease, 7 and 8 device; 6, of no namespace, the claim of a secret by its
    -- check value
    kind TINYINT UNSIGNED NOT NULL,
    -- which of them; an earlier lease's is its node's, times 2^16, and its place
    number BIGINT UNSIGNED NOT NULL,
    value VARBINARY(4096) NOT NULL,
    -- 0 in each row. What counts is the table's next automatic number, which InnoDB keeps outside of rows and transactions:
    -- it is raised once, by an insert that is rolled back, which no replica repeats. Copies of the table begin at 1.
    mark BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    PRIMARY KEY (namespace, kind, number),
    KEY (mark)
) ENGINE = InnoDB
;
-- One row, with a random number. Whoever finds it finds both tables.
CREATE TABLE IF NOT EXISTS randflake_store (
    only_row INT NOT NULL PRIMARY KEY,
    version INT UNSIGNED NOT NULL,
    id BIGINT UNSIGNED NOT NULL,
    -- Server and table of records when that table was marked last
    marked VARBINARY(255) NOT NULL
) ENGINE = InnoDB
;
