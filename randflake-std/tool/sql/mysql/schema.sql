-- Randflake ids of the namespace {namespace}, for MySQL and MariaDB, in a database of their own.
-- Run this file once, with the client: mysql < FILE. To replace it, drop the database {schema} first, with its key.

CREATE DATABASE IF NOT EXISTS `{schema}`;
USE `{schema}`;
-- A function keeps the modes it was made under. Without a strict one, wrong arguments are cut to some id.
SET @randflake_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO';
DELIMITER //

-- What the functions were made for. It comes first: the file stops here where it was run before, with whatever layout.
CREATE FUNCTION layout() RETURNS VARCHAR(255) DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN '{layout}' //

CREATE FUNCTION namespace() RETURNS VARCHAR(64) DETERMINISTIC NO SQL SQL SECURITY INVOKER
RETURN '{namespace}' //
