
CREATE FUNCTION {schema}.decrypt_block(block bigint, k bigint[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    words CONSTANT bigint := (block >> 8 & 71777214294589695) | ((block & 71777214294589695) << 8);
    x bigint := words & 281470681808895 # k[49];
    y bigint := words >> 16 & 281470681808895 # k[50];
    t bigint;
BEGIN
    FOR i IN REVERSE 43 .. 1 BY 6 LOOP
        t := (x # y) >> 32;
        t := (t << 8 | (t >> 8)) & 65535;
        x := (x >> 32) | ((x & 65535 # t # (x >> 32)) << 32);
        y := (y >> 32) | ((y & 65535 # t # (y >> 32)) << 32);
        y := ((y # x) << 14 | ((y # x) >> 2)) & 281470681808895;
        x := (x | 281474976776192) - y & 281470681808895;
        x := (x << 7 | (x >> 9)) & 281470681808895 # k[i + 4];
        y := y # k[i + 5];
        y := ((y # x) << 14 | ((y # x) >> 2)) & 281470681808895;
        x := (x | 281474976776192) - y & 281470681808895;
        x := (x << 7 | (x >> 9)) & 281470681808895 # k[i + 2];
        y := y # k[i + 3];
        y := ((y # x) << 14 | ((y # x) >> 2)) & 281470681808895;
        x := (x | 281474976776192) - y & 281470681808895;
        x := (x << 7 | (x >> 9)) & 281470681808895 # k[i];
        y := y # k[i + 1];
    END LOOP;
    x := x | (y << 16);
    RETURN (x >> 8 & 71777214294589695) | ((x & 71777214294589695) << 8);
END
$$;

REVOKE ALL ON FUNCTION {schema}.decrypt_block(bigint, bigint[]) FROM PUBLIC;
