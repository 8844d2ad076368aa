//! `tidy`: rules a linter cannot know. Each is a function from the workspace's files to what breaks
//! it, so that its unit tests can plant a violation.

mod arrows;
mod bound_values;
mod cfg_places;
mod debug_names;
mod documents;
mod engine_names;
mod features;
mod floors;
mod guarantees;
mod packages;
mod separate_tests;
mod source;
mod workspace;

use crate::helpers::report::Report;

use workspace::Workspace;

type Rule = fn(&Workspace) -> Vec<String>;

const RULES: &[(&str, Rule)] = &[
    ("arrows between crates point left", arrows::check),
    (
        "the floors of lease, std and xtask: no arrow up, no circle",
        floors::check,
    ),
    (
        "every feature is explained, and shown by docs.rs",
        features::check,
    ),
    (
        "no SQL statement is formatted from a value",
        bound_values::check,
    ),
    ("engines are named in their folders", engine_names::check),
    ("cfg never stands inside a function", cfg_places::check),
    (
        "a hand-written Debug shows its own type's name",
        debug_names::check,
    ),
    ("every test target runs in some part", separate_tests::check),
    ("documents name what is there", documents::check),
    (
        "what stands behind each guarantee is about that very sentence",
        guarantees::check,
    ),
    (
        "each failure that documents list has a test",
        guarantees::check_failures,
    ),
];

pub(crate) fn run(report: &mut Report) {
    match Workspace::read(&crate::helpers::cargo::root()) {
        Ok(workspace) => {
            for (what, rule) in RULES {
                report.verdict(what, verdict(&rule(&workspace)));
            }
        }
        Err(error) => _ = report.verdict("files", Err(error.to_string())),
    }
    for (package, expected) in arrows::LIGHT {
        let found = arrows::default_dependencies(package);
        report.verdict(
            &format!("{package} is light by default"),
            verdict(&arrows::unexpected(expected, &found)),
        );
    }
    report.verdict(
        "`cargo randflake` compiles the crates that are listed",
        verdict(&packages::check_lean_tool()),
    );
    report.verdict(
        "packages hold what can be used outside of this repository",
        verdict(&packages::check()),
    );
}

fn verdict(violations: &[String]) -> Result<(), String> {
    if violations.is_empty() {
        Ok(())
    } else {
        Err(format!("\n    {}", violations.join("\n    ")))
    }
}
