//! `tidy`: rules a linter cannot know. Each is a function from the workspace's files to what breaks
//! it, so that its unit tests can plant a violation.

mod code;
mod crates;
mod documents;
mod engine_names;
mod features;
mod floors;
mod tokens;
mod workspace;

use crate::helpers::report::Report;

use workspace::Workspace;

type Rule = fn(&Workspace) -> Vec<String>;

#[rustfmt::skip]
const RULES: &[(&str, Rule)] = &[
    ("arrows between crates point left", crates::arrows),
    ("the floors of lease, std, serve and xtask: no arrow up, no circle", floors::check),
    ("every feature is explained, and shown by docs.rs", features::check),
    ("no SQL statement is formatted from a value", code::bound_values),
    ("engines are named in their folders", engine_names::check),
    ("cfg never stands inside a function", code::cfg_places),
    ("a hand-written Debug shows its own type's name", code::debug_names),
    ("every test target runs in some part", crates::separate_tests),
    ("documents name what is there", documents::names),
    ("what stands behind each guarantee is about that very sentence", documents::guarantees),
    ("each failure that documents list has a test", documents::failures),
    ("sparx64 and randflake-core are light by default", |_| crates::light()),
    ("`cargo randflake` compiles the crates that are listed", |_| crates::lean_tool()),
    ("packages hold what can be used outside of this repository", |_| crates::packages()),
];

pub(crate) fn run(report: &mut Report) {
    let Some(workspace) = report.ok("files", Workspace::read()) else {
        return;
    };
    for (what, rule) in RULES {
        let violations = rule(&workspace);
        let all = format!("\n    {}", violations.join("\n    "));
        report.verdict(
            what,
            if violations.is_empty() {
                Ok(())
            } else {
                Err(all)
            },
        );
    }
}
