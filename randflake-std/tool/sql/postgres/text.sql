
-- Text and number. They need neither key nor right, only USAGE of the schema.

-- The text of an id: 1 to 13 of 0-9 and a-v.
CREATE FUNCTION {schema}.id_to_text(id bigint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    -- Trimmed but for the last digit: 0 is '0'.
    SELECT pg_catalog.ltrim(
            pg_catalog.substr(d, 1 {+} (id {>>} 60 {&} 15)::integer, 1)
            {||} pg_catalog.substr(d, 1 {+} (id {>>} 55 {&} 31)::integer, 1) {||} pg_catalog.substr(d, 1 {+} (id {>>} 50 {&} 31)::integer, 1)
            {||} pg_catalog.substr(d, 1 {+} (id {>>} 45 {&} 31)::integer, 1) {||} pg_catalog.substr(d, 1 {+} (id {>>} 40 {&} 31)::integer, 1)
            {||} pg_catalog.substr(d, 1 {+} (id {>>} 35 {&} 31)::integer, 1) {||} pg_catalog.substr(d, 1 {+} (id {>>} 30 {&} 31)::integer, 1)
            {||} pg_catalog.substr(d, 1 {+} (id {>>} 25 {&} 31)::integer, 1) {||} pg_catalog.substr(d, 1 {+} (id {>>} 20 {&} 31)::integer, 1)
            {||} pg_catalog.substr(d, 1 {+} (id {>>} 15 {&} 31)::integer, 1) {||} pg_catalog.substr(d, 1 {+} (id {>>} 10 {&} 31)::integer, 1)
            {||} pg_catalog.substr(d, 1 {+} (id {>>} 5 {&} 31)::integer, 1), '0')
        {||} pg_catalog.substr(d, 1 {+} (id {&} 31)::integer, 1)
    FROM (VALUES ('0123456789abcdefghijklmnopqrstuv')) AS digits (d)
$$;

-- The id of a text: each id has one text, so upper case, leading zeros and spaces are errors.
CREATE FUNCTION {schema}.id_from_text(id text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    number bigint := 0;
BEGIN
    IF id {!~} '^(0|[1-9a-v][0-9a-v]{0,11}|[1-9a-f][0-9a-v]{12})$' COLLATE pg_catalog."C" THEN
        RAISE invalid_text_representation USING
            MESSAGE = pg_catalog.format('%L is not the text of an id', pg_catalog.left(id, 40)),
            DETAIL = CASE
                WHEN id {=} '' THEN 'It is empty.'
                WHEN id {~} '[^0-9a-v]' COLLATE pg_catalog."C" THEN 'Only the characters 0-9 and a-v are allowed.'
                WHEN pg_catalog.length(id) {>} 13 THEN pg_catalog.format('It has %s characters; at most 13 are allowed.', pg_catalog.length(id))
                WHEN pg_catalog.left(id, 1) {=} '0' THEN 'It begins with a zero.'
                ELSE 'It is a number of more than 64 bits.'
            END;
    END IF;
    FOR place IN 1 .. pg_catalog.length(id) LOOP
        number := number {<<} 5 {|} pg_catalog.strpos('123456789abcdefghijklmnopqrstuv', pg_catalog.substr(id, place, 1));
    END LOOP;
    RETURN number;
END
$$;
