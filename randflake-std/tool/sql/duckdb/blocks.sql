
-- The cipher. A round of the left branch and one of the right are computed at once, in the lower and the upper 32 bits of
-- s, which has two words of each: x, and y in the 16 bits above. 281470681808895 is the x of both, 281474976776192 the bit
-- above each, from which a difference borrows. To multiply a word by 65537 writes it twice, so that a shift rotates it.

-- The words of the cipher are big-endian, the id is little-endian.
CREATE MACRO {schema}.swap_bytes(s) AS
    ((s & 71777214294589695::UBIGINT) << 8) | ((s >> 8) & 71777214294589695::UBIGINT);
-- What the linear layer makes of a branch, which is in the lower half.
CREATE MACRO {schema}.mix(s) AS
    ((((xor(s, s >> 16) & 65535::UBIGINT) * 65537::UBIGINT) >> 8) & 65535::UBIGINT) * 65537::UBIGINT;

CREATE MACRO {schema}.round_x(s) AS
    (((((s & 281470681808895::UBIGINT) * 65537::UBIGINT) >> 7) & 281470681808895::UBIGINT)
        + ((s >> 16) & 281470681808895::UBIGINT)) & 281470681808895::UBIGINT;
CREATE MACRO {schema}.round(s) AS
    {schema}.round_x(s)
    | (xor((((((s >> 16) & 281470681808895::UBIGINT) * 65537::UBIGINT) >> 14) & 281470681808895::UBIGINT),
        {schema}.round_x(s)) << 16);
CREATE MACRO {schema}.linear_layer(s) AS
    xor(xor(s >> 32, s & 4294967295::UBIGINT), {schema}.mix(s)) | ((s & 4294967295::UBIGINT) << 32);

CREATE MACRO {schema}.inverse_round_y(s) AS
    (((xor(s >> 16, s) & 281470681808895::UBIGINT) * 65537::UBIGINT) >> 2) & 281470681808895::UBIGINT;
CREATE MACRO {schema}.inverse_round(s) AS
    ((((((s & 281470681808895::UBIGINT) + 281474976776192::UBIGINT - {schema}.inverse_round_y(s))
        & 281470681808895::UBIGINT) * 65537::UBIGINT) >> 9) & 281470681808895::UBIGINT)
    | ({schema}.inverse_round_y(s) << 16);
CREATE MACRO {schema}.inverse_linear_layer(s) AS
    (s >> 32) | (xor(xor(s >> 32, s & 4294967295::UBIGINT), {schema}.mix(s >> 32)) << 32);

-- `list_transform` of one element names it, so that it is computed once. Each step begins with the linear layer: in
-- encryption the one that ends the step before, so the first undoes what is done here.
CREATE MACRO {schema}.encrypt_block(block, key) AS list_transform([block], lambda block: list_transform(
    [list_reduce(
        key.steps,
        lambda s, keys: list_reduce(keys, lambda s, key: {schema}.round(xor(s, key)), {schema}.linear_layer(s)),
        {schema}.inverse_linear_layer({schema}.swap_bytes(block)))],
    lambda s: {schema}.swap_bytes(xor({schema}.linear_layer(s), key.whitening)))[1])[1];
CREATE MACRO {schema}.decrypt_block(block, key) AS list_transform(
    [list_reduce(
        list_reverse(key.steps),
        lambda s, keys: list_reduce(
            list_reverse(keys), lambda s, key: xor({schema}.inverse_round(s), key), {schema}.inverse_linear_layer(s)),
        xor({schema}.swap_bytes(block), key.whitening))],
    lambda s: {schema}.swap_bytes(s))[1];
