
-- Fields of ids.
CREATE MACRO {schema}.id_time(id) AS CASE
    WHEN {schema}.problem_or_no_key(id) IS NOT NULL THEN error({schema}.problem_or_no_key(id))::TIMESTAMP
    ELSE {schema}.time_of({schema}.{decrypting}({schema}.bits(id), {schema}.session_key()))
END;
CREATE MACRO {schema}.id_node(id) AS CASE
    WHEN {schema}.problem_or_no_key(id) IS NOT NULL THEN error({schema}.problem_or_no_key(id))::BIGINT
    ELSE {schema}.node_of({schema}.{decrypting}({schema}.bits(id), {schema}.session_key()))
END;
CREATE MACRO {schema}.id_sequence(id) AS CASE
    WHEN {schema}.problem_or_no_key(id) IS NOT NULL THEN error({schema}.problem_or_no_key(id))::BIGINT
    ELSE {schema}.sequence_of({schema}.{decrypting}({schema}.bits(id), {schema}.session_key()))
END;
CREATE MACRO {schema}.compose(at_time, node, sequence) AS CASE
    WHEN {schema}.problem_or_no_key(NULL) IS NOT NULL THEN error({schema}.problem_or_no_key(NULL))::BIGINT
    ELSE {schema}.signed_number(
        {schema}.{encrypting}({schema}.bits_of(at_time, node, sequence), {schema}.session_key()))
END;
