
-- Ranges of raw ids, in signed columns: times t with from_time <= t < to_time.

-- One range as JSON, [[first,last]], both included; two where the numbers become negative in between, and none, [], where no
-- tick begins in between.
CREATE FUNCTION raw_ranges(from_time DATETIME(6), to_time DATETIME(6)) RETURNS VARCHAR(100)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
    DECLARE from_tick, to_tick, first, last BIGINT UNSIGNED;
    SET from_tick = ticks(from_time, TRUE), to_tick = ticks(to_time, TRUE);
    IF from_time >= to_time THEN
        SIGNAL SQLSTATE '22008' SET MESSAGE_TEXT = 'the range ends before it begins, or as it begins';
    ELSEIF to_tick - 1 > {max_tick} THEN
        SIGNAL SQLSTATE '22008' SET MESSAGE_TEXT = 'the range ends after {end_time}, when the times of this layout end';
    ELSEIF from_tick = to_tick THEN
        RETURN '[]';
    END IF;
    SET first = from_tick << {time_shift}, last = (to_tick - 1) << {time_shift} | {below_time};
    IF first < 9223372036854775808 AND last >= 9223372036854775808 THEN
        RETURN CONCAT('[[', first, ',9223372036854775807],[-9223372036854775808,', CAST(last AS SIGNED), ']]');
    END IF;
    RETURN CONCAT('[[', CAST(first AS SIGNED), ',', CAST(last AS SIGNED), ']]');
END //

-- The first and the last raw id of a range, for BETWEEN; 1 and 0, with nothing in between, if it has none.
CREATE FUNCTION raw_first(from_time DATETIME(6), to_time DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
    DECLARE ranges VARCHAR(100) DEFAULT raw_ranges(from_time, to_time);
    IF JSON_LENGTH(ranges) > 1 THEN
        SIGNAL SQLSTATE '22008' SET MESSAGE_TEXT = 'in this range signed raw ids become negative: raw_ranges gives its two parts';
    END IF;
    RETURN COALESCE(JSON_EXTRACT(ranges, '$[0][0]'), 1);
END //

CREATE FUNCTION raw_last(from_time DATETIME(6), to_time DATETIME(6)) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
    DECLARE ranges VARCHAR(100) DEFAULT raw_ranges(from_time, to_time);
    IF JSON_LENGTH(ranges) > 1 THEN
        SIGNAL SQLSTATE '22008' SET MESSAGE_TEXT = 'in this range signed raw ids become negative: raw_ranges gives its two parts';
    END IF;
    RETURN COALESCE(JSON_EXTRACT(ranges, '$[0][1]'), 0);
END //
