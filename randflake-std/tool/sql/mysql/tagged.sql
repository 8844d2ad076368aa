
-- Tagged UUIDs: version 8, and in its free bits an id of 64 bits, a key number of 6 and a tag of 52. The tag is the upper 52 bits
-- of the id's block. 18446744073709486080 is the upper 48 of 64 bits, 4503599627370495 is 52 bits.
--
-- To check is one right and to make another, though both need the same key: the functions read it for their caller.
--
-- DETERMINISTIC, so that a call in a condition is evaluated once, and an index is used.

-- The tag of an id; NULL without a key of this number. Whoever may call it makes UUIDs: grant it to nobody.
--
-- The cipher: a round of the left branch and one of the right are computed at once, in the lower and the upper 32 bits of s,
-- which has two words of each: x, and y in the 16 bits above. 281470681808895 is the x of both. To multiply a word by 65537
-- writes it twice, so that a shift rotates it. 71777214294589695 is the lower byte of each word: the words of the cipher are
-- big-endian, the block is little-endian.
CREATE FUNCTION tag_of(id BIGINT UNSIGNED, key_number INT) RETURNS BIGINT UNSIGNED
DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE s BIGINT UNSIGNED DEFAULT id;
    DECLARE x BIGINT UNSIGNED;
{declare_key}{select_key} WHERE t.number = key_number;
    IF k25 IS NULL THEN
        IF NOT EXISTS (SELECT 1 FROM `key`) THEN
            SIGNAL SQLSTATE '45000' SET
                MESSAGE_TEXT = 'the database {schema} has no key: set it with randflake sql key --tagged NUMBER';
        END IF;
        RETURN NULL;
    END IF;
{encrypt_steps}    RETURN ((s & 71777214294589695) << 8 | s >> 8 & 71777214294589695) >> 12;
END //

-- The id in a tagged UUID, encrypted under the secret of its key number. NULL unless a holder of the key made the UUID: of a
-- wrong tag, of a key number that is unknown or retired, of another version or variant, and of a UUID without a tag.
CREATE FUNCTION tagged_id(tagged BINARY(16)) RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE high BIGINT UNSIGNED DEFAULT CONV(HEX(SUBSTRING(tagged, 1, 8)), 16, 10);
    DECLARE low BIGINT UNSIGNED DEFAULT CONV(HEX(SUBSTRING(tagged, 9, 8)), 16, 10);
    DECLARE id BIGINT UNSIGNED DEFAULT high & 18446744073709486080 | (high & 4095) << 4 | low >> 58 & 15;
    -- The version is 8, and the variant 0b10.
    IF tagged IS NULL OR high >> 12 & 15 <> 8 OR low >> 62 <> 2 THEN
        RETURN NULL;
    END IF;
    -- All 52 bits at once: the time tells nothing of how many are right. Without a key the tag is NULL, which equals nothing.
    IF tag_of(id, low >> 52 & 63) = low & 4503599627370495 THEN
        RETURN CAST(id AS SIGNED);
    END IF;
    RETURN NULL;
END //

-- Whether a holder of a key that is not retired made this UUID.
CREATE FUNCTION is_tagged(tagged BINARY(16)) RETURNS BOOLEAN DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
RETURN IF(tagged IS NULL, NULL, tagged_id(tagged) IS NOT NULL) //

-- The tagged UUID of an id, which must be encrypted under the secret of this key number.
CREATE FUNCTION make_uuid(id DECIMAL(20), key_number INT) RETURNS BINARY(16) DETERMINISTIC READS SQL DATA SQL SECURITY DEFINER
BEGIN
    DECLARE block, tag BIGINT UNSIGNED;
    DECLARE problem VARCHAR(100);
    IF key_number IS NULL OR key_number NOT BETWEEN 1 AND 63 THEN
        SET problem = CONCAT('key number ', COALESCE(key_number, 'NULL'), ' is out of range: 1 to 63 are allowed');
        SIGNAL SQLSTATE '22003' SET MESSAGE_TEXT = problem;
    END IF;
    IF id IS NULL THEN
        RETURN NULL;
    END IF;
    SET block = bits(id);
    SET tag = tag_of(block, key_number);
    IF tag IS NULL THEN
        SET problem = CONCAT('no key of number ', key_number, ': set it with randflake sql key --tagged ', key_number);
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = problem;
    END IF;
    RETURN UNHEX(CONCAT(
        LPAD(HEX(block & 18446744073709486080 | 32768 | block >> 4 & 4095), 16, '0'),
        LPAD(HEX(1 << 63 | (block & 15) << 58 | key_number << 52 | tag), 16, '0')
    ));
END //
