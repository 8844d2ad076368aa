
DELIMITER ;
SET SESSION sql_mode = @randflake_sql_mode;
