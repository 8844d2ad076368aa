//! Functions and operators of other roles that fit a call better than those of PostgreSQL.

use core::fmt::Write as _;
use std::collections::BTreeSet;

use postgres::{Client, SimpleQueryMessage};

use super::{Database, refusal};
use crate::samples::secret;
use crate::user::KEY;

/// What a text calls, by names without their schema.
#[derive(Debug, Default)]
struct Calls {
    functions: BTreeSet<String>,
    operators: BTreeSet<String>,
    /// What has no schema, each with the line that it is in.
    unqualified: Vec<String>,
}

/// Words before a parenthesis that call no function, or one of the grammar's own, which has no name
/// to be taken.
const GRAMMAR: &str = "and any as bit check coalesce else exists extract from greatest if in key least not on or return rows select table then to unique values when where";
/// Words that stand for an operator, which is looked for in the `search_path`.
const OPERATOR_WORDS: &[&str] = &["between", "ilike", "like", "nullif", "similar"];
/// Types with names in `pg_catalog` only; the grammar itself has `bigint`, `boolean`, `integer`,
/// `interval` and others.
const TYPES: &str =
    "bytea regclass regnamespace regproc regprocedure regrole text timestamptz uuid";
/// Words before a `=` that compares nothing.
const SETTINGS: &[&str] = &["detail", "hint", "message", "search_path"];

#[derive(Debug, PartialEq)]
enum Token<'a> {
    /// A name, with its schema if it has one.
    Word(&'a str),
    Operator(&'a str),
    Literal,
    Other(char),
}

/// Looks for calls in the functions that a text makes, and in its own statements.
fn calls(text: &str) -> Calls {
    let mut calls = Calls::default();
    // Types in what is stored as text are looked for when it is run, others when they are defined.
    let mut is_body = false;
    for (line, tokens) in tokens_of_statements(text) {
        for (at, token) in tokens.iter().enumerate() {
            let before = at.checked_sub(1).map(|at| &tokens[at]);
            let after = tokens.get(at + 1);
            let mut unqualified = |what: &str| calls.unqualified.push(format!("{what}: {line}"));
            match token {
                Token::Word(word) => {
                    let lower = word.to_ascii_lowercase();
                    let (schema, name) = word.rsplit_once('.').unwrap_or(("", word));
                    let is_call = after == Some(&Token::Other('('))
                        && !matches!(before, Some(Token::Word(word)) if word.eq_ignore_ascii_case("as"));
                    if is_call
                        && !GRAMMAR.split(' ').any(|word| word == lower)
                        && name != "OPERATOR"
                    {
                        if schema == "pg_catalog" {
                            calls.functions.insert(name.to_owned());
                        } else if schema.is_empty() {
                            calls.functions.insert(name.to_owned());
                            unqualified(name);
                        }
                    }
                    let is_distinct_from =
                        lower == "distinct" && after == Some(&Token::Word("FROM"));
                    let is_case_of =
                        lower == "case" && after.is_some_and(|after| *after != Token::Word("WHEN"));
                    let is_list = lower == "in" && after == Some(&Token::Other('('));
                    let is_type = is_body && TYPES.split(' ').any(|name| name == lower);
                    if OPERATOR_WORDS.contains(&&*lower)
                        || is_distinct_from
                        || is_case_of
                        || is_list
                        || is_type
                    {
                        unqualified(word);
                    }
                }
                Token::Operator(operator) => {
                    let is_qualified = matches!(before, Some(Token::Word("pg_catalog.")));
                    let is_setting = *operator == "="
                        && matches!(before, Some(Token::Word(word)) if SETTINGS.contains(&&*word.to_ascii_lowercase()));
                    let is_all = *operator == "*" && before == Some(&Token::Other('('));
                    if is_setting || is_all || [":=", "::"].contains(operator) {
                        continue;
                    }
                    calls.operators.insert((*operator).to_owned());
                    if !is_qualified {
                        unqualified(operator);
                    }
                }
                Token::Literal | Token::Other(_) => {}
            }
        }
        is_body ^= line.contains("$$");
    }
    calls
}

/// Lines and their tokens.
// No call, operator or literal of the printed texts is broken over two lines.
fn tokens_of_statements(text: &str) -> impl Iterator<Item = (&str, Vec<Token<'_>>)> {
    let lines = text.lines().map(str::trim);
    let code = lines.filter(|line| !line.starts_with("--"));
    code.map(|line| (line, tokens(line)))
}

fn tokens(line: &str) -> Vec<Token<'_>> {
    const OPERATOR: &str = "+-*/<>=~!@#%^&|`?:";
    let mut tokens = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_in_name = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
        let length =
            |is_part: &dyn Fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let begins_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let (token, length) = if rest.starts_with("--") {
            break;
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = length(&is_in_name);
            (Some(Token::Word(&rest[..length])), length)
        } else if first == '\'' {
            (Some(Token::Literal), quoted(rest))
        } else if first.is_ascii_digit() {
            (Some(Token::Literal), length(&is_in_name))
        } else if first == '-' && begins_number(&rest[1..]) {
            (
                Some(Token::Literal),
                1 + rest[1..].find(|c| !is_in_name(c)).unwrap_or(rest.len() - 1),
            )
        } else if OPERATOR.contains(first) {
            let length = length(&|c| OPERATOR.contains(c));
            (Some(Token::Operator(&rest[..length])), length)
        } else if first.is_whitespace() {
            (None, first.len_utf8())
        } else {
            (Some(Token::Other(first)), first.len_utf8())
        };
        tokens.extend(token);
        rest = &rest[length..];
    }
    tokens
}

/// Length of a literal in quotes; a quote within it is doubled.
fn quoted(text: &str) -> usize {
    let mut end = 1;
    while let Some(quote) = text[end..].find('\'') {
        end += quote + 1;
        if !text[end..].starts_with('\'') {
            return end;
        }
        end += 1;
    }
    text.len()
}

#[test]
fn what_has_no_schema_is_found() {
    let found = |text: &str| calls(text).unqualified.len();
    for text in [
        "SELECT format('%s (1)', a)",
        "x := a & 1;",
        "IF a NOT BETWEEN 1 AND 2 THEN",
        "IF a IN (1, 2) THEN",
        "IF a IS DISTINCT FROM b THEN",
        "AS $$\nSELECT a::text\n$$;",
        "DO $$\ndigits text;\n$$;",
        "SELECT CASE a WHEN 1 THEN 2 END",
        "CREATE TABLE s.t (number integer CHECK (number > 1))",
    ] {
        assert_eq!(found(text), 1, "{text}");
    }
    for text in [
        "-- a & b, format(x)",
        "SELECT pg_catalog.format('it''s a & b', a) OPERATOR(pg_catalog.&) -1, s.decrypt(2)",
        "MESSAGE = 'a' OPERATOR(pg_catalog.||) a, x := a::bigint;",
        "FROM (VALUES (1)) AS part (begins, ends) WHERE a IS NULL AND pg_catalog.count(*) IS NULL",
    ] {
        assert_eq!(found(text), 0, "{text}");
    }
}

/// A schema for each kind of text that the tool prints, and its arguments.
const KINDS: [(&str, &[&str]); 5] = [
    ("ids", &["--layout", "randflake"]),
    ("ids53", &["--layout", "randflake53"]),
    // With ticks of milliseconds, whose times are computed in another way.
    ("plain", &["--layout", "snowflake"]),
    ("counter", &["--counter"]),
    ("tags", &["--tagged"]),
];

fn printed(database: &Database, (schema, arguments): (&str, &[&str])) -> String {
    database.printed(&[&["--namespace", schema, "--schema", schema], arguments].concat())
}

#[test]
fn every_name_in_printed_sql_has_its_schema() {
    // No server: only the tool is run.
    let user = crate::user::User::new();
    for (schema, arguments) in KINDS {
        let names = ["sql", "postgres", "--namespace", schema, "--schema", schema];
        let text = user.run(&[&names[..], arguments].concat()).ok();
        let Calls {
            functions,
            operators,
            unqualified,
        } = calls(&text);
        assert_eq!(unqualified, [""; 0], "{schema}");
        assert!(
            functions.len() > 3 && operators.len() > 3,
            "{functions:?} {operators:?}"
        );
        // Types of columns and arguments have none, so their schema is said once, before the first
        // of them.
        assert!(text.starts_with("BEGIN;\nSET LOCAL search_path = pg_catalog, pg_temp;\n"));
    }
    let partitions =
        "sql partitions --layout randflake --table orders --from 2026-01-01 --to 2027-01-01";
    let partitions = user.run(&partitions.split(' ').collect::<Vec<_>>()).ok();
    assert!(partitions.contains("FOR VALUES FROM (639530938295910400)"));
    let Calls {
        functions,
        operators,
        ..
    } = calls(&partitions);
    assert!(
        functions.is_empty() && operators.is_empty(),
        "{functions:?} {operators:?}"
    );
}

/// Each statement, with what it answers.
fn answers(client: &mut Client, statements: &[String]) -> Vec<(String, String)> {
    client.batch_execute("SET TimeZone = 'UTC'").unwrap();
    let answer = |statement: &String| {
        let answer = match client.simple_query(statement) {
            Ok(messages) => messages
                .iter()
                .filter_map(cells)
                .collect::<Vec<_>>()
                .join("\n"),
            Err(error) => error
                .as_db_error()
                .unwrap_or_else(|| panic!("{error}"))
                .message()
                .to_owned(),
        };
        (statement.clone(), answer)
    };
    statements.iter().map(answer).collect()
}

fn cells(message: &SimpleQueryMessage) -> Option<String> {
    let SimpleQueryMessage::Row(row) = message else {
        return None;
    };
    let cells = (0..row.len()).map(|column| row.get(column).unwrap_or("NULL"));
    Some(cells.collect::<Vec<_>>().join("|"))
}

/// Calls of every function of the schemas, also such that fail.
fn statements(client: &mut Client) -> Vec<String> {
    const FUNCTIONS: &str = "SELECT pronamespace::regnamespace::text, proname::text, pg_get_function_identity_arguments(oid)
        FROM pg_proc WHERE pronamespace::regnamespace::text = ANY ($1) ORDER BY 1, 2";
    let schemas = KINDS.map(|(schema, _)| schema);
    let functions = client.query(FUNCTIONS, &[&&schemas[..]]).unwrap();
    let mut all = Vec::new();
    for function in functions {
        let [schema, name, arguments] = [0, 1, 2].map(|column| function.get::<_, String>(column));
        if schema == "counter" && name == "next_id" {
            // So that its answer is always the same; as a function of the grammar it cannot be
            // taken.
            all.push("ALTER SEQUENCE counter.number RESTART".to_owned());
        }
        // Of each argument values that are answered and such that are refused.
        for sample in 0..3 {
            let values: Vec<_> = arguments
                .split(", ")
                .filter(|argument| !argument.is_empty() && !argument.starts_with("OUT "))
                .map(|argument| value(&schema, argument, sample))
                .collect();
            all.push(format!(
                "SELECT * FROM {schema}.{name}({})",
                values.join(", ")
            ));
        }
    }
    all
}

fn value(schema: &str, argument: &str, sample: usize) -> &'static str {
    match (
        argument.rsplit_once(' ').map_or("", |(name, _)| name),
        argument,
    ) {
        // Round keys; what they are does not matter here.
        ("k", _) => {
            "ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, \
            29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50]"
        }
        ("name", _) => ["'counter'", "'other'", "NULL"][sample],
        ("node" | "sequence" | "number" | "of_number", _) => ["1", "-1", "NULL"][sample],
        ("to_time", _) => ["'2027-01-01Z'", "'2020-01-01Z'", "NULL"][sample],
        ("id", "id text") => ["'3vgoe12ccb8gh'", "'3VGOE'", "'0'"][sample],
        (_, argument) if argument.ends_with("time zone") => {
            ["'2026-01-01Z'", "'2000-01-01Z'", "'infinity'"][sample]
        }
        (_, argument) if argument.ends_with("[]") => {
            ["ARRAY[4594531474933654]", "ARRAY[1, NULL]", "NULL"][sample]
        }
        (_, argument) if argument.ends_with("uuid") => [
            "'3fc30e08-98c5-8a21-8413-40841db3c29f'",
            "'3fc30e08-98c5-8a21-8413-40841db3c290'",
            "NULL",
        ][sample],
        _ if schema == "ids53" => ["4594531474933654", "-1", "9007199254740992"][sample],
        _ => ["4594531474933654033", "1", "-1"][sample],
    }
}

/// The statements that make every function and operator of these names for other types, in the
/// schemas of the `search_path`. Each says who runs it.
fn overloads(
    client: &mut Client,
    Calls {
        functions,
        operators,
        ..
    }: &Calls,
    schema: &str,
) -> String {
    // Of an operator, both sides; of a function up to three arguments, as those of PostgreSQL have.
    const TYPES: &str = "bigint,integer,smallint,numeric,double precision,text,boolean,timestamptz,timestamp,interval,bit,uuid,bytea,bigint[],name,\"char\",oid,regprocedure";
    const OPERATORS: &str = "
        SELECT string_agg(format('CREATE OPERATOR %I.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %I.%I);',
            $1::text, operator, a, b, $1::text, CASE WHEN operator = ANY ('{<,>,<=,>=,=,<>,~,!~}') THEN 'compares' ELSE 'computes' END), ' ')
        FROM unnest($2::text[]) operator, unnest($3::text[]) a, unnest($3::text[]) b";
    const FUNCTIONS: &str = "
        WITH known AS (
            SELECT proname, max(pronargs) AS most, bool_or(provariadic <> 0) AS is_variadic,
                bool_or(prokind = 'a') AS is_aggregate, bool_or(proretset) AS is_set,
                mode() WITHIN GROUP (ORDER BY CASE WHEN t.typtype = 'p' THEN 'bigint[]' ELSE format_type(t.oid, NULL) END) AS returns
            FROM pg_proc JOIN pg_type t ON t.oid = prorettype
            WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY ($2::text[]) GROUP BY proname
        ), arguments (list, count) AS (
            SELECT a, 1 FROM unnest($3::text[]) a
            UNION ALL SELECT concat_ws(', ', a, b), 2 FROM unnest($3::text[]) a, unnest($3::text[]) b
            UNION ALL SELECT concat_ws(', ', a, b, c), 3
                FROM unnest('{text,name}'::text[]) a, unnest($3::text[]) b, unnest('{text,integer,bigint}'::text[]) c
        )
        SELECT string_agg(format('CREATE FUNCTION %I.%I(%s) RETURNS %s LANGUAGE plpgsql AS
            $f$ BEGIN RAISE ''taken by %%: %%'', current_user, %L; END $f$;',
            $1::text, proname, list, CASE WHEN is_set THEN 'SETOF bigint' ELSE returns END, concat(proname, '(', list, ')')), ' ')
        FROM known JOIN arguments ON count <= most OR is_variadic WHERE NOT is_aggregate";
    let types: Vec<_> = TYPES.split(',').collect();
    let mut text = "SET check_function_bodies = off; SET client_min_messages = error;".to_owned();
    for (name, returns) in [("compares", "boolean"), ("computes", "bigint")] {
        for left in &types {
            for right in &types {
                write!(
                    text,
                    "CREATE FUNCTION {schema}.{name}({left}, {right}) RETURNS {returns} LANGUAGE plpgsql AS
                     $f$ BEGIN RAISE 'taken by %: % of ({left}, {right})', current_user, '{name}'; END $f$;"
                )
                .unwrap();
            }
        }
    }
    for (question, names) in [(OPERATORS, operators), (FUNCTIONS, functions)] {
        let names: Vec<_> = names.iter().collect();
        text += client
            .query_one(question, &[&schema, &names, &types])
            .unwrap()
            .get::<_, &str>(0);
    }
    text
}

/// A user who may create something in a schema that others search plants all that a call could
/// match, and nothing of it is run: neither as the owner of the functions nor as a superuser,
/// whether the schema is searched after `pg_catalog`, as it is by default, or before.
#[test]
fn no_function_of_another_role_is_run() {
    let database = Database::start();
    database
        .client()
        .batch_execute(
            "CREATE ROLE owner LOGIN; CREATE ROLE maker LOGIN; GRANT CREATE ON DATABASE postgres TO owner, maker;
             GRANT CREATE ON SCHEMA public TO maker",
        )
        .unwrap();
    let mut owner = database.client_of("owner");
    let mut all = Calls::default();
    for kind in KINDS {
        let text = printed(&database, kind);
        owner.batch_execute(&text).unwrap();
        let calls = calls(&text);
        all.functions.extend(calls.functions);
        all.operators.extend(calls.operators);
    }
    for (schema, secret) in [
        ("ids", KEY),
        ("ids53", &secret(2).to_hex()),
        ("counter", &secret(3).to_hex()),
    ] {
        let arguments = ["--namespace", schema, "--schema", schema];
        database.bring_key_of("owner", secret, &arguments).ok();
    }
    let arguments = ["--namespace", "tags", "--schema", "tags", "--tagged", "1"];
    database
        .bring_key_of("owner", &secret(1).to_hex(), &arguments)
        .ok();

    let mut client = database.client();
    let statements = statements(&mut client);
    assert!(statements.len() > 150, "{}", statements.len());
    let expected = answers(&mut database.client(), &statements);
    let mut maker = database.client_of("maker");
    // "$user" is searched first.
    for schema in ["postgres", "owner"] {
        let text = format!("CREATE SCHEMA {schema}; GRANT USAGE ON SCHEMA {schema} TO PUBLIC");
        maker.batch_execute(&text).unwrap();
    }
    // All texts before the first of them is run: after that, queries here run what is planted.
    let texts = ["public", "postgres", "owner"].map(|schema| overloads(&mut client, &all, schema));
    for text in texts {
        maker.batch_execute(&text).unwrap();
    }
    for role in ["owner", "postgres"] {
        for path in ["\"$user\", public", "\"$user\", public, pg_catalog"] {
            let mut caller = database.client_of(role);
            caller
                .batch_execute(&format!("SET search_path = {path}"))
                .unwrap();
            // They would be run where they are called.
            let taken = refusal(&mut caller, "SELECT to_timestamp(1::bigint)");
            assert_eq!(taken, format!("taken by {role}: to_timestamp(bigint)"));
            let taken = refusal(&mut caller, "SELECT 1::bigint & 1");
            assert_eq!(
                taken,
                format!("taken by {role}: computes of (bigint, integer)")
            );
            let found = answers(&mut caller, &statements);
            let others: Vec<_> = found
                .iter()
                .zip(&expected)
                .filter(|(found, expected)| found != expected)
                .collect();
            assert!(
                others.is_empty(),
                "{} of {} calls by {role}, {path}: {others:#?}",
                others.len(),
                found.len()
            );
        }
    }
}
