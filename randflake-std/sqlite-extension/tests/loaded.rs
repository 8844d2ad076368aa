//! The extension in Debian's `sqlite3` and in Python's: it answers as core does, and says what is wrong.

#![cfg(unix)]

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use sqlite_cases::{EDGES, FORBIDDEN, PLANS, REFUSED, SECRET, TABLE, layouts, vectors};

#[path = "../../../randflake-core/integrations/databases/tests/clients/sqlite_cases.rs"]
mod sqlite_cases;

/// The extension's path: cargo does not build it for tests, which are not linked with it.
fn extension() -> OsString {
    env::var_os("RANDFLAKE_SQLITE_EXTENSION").expect("`cargo xtask sql` builds the extension")
}

/// A file of a secret, which is removed with it.
struct KeyFile(PathBuf);

impl KeyFile {
    fn new(name: &str, secret: &str, mode: u32) -> Self {
        let name = format!("randflake-sqlite-{}-{name}", std::process::id());
        let path = env::temp_dir().join(name);
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&path);
        let key = Self(path);
        file.unwrap().write_all(secret.as_bytes()).unwrap();
        fs::set_permissions(&key.0, fs::Permissions::from_mode(mode)).unwrap();
        key
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

/// The command line of SQLite, which loads the extension.
fn shell() -> Command {
    let program = env::var_os("RANDFLAKE_SQLITE3").unwrap_or("sqlite3".into());
    let mut command = Command::new(program);
    let load = format!(".load {}", extension().display());
    command.args(["-batch", "-init", "/dev/null", "-cmd", &load, ":memory:"]);
    command
}

fn python() -> Command {
    let program = env::var_os("RANDFLAKE_SQLITE_PYTHON").unwrap_or("python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/load.py");
    let mut command = Command::new(program);
    command.arg(script).arg(extension());
    command
}

/// Runs a program with statements, each a line, in the environment of a layout and a key.
fn output(
    mut program: Command,
    layout: Option<&str>,
    key: Option<&KeyFile>,
    lines: &[String],
) -> Output {
    program
        .env_remove("RANDFLAKE_LAYOUT")
        .env_remove("RANDFLAKE_KEY_FILE");
    program.envs(layout.map(|layout| ("RANDFLAKE_LAYOUT", layout)));
    program.envs(key.map(|key| ("RANDFLAKE_KEY_FILE", &key.0)));
    let pipes = program.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = pipes.stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = lines.join("\n") + "\n";
    // Beside reading: the pipes hold less than the answers.
    let writer = std::thread::spawn(move || _ = input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes)
        .lines()
        .map(str::to_owned)
        .collect()
}

fn select(expression: &str) -> String {
    format!("SELECT {expression};")
}

fn answers_as_core(program: fn() -> Command, name: &str, most_vectors: usize) {
    let key = KeyFile::new(name, SECRET, 0o600);
    for (layout, ids, cases) in layouts() {
        let is_encrypted = ids.permutation().is_some();
        // They have no plain form outside of Rust.
        if ["randflake", "milliflake", "randflake53"].contains(&&*layout) {
            continue;
        }
        let (statements, expected): (Vec<_>, Vec<_>) = cases
            .into_iter()
            .map(|case| (select(&case.sql), case.expected))
            .unzip();
        let key = is_encrypted.then_some(&key);
        let found = output(program(), Some(&layout), key, &statements);
        assert_eq!(
            lines(&found.stdout),
            expected,
            "{layout}: {:?}",
            lines(&found.stderr)
        );
    }
    for (index, (secret, _, case)) in vectors().into_iter().take(most_vectors).enumerate() {
        let key = KeyFile::new(&format!("{name}-{index}"), &secret, 0o400);
        let found = output(program(), None, Some(&key), &[select(&case.sql)]);
        assert_eq!(
            lines(&found.stdout),
            [case.expected],
            "{:?}",
            lines(&found.stderr)
        );
    }
}

#[test]
fn the_command_line_answers_as_core() {
    answers_as_core(shell, "shell", usize::MAX);
}

#[test]
fn python_answers_as_core() {
    // Those of the other packages: each starts an interpreter.
    answers_as_core(python, "python", 18);
}

#[test]
fn what_is_wrong_is_said() {
    let key = KeyFile::new("refused", SECRET, 0o600);
    let statements: Vec<_> = REFUSED
        .iter()
        .map(|(expression, _)| select(expression))
        .collect();
    let of_shell = lines(&output(shell(), None, Some(&key), &statements).stderr);
    let of_python = lines(&output(python(), None, Some(&key), &statements).stdout);
    for found in [of_shell, of_python] {
        assert_eq!(found.len(), REFUSED.len(), "{found:?}");
        for (found, (expression, expected)) in found.iter().zip(REFUSED) {
            assert!(found.ends_with(expected), "{expression}: {found}");
        }
    }
    let statements: Vec<_> = EDGES
        .iter()
        .map(|(expression, _)| select(expression))
        .collect();
    let found = output(shell(), None, Some(&key), &statements);
    assert_eq!(lines(&found.stdout), EDGES.map(|(_, expected)| expected));
}

#[test]
fn rows_are_found_by_their_key() {
    let key = KeyFile::new("plans", SECRET, 0o600);
    for (statement, expected) in PLANS {
        let statements = [TABLE.to_owned(), format!("EXPLAIN QUERY PLAN {statement};")];
        let found = output(shell(), None, Some(&key), &statements);
        let plan = String::from_utf8_lossy(&found.stdout).into_owned();
        assert!(plan.contains(expected), "{statement}: {plan}");
    }
    for (statements, expected) in FORBIDDEN {
        let found = output(
            shell(),
            None,
            Some(&key),
            &[TABLE.to_owned(), format!("{statements};")],
        );
        let problem = lines(&found.stderr).join("\n");
        assert!(problem.contains(expected), "{statements}: {problem}");
    }
}

/// The statements of the guide on a table of raw ids, with a value for each parameter.
#[test]
fn the_guide_is_true() {
    const GUIDE: &str = include_str!("../../../docs/sql/sqlite.md");
    let (_, chapter) = GUIDE.split_once("## A table of raw ids").unwrap();
    let chapter = chapter.split("\n## ").next().unwrap();
    let blocks = chapter
        .split("```sql\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap());
    let mut statements = blocks.collect::<String>();
    for (parameter, value) in [
        (":ids", "'[4594531474933654033]'"),
        (":id", "4594531474933654033"),
        (":item", "'tea'"),
        (":from", "'2024-12-09'"),
        (":to", "'2024-12-10'"),
        // The last statements ask for what the first ones made.
        ("DELETE", "EXPLAIN DELETE"),
        ("2026-11-01", "2024-12-01"),
        ("2026-12-01", "2025-01-01"),
    ] {
        statements = statements.replace(parameter, value);
    }
    let key = KeyFile::new("guide", SECRET, 0o600);
    let found = output(shell(), None, Some(&key), &[statements]);
    assert_eq!(lines(&found.stderr), [""; 0]);
    let found = lines(&found.stdout);
    let rows: Vec<_> = found.iter().filter(|line| line.contains("tea")).collect();
    let id = "4594531474933654033";
    // By its id, in a list, in a month, by the view, and in a day; and the insert returns the id.
    let expected = ["tea", "tea"].map(str::to_owned).to_vec();
    let expected = [expected, vec![format!("{id}|tea"); 3]].concat();
    assert_eq!(rows, expected.iter().collect::<Vec<_>>(), "{found:?}");
    assert_eq!(found[0], id);
}

#[test]
fn the_check_value_is_that_of_the_tool() {
    let key = KeyFile::new("check", SECRET, 0o600);
    let question = [select("coalesce(key_check(), 'plain')")];
    let found = output(shell(), None, Some(&key), &question);
    assert_eq!(lines(&found.stdout), ["990dc77e"]);
    let found = output(shell(), Some("snowflake"), None, &question);
    assert_eq!(lines(&found.stdout), ["plain"]);
}

#[test]
fn a_layout_may_have_another_epoch_and_other_widths() {
    let time = [select(
        "id_time(compose('2026-01-01 00:00:00.250', 3, 0)) || ' ' || compose('2026-01-01', 3, 0)",
    )];
    for (layout, expected) in [
        // 2,192 days after 2020.
        (
            "snowflake@1577836800000",
            format!(
                "2026-01-01 00:00:00.250 {}",
                ((2_192 * 86_400_000_i64) << 22) | (3 << 12)
            ),
        ),
        (
            "custom:34,16,13@1577836800000/1000",
            format!(
                "2026-01-01 00:00:00 {}",
                ((2_192 * 86_400_i64) << 29) | (3 << 13)
            ),
        ),
    ] {
        let found = output(shell(), Some(layout), None, &time);
        assert_eq!(
            lines(&found.stdout),
            [expected],
            "{:?}",
            lines(&found.stderr)
        );
    }
}

#[test]
fn a_wrong_environment_is_refused() {
    let refused = |layout, key| {
        let found = output(shell(), layout, key, &[select("encrypt(1)")]);
        assert!(found.stdout.is_empty(), "{:?}", lines(&found.stdout));
        lines(&found.stderr).join("\n")
    };
    let key = |name, secret, mode| KeyFile::new(name, secret, mode);
    let readable = key("readable", SECRET, 0o644);
    let short = key("short", &SECRET[1..], 0o600);
    let absent = KeyFile("/nowhere/randflake.key".into());
    for (layout, key, expected) in [
        (None, None, "RANDFLAKE_KEY_FILE is not set"),
        (
            None,
            Some(&absent),
            "/nowhere/randflake.key: No such file or directory",
        ),
        (
            None,
            Some(&readable),
            "has mode 0644, so that others may use it: 0600 and 0400 are allowed",
        ),
        (
            None,
            Some(&short),
            "the secret has 31 characters: 32 hexadecimal digits are allowed",
        ),
        (
            Some("Snowflake"),
            None,
            "RANDFLAKE_LAYOUT: 'Snowflake' is no layout: randflake, ",
        ),
        (
            Some("encrypted:snowflake"),
            None,
            "RANDFLAKE_KEY_FILE is not set",
        ),
        (Some(""), None, "RANDFLAKE_LAYOUT: '' is no layout"),
        (
            Some("snowflake@2020-01-01"),
            None,
            "RANDFLAKE_LAYOUT: 'snowflake@2020-01-01' is no layout",
        ),
        (
            Some("custom:41,10@0/1"),
            None,
            "RANDFLAKE_LAYOUT: 'custom:41,10@0/1' is no layout",
        ),
        (
            Some("custom:41,10,12@0"),
            None,
            "RANDFLAKE_LAYOUT: 'custom:41,10,12@0' is no layout",
        ),
        (
            Some("custom:20,33,1@0/1"),
            None,
            "the node id has 33 bits: at most 32 are allowed",
        ),
    ] {
        let problem = refused(layout, key);
        assert!(problem.contains(expected), "{problem}");
        assert!(!problem.contains(&SECRET[1..]), "{problem}");
    }
}
