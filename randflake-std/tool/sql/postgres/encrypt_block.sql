
-- The cipher. A round of the left branch and one of the right are computed at once, in the lower and the upper 32 bits of two
-- numbers: x has the first word of each branch, y the second. 281470681808895 is 16 bits of each half, 71777214294589695 the
-- lower byte of each 16 bits, 281474976776192 the bit above each word, from which a difference borrows.

CREATE FUNCTION {schema}.encrypt_block(block bigint, k bigint[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    -- The words of the cipher are big-endian, the block is little-endian.
    words CONSTANT bigint := (block {>>} 8 {&} 71777214294589695) {|} ((block {&} 71777214294589695) {<<} 8);
    x bigint := words {&} 281470681808895;
    y bigint := words {>>} 16 {&} 281470681808895;
    t bigint;
BEGIN
    FOR i IN 1 .. 48 BY 6 LOOP
        x := (((x {#} k[i]) {<<} 9 {|} ((x {#} k[i]) {>>} 7)) {&} 281470681808895) {+} (y {#} k[i {+} 1]) {&} 281470681808895;
        y := ((y {#} k[i {+} 1]) {<<} 2 {|} ((y {#} k[i {+} 1]) {>>} 14)) {&} 281470681808895 {#} x;
        x := (((x {#} k[i {+} 2]) {<<} 9 {|} ((x {#} k[i {+} 2]) {>>} 7)) {&} 281470681808895) {+} (y {#} k[i {+} 3]) {&} 281470681808895;
        y := ((y {#} k[i {+} 3]) {<<} 2 {|} ((y {#} k[i {+} 3]) {>>} 14)) {&} 281470681808895 {#} x;
        x := (((x {#} k[i {+} 4]) {<<} 9 {|} ((x {#} k[i {+} 4]) {>>} 7)) {&} 281470681808895) {+} (y {#} k[i {+} 5]) {&} 281470681808895;
        y := ((y {#} k[i {+} 5]) {<<} 2 {|} ((y {#} k[i {+} 5]) {>>} 14)) {&} 281470681808895 {#} x;
        t := (x {#} y) {&} 65535;
        t := (t {<<} 8 {|} (t {>>} 8)) {&} 65535;
        x := x {&} 65535 {#} t {#} (x {>>} 32) {|} ((x {&} 65535) {<<} 32);
        y := y {&} 65535 {#} t {#} (y {>>} 32) {|} ((y {&} 65535) {<<} 32);
    END LOOP;
    x := (x {#} k[49]) {|} ((y {#} k[50]) {<<} 16);
    RETURN (x {>>} 8 {&} 71777214294589695) {|} ((x {&} 71777214294589695) {<<} 8);
END
$$;

REVOKE ALL ON FUNCTION {schema}.encrypt_block(bigint, bigint[]) FROM PUBLIC;
