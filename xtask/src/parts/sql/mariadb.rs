//! MariaDB: its stored functions, and the key that is in no log.

use crate::helpers::report::Report;
use crate::helpers::setup::Need;
use crate::parts::engines::SQL_ON_MARIADB;

pub(super) fn needs() -> Vec<Need> {
    SQL_ON_MARIADB.needs()
}

pub(super) fn run(report: &mut Report) {
    SQL_ON_MARIADB.run_with(report, |command| {
        command.args(["--", "mysql::"]);
    });
}
