
-- Fields of ids. They are not encrypted, so an id is its raw id.
CREATE MACRO {schema}.id_time(id) AS {schema}.raw_time(id);
CREATE MACRO {schema}.id_node(id) AS {schema}.raw_node(id);
CREATE MACRO {schema}.id_sequence(id) AS {schema}.raw_sequence(id);
CREATE MACRO {schema}.compose(at_time, node, sequence) AS {schema}.compose_raw(at_time, node, sequence);
