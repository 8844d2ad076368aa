{select_key} WHERE t.only_row = 1;
    IF k25 IS NULL THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the database {schema} has no key: set it with randflake sql key';
    END IF;
