
-- Text and 16 bytes of UUIDs, without a key. A column is BINARY(16): MariaDB's type UUID takes UUIDs of version 8 whose ninth byte
-- is 0x80 for others, refuses their text, and gives their bytes in another order.

CREATE FUNCTION uuid_to_text(uuid BINARY(16)) RETURNS CHAR(36) CHARACTER SET ascii DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
    DECLARE digits CHAR(32) CHARACTER SET ascii DEFAULT LOWER(HEX(uuid));
    RETURN CONCAT(SUBSTR(digits, 1, 8), '-', SUBSTR(digits, 9, 4), '-', SUBSTR(digits, 13, 4), '-', SUBSTR(digits, 17, 4), '-',
        SUBSTR(digits, 21));
END //

-- Each UUID has one text, so upper case and missing hyphens are errors.
CREATE FUNCTION uuid_from_text(uuid VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin) RETURNS BINARY(16)
DETERMINISTIC NO SQL SQL SECURITY INVOKER
BEGIN
    -- The length too: the end of a pattern is also before a line break.
    IF CHAR_LENGTH(uuid) <> 36 OR NOT uuid REGEXP '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN
        SIGNAL SQLSTATE '45000' SET
            MESSAGE_TEXT = 'not the text of a UUID: 32 digits of 0-9 and a-f, with hyphens behind the 8th, 12th, 16th and 20th';
    END IF;
    RETURN UNHEX(REPLACE(uuid, '-', ''));
END //
