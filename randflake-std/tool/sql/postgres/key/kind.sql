SELECT EXISTS (SELECT FROM pg_proc WHERE pronamespace = '{schema}'::regnamespace AND proname = 'is_tagged')
