
-- The key. `randflake sql key` sets it, in a way that leaves it out of the server's logs.
CREATE TABLE `key` (
    -- One key for ever: ids of another one could not be read.
    only_row TINYINT NOT NULL DEFAULT 1 PRIMARY KEY CHECK (only_row = 1),
    -- Tells keys apart, and nothing else.
    check_value CHAR(8) CHARACTER SET ascii NOT NULL,
    -- SPARX-64/128: the keys of 24 rounds and of the whitening. The left branch's words are in the lower 32 bits, the
    -- right one's in the upper 32, and of each the first is the lower.
    k1 BIGINT UNSIGNED NOT NULL, k2 BIGINT UNSIGNED NOT NULL, k3 BIGINT UNSIGNED NOT NULL,
    k4 BIGINT UNSIGNED NOT NULL, k5 BIGINT UNSIGNED NOT NULL, k6 BIGINT UNSIGNED NOT NULL,
    k7 BIGINT UNSIGNED NOT NULL, k8 BIGINT UNSIGNED NOT NULL, k9 BIGINT UNSIGNED NOT NULL,
    k10 BIGINT UNSIGNED NOT NULL, k11 BIGINT UNSIGNED NOT NULL, k12 BIGINT UNSIGNED NOT NULL,
    k13 BIGINT UNSIGNED NOT NULL, k14 BIGINT UNSIGNED NOT NULL, k15 BIGINT UNSIGNED NOT NULL,
    k16 BIGINT UNSIGNED NOT NULL, k17 BIGINT UNSIGNED NOT NULL, k18 BIGINT UNSIGNED NOT NULL,
    k19 BIGINT UNSIGNED NOT NULL, k20 BIGINT UNSIGNED NOT NULL, k21 BIGINT UNSIGNED NOT NULL,
    k22 BIGINT UNSIGNED NOT NULL, k23 BIGINT UNSIGNED NOT NULL, k24 BIGINT UNSIGNED NOT NULL,
    k25 BIGINT UNSIGNED NOT NULL
) ENGINE = InnoDB //

-- The check value of the key, eight hex digits; NULL without one. `randflake lease namespaces` shows that of a namespace.
CREATE FUNCTION key_check() RETURNS CHAR(8) CHARACTER SET ascii READS SQL DATA
RETURN (SELECT t.check_value FROM `key` AS t WHERE t.only_row = 1) //
