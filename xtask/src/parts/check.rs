//! `check`: what is quick enough for each edit. Its builds are incremental, unlike those of `test`,
//! and clippy looks at what is built while it is compiled.

use crate::helpers::prelude::*;
use crate::parts::lint;
use crate::parts::unit;

pub(crate) const HELP: &str = "for each edit: format, clippy and the tests of this machine, with all features

Without `-p`, all crates are checked with all features but integrations, and but for tests that compute for seconds: they
are named at the end. Benchmarks are left to `cargo xtask lint`. CRATE is `core`, `std` and so on, or a whole name; its
dependencies are then built with its features alone, once more at the first time.
";

/// Test programs and tests that compute for seconds: searches over random histories, ten years of a
/// device, and a model of flash. A namespace that is nearly full is looked at in memory alone.
pub(crate) const SEARCHES: &[&str] = &[
    "flash_model",
    "random_histories",
    "no_tick_is_granted_twice_among_copies",
    "the_last_65536_leases_stay_until_they_are_old",
    "contract::a_nearly_full_namespace_works_as_an_empty_one",
    "unread::a_nearly_full_namespace_works_as_an_empty_one",
    "free_node_ids_are_found",
    "third_read_is_rare_up_to_99_percent",
    "retained_block_stays_near_the_clock",
    "block_chosen_by_the_wakes_stays_near_the_clock",
];

pub(crate) fn plan(mut typed: Arguments) -> Planned {
    let library = arguments::text(&mut typed, "-p")?
        .map(|name| named(&name))
        .transpose()?;
    arguments::nothing_else(typed)?;
    Plan::of(lint::format_needs(), move |report| {
        report.is_incremental = true;
        report.check("format", &mut cargo("fmt --all --check"));
        match library {
            None => all(report),
            Some(library) => one(report, library),
        }
    })
}

fn named(name: &str) -> Result<&'static Library, String> {
    let names: Vec<&str> = published().map(|library| library.name).collect();
    let found = published().find(|library: &&Library| {
        library.name == name || library.name.strip_prefix("randflake-") == Some(name)
    });
    found.ok_or_else(|| format!("no crate {name}: there are {}", names.join(", ")))
}

fn all(report: &mut Report) {
    unit::tests(report, SEARCHES);
    for search in SEARCHES {
        report.leave_out(search);
    }
}

fn one(report: &mut Report, library: &Library) {
    let mut tests = cargo(&format!("test --no-fail-fast --package {}", library.name));
    tests.args(["--features", &features_of(&[library.name])]);
    report.tests(library.name, unit::in_threads(while_building(&mut tests)));
}

#[cfg(test)]
mod tests {
    use super::{SEARCHES, named};
    use crate::helpers::cargo::root;
    use crate::helpers::files;
    use crate::helpers::matrix::published;
    use std::fs;

    /// A name of none would leave nothing out: its test would run at each edit, and nobody would
    /// see why that takes longer.
    #[test]
    fn each_search_is_a_program_or_a_test() {
        let mut programs = Vec::new();
        let mut code = String::new();
        for library in published() {
            programs.extend(library.test_programs());
            for source in files::sources(&root().join(library.folder)).unwrap() {
                code.push_str(&fs::read_to_string(source).unwrap());
            }
        }
        let declares = |keyword: &str, name: &str| {
            let mut lines = code.lines().filter_map(|line| {
                let line = line.trim();
                let rest = ["pub(crate) ", "pub "]
                    .iter()
                    .find_map(|word| line.strip_prefix(word));
                rest.unwrap_or(line).strip_prefix(keyword)
            });
            lines.any(|declared| declared.contains(name))
        };
        let is_there = |search: &str| {
            let (module, test) = search.rsplit_once("::").unwrap_or(("", search));
            programs.iter().any(|program| program == search)
                || declares("fn ", test) && (module.is_empty() || declares("mod ", module))
        };
        for search in SEARCHES {
            assert!(is_there(search), "{search}");
        }
        assert!(!is_there("free_node_ids_are_lost") && !is_there("lost::free_node_ids_are_found"));
    }

    #[test]
    fn a_crate_goes_by_both_names() {
        assert_eq!(named("core").ok().map(|l| l.name), Some("randflake-core"));
        assert_eq!(named("sparx64").ok().map(|l| l.name), Some("sparx64"));
        let refused = named("cor").err().unwrap();
        assert!(refused.contains("randflake-std"), "{refused}");
    }
}
