
-- Text and number.

-- The text of an id: 1 to 13 of 0-9 and a-v.
CREATE FUNCTION id_to_text(id DECIMAL(20)) RETURNS VARCHAR(13) CHARACTER SET ascii DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN LOWER(CONV(bits(id), 10, 32)) //

-- The id of a text: each id has one text, so upper case, leading zeros and spaces are errors.
CREATE FUNCTION id_from_text(id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin) RETURNS BIGINT
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
    DECLARE number BIGINT UNSIGNED DEFAULT 0;
    DECLARE place, digit INT DEFAULT 0;
    -- The first that applies.
    DECLARE reason VARCHAR(128) CHARACTER SET utf8mb4 DEFAULT CASE
        WHEN CHAR_LENGTH(id) = 0 THEN 'it is empty'
        WHEN CHAR_LENGTH(id) > 13 THEN 'at most 13 characters are allowed'
        WHEN id LIKE '0_%' THEN 'it begins with a zero'
    END;
    WHILE reason IS NULL AND place < CHAR_LENGTH(id) DO
        SET place = place + 1;
        SET digit = LOCATE(SUBSTR(id, place, 1), _utf8mb4'0123456789abcdefghijklmnopqrstuv' COLLATE utf8mb4_bin) - 1;
        IF digit < 0 THEN
            SET reason = 'only 0-9 and a-v are allowed';
        ELSEIF number > 576460752303423487 THEN
            SET reason = 'it is a number of more than 64 bits';
        ELSE
            SET number = number << 5 | digit;
        END IF;
    END WHILE;
    IF reason IS NOT NULL THEN
        SET reason = CONCAT('not the text of an id, ', QUOTE(LEFT(id, 20)), ': ', reason);
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = reason;
    END IF;
    RETURN IF(id IS NULL, NULL, CAST(number AS SIGNED));
END //
