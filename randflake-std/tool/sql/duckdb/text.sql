
-- Text and number.

-- The text of an id: 1 to 13 of 0-9 and a-v.
CREATE MACRO {schema}.id_to_text(id) AS CASE
    WHEN {schema}.problem(id) IS NOT NULL THEN error({schema}.problem(id))::VARCHAR
    WHEN id = 0 THEN '0'
    ELSE ltrim(lower(to_base(({schema}.bits(id) >> 60)::BIGINT, 32)
        || to_base(({schema}.bits(id) & 1152921504606846975)::BIGINT, 32, 12)), '0')
END;

-- The value of one of the 13 digits.
CREATE MACRO {schema}.digit(id, place) AS
    strpos('123456789abcdefghijklmnopqrstuv', substr(lpad(id, 13, '0'), place, 1))::UBIGINT;
-- The id of a text: each id has one text, so upper case, leading zeros and spaces are errors.
CREATE MACRO {schema}.id_from_text(id) AS CASE
    WHEN id IS NULL THEN NULL
    WHEN NOT regexp_full_match(id, '0|[1-9a-v][0-9a-v]{0,11}|[1-9a-f][0-9a-v]{12}')
        THEN error('''' || left(id, 40) || ''' is not the text of an id: ' || CASE
            WHEN id = '' THEN 'it is empty'
            WHEN regexp_matches(id, '[^0-9a-v]') THEN 'only 0-9 and a-v are allowed'
            WHEN length(id) > 13 THEN 'at most 13 characters are allowed'
            WHEN starts_with(id, '0') THEN 'it begins with a zero'
            ELSE 'it is a number of more than 64 bits'
        END)
    ELSE {schema}.signed_number(
        (({schema}.digit(id, 1) & 15) << 60)
        | ({schema}.digit(id, 2) << 55)
        | ({schema}.digit(id, 3) << 50)
        | ({schema}.digit(id, 4) << 45)
        | ({schema}.digit(id, 5) << 40)
        | ({schema}.digit(id, 6) << 35)
        | ({schema}.digit(id, 7) << 30)
        | ({schema}.digit(id, 8) << 25)
        | ({schema}.digit(id, 9) << 20)
        | ({schema}.digit(id, 10) << 15)
        | ({schema}.digit(id, 11) << 10)
        | ({schema}.digit(id, 12) << 5)
        | ({schema}.digit(id, 13)))
END;
