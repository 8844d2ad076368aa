
-- Tagged UUIDs: version 8, and in its free bits an id of 64 bits, a key number of 6 and a tag of 52. The tag is the upper 52 bits
-- of the id's block. 4503599627370495 is 52 bits.
--
-- To check is one right and to make another, though both need the same key: the functions read it for their caller.

-- The id in a tagged UUID, encrypted under the secret of its key number. NULL unless a holder of the key made the UUID: of a
-- wrong tag, of a key number that is unknown or retired, of another version or variant, and of a UUID without a tag.
CREATE FUNCTION {schema}.tagged_id(tagged uuid) RETURNS bigint
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    digits CONSTANT pg_catalog.text := pg_catalog.encode(pg_catalog.uuid_send(tagged), 'hex');
    high CONSTANT bigint := ('x' {||} pg_catalog.left(digits, 16))::bit(64)::bigint;
    low CONSTANT bigint := ('x' {||} pg_catalog.right(digits, 16))::bit(64)::bigint;
    id CONSTANT bigint := (high {&} -65536) {|} ((high {&} 4095) {<<} 4) {|} (low {>>} 58 {&} 15);
    tag bigint;
BEGIN
    -- The version is 8, and the variant 0b10.
    IF (high {>>} 12 {&} 15) {<>} 8 OR (low {>>} 62 {&} 3) {<>} 2 THEN
        RETURN NULL;
    END IF;
    tag := {schema}.encrypt_block(id, {schema}.round_keys(low {>>} 52 {&} 63)) {>>} 12 {&} 4503599627370495;
    -- All 52 bits at once: the time tells nothing of how many are right. Without a key the tag is NULL, which equals nothing.
    IF tag {=} (low {&} 4503599627370495) THEN
        RETURN id;
    END IF;
    RETURN NULL;
END
$$;

-- Whether a holder of a key that is not retired made this UUID.
CREATE FUNCTION {schema}.is_tagged(tagged uuid) RETURNS boolean
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN {schema}.tagged_id(tagged) IS NOT NULL;
END
$$;

-- The tagged UUID of an id, which must be encrypted under the secret of this key number.
CREATE FUNCTION {schema}.make_uuid(id bigint, number integer) RETURNS uuid
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k bigint[];
    high CONSTANT bigint := (id {&} -65536) {|} 32768 {|} (id {>>} 4 {&} 4095);
    low bigint;
BEGIN
    IF number IS NULL OR number {<} 1 OR number {>} 63 THEN
        RAISE numeric_value_out_of_range USING
            MESSAGE = pg_catalog.format('key number %s is out of range: 1 to 63 are allowed', coalesce(number::pg_catalog.text, 'NULL'));
    END IF;
    k := {schema}.round_keys(number);
    IF k IS NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = pg_catalog.format('no key of number %s: the schema {schema} has those of %s', number,
                (SELECT pg_catalog.string_agg(c.number::pg_catalog.text, ', ') FROM {schema}.key_checks() c)),
            HINT = pg_catalog.format('Run: randflake sql key --tagged %s --namespace {namespace} --schema {schema} --database URL', number);
    END IF;
    low := (1::bigint {<<} 63) {|} ((id {&} 15) {<<} 58) {|} (number::bigint {<<} 52)
        {|} ({schema}.encrypt_block(id, k) {>>} 12 {&} 4503599627370495);
    -- NULL of NULL.
    RETURN (pg_catalog.lpad(pg_catalog.to_hex(high), 16, '0') {||} pg_catalog.lpad(pg_catalog.to_hex(low), 16, '0'))::pg_catalog.uuid;
END
$$;

REVOKE ALL ON FUNCTION {schema}.tagged_id(uuid), {schema}.is_tagged(uuid), {schema}.make_uuid(bigint, integer) FROM PUBLIC;
