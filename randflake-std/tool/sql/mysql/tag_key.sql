
-- The keys of tags, by key number. `randflake sql key --tagged` derives one from the secret, which stays outside, and sets it in
-- a way that leaves it out of the server's logs. A key is retired when its row is deleted.
CREATE TABLE `key` (
    number TINYINT NOT NULL PRIMARY KEY CHECK (number BETWEEN 1 AND 63),
    -- Tells secrets apart, and nothing else. Under one secret of two numbers ids would be equal.
    check_value CHAR(8) CHARACTER SET ascii NOT NULL UNIQUE,
{key_columns}
) ENGINE = InnoDB //

-- The key numbers that are accepted, and the check values of their secrets, eight hex digits each, as JSON; NULL without one.
-- `randflake lease namespaces` shows that of a namespace.
CREATE FUNCTION key_checks() RETURNS TEXT CHARACTER SET ascii READS SQL DATA
RETURN (SELECT JSON_OBJECTAGG(t.number, t.check_value) FROM `key` AS t) //
