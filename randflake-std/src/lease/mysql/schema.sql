-- The tables of a database, version 1. Times are in the namespace's ticks. Node ids have records from their first
-- lease on, and keep them.
CREATE TABLE IF NOT EXISTS randflake_namespace (
    name VARBINARY(64) NOT NULL PRIMARY KEY,
    terms VARBINARY(255) NOT NULL,
    origin BIGINT UNSIGNED NOT NULL,
    writes BIGINT UNSIGNED NOT NULL,
    quarantine BIGINT UNSIGNED NOT NULL,
    fingerprint VARBINARY(255) NOT NULL
) ENGINE = InnoDB
;
CREATE TABLE IF NOT EXISTS randflake_lease (
    namespace VARBINARY(64) NOT NULL,
    node_id INT UNSIGNED NOT NULL,
    start_tick BIGINT UNSIGNED NOT NULL,
    end_tick BIGINT UNSIGNED NOT NULL,
    fencing_token BIGINT UNSIGNED NOT NULL,
    serial BIGINT UNSIGNED NOT NULL,
    token BINARY(16) NOT NULL,
    nonce BIGINT UNSIGNED NOT NULL,
    held BOOLEAN NOT NULL,
    contested BOOLEAN NOT NULL,
    holder VARBINARY(1024) NOT NULL,
    PRIMARY KEY (namespace, node_id)
) ENGINE = InnoDB
;
-- A hint: none of these 256 node ids is free before then. Who releases one sets it back.
CREATE TABLE IF NOT EXISTS randflake_page (
    namespace VARBINARY(64) NOT NULL,
    page INT UNSIGNED NOT NULL,
    free_from BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (namespace, page)
) ENGINE = InnoDB
;
CREATE TABLE IF NOT EXISTS randflake_counter (
    name VARBINARY(64) NOT NULL PRIMARY KEY,
    next_number BIGINT UNSIGNED NOT NULL,
    vouched VARBINARY(255) NOT NULL
) ENGINE = InnoDB
;
-- One row: a random number, and what the server was known by when it was made. Whoever finds it finds all tables.
CREATE TABLE IF NOT EXISTS randflake_store (
    only_row INT NOT NULL PRIMARY KEY,
    version INT UNSIGNED NOT NULL,
    id BIGINT UNSIGNED NOT NULL,
    fingerprint VARBINARY(255) NOT NULL
) ENGINE = InnoDB
;
