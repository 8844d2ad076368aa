
-- The key. `randflake sql key` sets it, in a way that leaves it out of the server's logs.
CREATE TABLE `key` (
    -- One key for ever: ids of another one could not be read.
    only_row TINYINT NOT NULL DEFAULT 1 PRIMARY KEY CHECK (only_row = 1),
    -- Tells keys apart, and nothing else.
    check_value CHAR(8) CHARACTER SET ascii NOT NULL,
{key_columns}
) ENGINE = InnoDB //

-- The check value of the key, eight hex digits; NULL without one. `randflake lease namespaces` shows that of a namespace.
CREATE FUNCTION key_check() RETURNS CHAR(8) CHARACTER SET ascii READS SQL DATA
RETURN (SELECT t.check_value FROM `key` AS t WHERE t.only_row = 1) //
