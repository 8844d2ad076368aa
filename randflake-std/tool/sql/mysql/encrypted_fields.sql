
-- Fields of ids: whoever calls these needs the right to decrypt, or to encrypt.

CREATE FUNCTION id_time(id DECIMAL(20)) RETURNS DATETIME(3) DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
RETURN raw_time(`{schema}`.decrypt(id)) //

CREATE FUNCTION id_node(id DECIMAL(20)) RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
RETURN raw_node(`{schema}`.decrypt(id)) //

CREATE FUNCTION id_sequence(id DECIMAL(20)) RETURNS BIGINT DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
RETURN raw_sequence(`{schema}`.decrypt(id)) //

CREATE FUNCTION compose(at DATETIME(6), node BIGINT, sequence BIGINT) RETURNS BIGINT
DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER
RETURN `{schema}`.encrypt(compose_raw(at, node, sequence)) //
