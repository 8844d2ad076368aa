//! `serve`: the server, with clients and tools from elsewhere.

mod page;

use crate::report::Report;
use crate::setup::Need;

pub(crate) fn needs() -> Vec<Need> {
    page::needs()
}

pub(crate) fn run(report: &mut Report) {
    page::run(report);
}
