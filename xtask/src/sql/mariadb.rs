//! MariaDB: its stored functions, and the key that is in no log.

use crate::engines::SQL_ON_MARIADB;
use crate::report::Report;
use crate::setup::Need;

pub(super) fn needs() -> Vec<Need> {
    SQL_ON_MARIADB.needs()
}

pub(super) fn run(report: &mut Report) {
    SQL_ON_MARIADB.run_with(report, |command| {
        command.args(["--", "mysql::"]);
    });
}
