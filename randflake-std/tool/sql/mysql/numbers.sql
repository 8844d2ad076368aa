
-- Ids of 53 bits: a Feistel network of 26 rounds over halves of 26 and 27 bits, whose round function is the low bits of one
-- block of the cipher SPARX-64/128. 5051378635315871744 is the four bytes of the use, above the round's number and the half.
-- Backwards only the halves go back: the function is the same.
--
-- The cipher: a round of the left branch and one of the right are computed at once, in the lower and the upper 32 bits of s,
-- which has two words of each: x, and y in the 16 bits above. 281470681808895 is the x of both. To multiply a word by 65537
-- writes it twice, so that a shift rotates it. 71777214294589695 is the lower byte of each word: the words of the cipher are
-- big-endian, the block is little-endian.
--
-- DETERMINISTIC, so that a call in a condition is evaluated once, and an index is used.

CREATE FUNCTION network(id DECIMAL(20), backwards BOOLEAN) RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE s, x, l, r BIGINT UNSIGNED;
    DECLARE i INT DEFAULT IF(backwards, 25, 0);
{declare_key}    IF id IS NULL THEN
        RETURN NULL;
    ELSEIF id NOT BETWEEN 0 AND 9007199254740991 THEN
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = 'the id is out of range: 0 to 9007199254740991, 53 bits, are allowed';
    END IF;
{load_key}    SET l = bits(id) >> 27, r = bits(id) & 134217727;
    WHILE i BETWEEN 0 AND 25 DO
        SET s = 5051378635315871744 | i << 27 | IF(i MOD 2 = 0, r, l);
{encrypt_steps}        SET s = (s & 71777214294589695) << 8 | s >> 8 & 71777214294589695;
        IF i MOD 2 = 0 THEN
            SET s = s & 67108863;
            SET l = l + IF(backwards, 67108864 - s, s) & 67108863;
        ELSE
            SET s = s & 134217727;
            SET r = r + IF(backwards, 134217728 - s, s) & 134217727;
        END IF;
        SET i = i + IF(backwards, -1, 1);
    END WHILE;
    RETURN CAST(l << 27 | r AS SIGNED);
END //

CREATE FUNCTION decrypt(id DECIMAL(20)) RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
RETURN `{schema}`.network(id, TRUE) //

CREATE FUNCTION encrypt(raw DECIMAL(20)) RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
RETURN `{schema}`.network(raw, FALSE) //
