
-- Ids of 53 bits: a Feistel network of 26 rounds over halves of 26 and 27 bits, whose round function is the low bits of one
-- block of the cipher. 5051378635315871744 is the four bytes of the use, above the round's number and the half. Bits above 53
-- stay as they are. 67108863 and 134217727 are the halves, 18446744073575333888 what is above the right one,
-- 18437736874589028351 what is beside the left one.
CREATE MACRO {schema}.round_output(number, half, key) AS
    {schema}.encrypt_block(5051378635315871744::UBIGINT | (number << 27) | half, key);
CREATE MACRO {schema}.with_left(s, l) AS
    (s & 18437736874589028351::UBIGINT) | ((l & 67108863::UBIGINT) << 27);
CREATE MACRO {schema}.with_right(s, r) AS
    (s & 18446744073575333888::UBIGINT) | (r & 134217727::UBIGINT);
CREATE MACRO {schema}.encrypt_number(number, key) AS list_transform([number], lambda number: list_reduce(
    [i::UBIGINT for i in range(26)],
    lambda s, i: CASE i % 2
        WHEN 0 THEN {schema}.with_left(s, ((s >> 27) & 67108863::UBIGINT)
            + ({schema}.round_output(i, s & 134217727::UBIGINT, key) & 67108863::UBIGINT))
        ELSE {schema}.with_right(s, (s & 134217727::UBIGINT)
            + ({schema}.round_output(i, (s >> 27) & 67108863::UBIGINT, key) & 134217727::UBIGINT))
    END,
    number))[1];
CREATE MACRO {schema}.decrypt_number(number, key) AS list_transform([number], lambda number: list_reduce(
    [(25 - i)::UBIGINT for i in range(26)],
    lambda s, i: CASE i % 2
        WHEN 0 THEN {schema}.with_left(s, ((s >> 27) & 67108863::UBIGINT) + 67108864::UBIGINT
            - ({schema}.round_output(i, s & 134217727::UBIGINT, key) & 67108863::UBIGINT))
        ELSE {schema}.with_right(s, (s & 134217727::UBIGINT) + 134217728::UBIGINT
            - ({schema}.round_output(i, (s >> 27) & 67108863::UBIGINT, key) & 134217727::UBIGINT))
    END,
    number))[1];
