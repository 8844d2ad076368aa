
-- Fields of raw ids, which are decrypted: no key is needed.

-- In UTC.
CREATE FUNCTION raw_time(raw DECIMAL(20)) RETURNS DATETIME(3) DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
    DECLARE tick BIGINT UNSIGNED DEFAULT bits(raw) >> {time_shift} & {max_tick};
    DECLARE unix_ms DECIMAL(40) DEFAULT {epoch_ms} + {tick_ms} * CAST(tick AS DECIMAL(20));
    IF unix_ms > 253402300799999 THEN
        SIGNAL SQLSTATE '22008' SET MESSAGE_TEXT = 'the time of the id is after the year 9999, the last of a DATETIME';
    END IF;
    RETURN TIMESTAMP'1970-01-01 00:00:00' + INTERVAL unix_ms * 1000 MICROSECOND;
END //

CREATE FUNCTION raw_node(raw DECIMAL(20)) RETURNS BIGINT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN bits(raw) >> {node_shift} & {max_node} //

CREATE FUNCTION raw_sequence(raw DECIMAL(20)) RETURNS BIGINT DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN bits(raw) >> {sequence_shift} & {max_sequence} //

-- Ticks from the epoch to a time in UTC; with `up`, to the first tick that begins then or later.
CREATE FUNCTION ticks(at DATETIME(6), up BOOLEAN) RETURNS BIGINT DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
    DECLARE us DECIMAL(40) DEFAULT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', at) - {first_us};
    IF us IS NULL THEN
        SIGNAL SQLSTATE '22004' SET MESSAGE_TEXT = 'the time is NULL';
    ELSEIF us < 0 THEN
        SIGNAL SQLSTATE '22008' SET MESSAGE_TEXT = 'the time is before {first_time}, when the ids of this layout begin';
    END IF;
    RETURN (us + IF(up, {tick_us} - 1, 0)) DIV {tick_us};
END //

-- The raw id of these fields; the time is in UTC, and its tick the one that it is in.
CREATE FUNCTION compose_raw(at DATETIME(6), node BIGINT, sequence BIGINT) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
    DECLARE tick BIGINT UNSIGNED DEFAULT ticks(at, FALSE);
    IF tick > {max_tick} THEN
        SIGNAL SQLSTATE '22008' SET MESSAGE_TEXT = 'the time is after {last_time}, when the ids of this layout end';
    ELSEIF node IS NULL OR node NOT BETWEEN 0 AND {max_node} THEN
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = 'the node id is out of range: 0 to {max_node} is allowed';
    ELSEIF sequence IS NULL OR sequence NOT BETWEEN 0 AND {max_sequence} THEN
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = 'the sequence is out of range: 0 to {max_sequence} is allowed';
    END IF;
    RETURN CAST(tick << {time_shift} | node << {node_shift} | sequence << {sequence_shift} AS SIGNED);
END //
