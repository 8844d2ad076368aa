SELECT `{schema}`.namespace(), t.number, t.check_value
FROM (SELECT 1) AS this LEFT JOIN `{schema}`.`key` AS t ON TRUE
