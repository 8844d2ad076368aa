
-- Ids of 53 bits: a Feistel network of 26 rounds over halves of 26 and 27 bits, whose round function is the low bits of one
-- block of the cipher. 5051378635315871744 is the four bytes of the use, above the round's number and the half.

CREATE FUNCTION {schema}.check_number(number bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF number {<} 0 OR number {>} 9007199254740991 THEN
        RAISE numeric_value_out_of_range USING
            MESSAGE = 'id ' {||} number {||} ' is out of range: 0 to 9007199254740991, 53 bits, are allowed';
    END IF;
    RETURN number;
END
$$;

CREATE FUNCTION {schema}.encrypt_number(raw bigint, k bigint[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    l bigint := {schema}.check_number(raw) {>>} 27;
    r bigint := raw {&} 134217727;
BEGIN
    FOR i IN 0 .. 24 BY 2 LOOP
        l := (l {+} ({schema}.encrypt_block(5051378635315871744 {|} (i::bigint {<<} 27) {|} r, k) {&} 67108863)) {&} 67108863;
        r := (r {+} ({schema}.encrypt_block(5051378635315871744 {|} (i {+} 1::bigint {<<} 27) {|} l, k) {&} 134217727)) {&} 134217727;
    END LOOP;
    RETURN (l {<<} 27) {|} r;
END
$$;

CREATE FUNCTION {schema}.decrypt_number(id bigint, k bigint[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    l bigint := {schema}.check_number(id) {>>} 27;
    r bigint := id {&} 134217727;
BEGIN
    FOR i IN REVERSE 24 .. 0 BY 2 LOOP
        r := (r {-} ({schema}.encrypt_block(5051378635315871744 {|} (i {+} 1::bigint {<<} 27) {|} l, k) {&} 134217727)) {&} 134217727;
        l := (l {-} ({schema}.encrypt_block(5051378635315871744 {|} (i::bigint {<<} 27) {|} r, k) {&} 67108863)) {&} 67108863;
    END LOOP;
    RETURN (l {<<} 27) {|} r;
END
$$;

REVOKE ALL ON FUNCTION {schema}.encrypt_number(bigint, bigint[]), {schema}.decrypt_number(bigint, bigint[]) FROM PUBLIC;
