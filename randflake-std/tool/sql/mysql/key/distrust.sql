SELECT CASE
    WHEN EXISTS (SELECT 1 FROM information_schema.routines
        WHERE routine_schema = '{schema}' AND routine_name = 'layout')
        AND NOT EXISTS (SELECT 1 FROM information_schema.routines
        WHERE routine_schema = '{schema}' AND routine_name IN ('decrypt', 'is_tagged'))
        THEN 'the functions of {schema} need no key: ids of their layout are not encrypted'
    WHEN NOT EXISTS (SELECT 1 FROM information_schema.tables
        WHERE table_schema = '{schema}' AND table_name = 'key')
        THEN 'there is no table `{schema}`.`key`, or this user may not see it: run the output of randflake sql mysql first'
    WHEN NOT EXISTS (SELECT 1 FROM information_schema.tables
        WHERE table_schema = '{schema}' AND table_name = 'key' AND table_type = 'BASE TABLE' AND engine = 'InnoDB')
        THEN '`{schema}`.`key` is not a table of InnoDB, as randflake sql mysql makes it'
    WHEN EXISTS (SELECT 1 FROM information_schema.triggers
        WHERE event_object_schema = '{schema}' AND event_object_table = 'key')
        THEN '`{schema}`.`key` has a trigger, which would get the key'
    WHEN EXISTS (SELECT 1 FROM information_schema.routines
        WHERE routine_schema = '{schema}' AND definer <> CURRENT_USER())
        THEN (SELECT CONCAT('the functions of {schema} were made by ', MIN(definer), ', and this user is ', CURRENT_USER(),
            ': connect as the user who ran the output of randflake sql mysql') FROM information_schema.routines
            WHERE routine_schema = '{schema}' AND definer <> CURRENT_USER())
END
