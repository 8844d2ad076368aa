SELECT `{schema}`.namespace(), (SELECT check_value FROM `{schema}`.`key`),
    EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = '{schema}' AND routine_name = 'network')
