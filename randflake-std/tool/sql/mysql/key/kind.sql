SELECT EXISTS (SELECT 1 FROM information_schema.routines WHERE routine_schema = '{schema}' AND routine_name = 'is_tagged')
