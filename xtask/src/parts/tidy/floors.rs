//! The floors of `randflake-lease`, `randflake-std`, `randflake-serve` and these tasks: no module
//! imports one above its own, and no two import each other.

use std::path::Path;

use super::tokens::names_of_root;
use super::workspace::Workspace;

/// From the lowest floor up. A room may use the rooms of lower floors, and of its own those before
/// it: so there is no circle.
type Floors = &'static [&'static [&'static str]];

#[rustfmt::skip]
const CRATES: [(&str, Floors); 4] = [
    ("randflake-lease", &[
        // The leaves, which know nothing of leases.
        &["backoff", "clock", "date", "fork_guard", "private_file", "secret"],
        &["types"],
        &["rules"],
        &["store"],
        // Tests for engines, and their macros, which stand in the root.
        &["lease_contract", "counter_contract", "testkit"],
    ]),
    ("randflake-std", &[
        &["generation", "look_schedule", "looked_at", "observability", "url"],
        &["segment", "handle", "tagged"],
        // The public face: it names items of the others.
        &["lease"],
    ]),
    ("randflake-serve", &[
        &["lock", "system", "watched", "refusal", "counters", "log", "places"],
        // Who may do what, and hold how much, before anything is done for them.
        &["access", "budget"],
        &["listen"],
        &["service", "incidents"],
        &["resp", "http"],
        &["run"],
    ]),
    // The tables of all subcommands are on top.
    ("xtask", &[&["helpers"], &["parts"], &["main"]]),
];

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for (name, source) in workspace.sources() {
        let floors = CRATES.iter().find(|(other, _)| *other == name);
        let (Some((_, floors)), Some((file, room))) = (floors, room(&source.path)) else {
            continue;
        };
        let path = source.path.display();
        let Some(place) = place(floors, room) else {
            violations.push(format!("{path}: {room} is on no floor"));
            continue;
        };
        for (line, other) in names_of_root(source.code.clone(), file) {
            let is_below = self::place(floors, &other).is_some_and(|other| other < place);
            if other != room && !is_below {
                violations.push(format!("{path}:{line}: {room} uses {other}"));
            }
        }
    }
    violations
}

/// A file of `src` and the module at the top that it belongs to; none for the root, which is the
/// crate's own map.
fn room(path: &Path) -> Option<(&Path, &str)> {
    let file = path.strip_prefix("src").ok()?;
    let room = file.iter().next()?.to_str()?.trim_end_matches(".rs");
    (room != "lib").then_some((file, room))
}

/// The floor of a room, and its place there.
fn place(floors: Floors, room: &str) -> Option<(usize, usize)> {
    floors.iter().enumerate().find_map(|(floor, rooms)| {
        let place = rooms.iter().position(|other| *other == room)?;
        Some((floor, place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(krate: &str, path: &str, text: &str) -> Vec<String> {
        check(&Workspace::of_source(krate, path, text))
    }

    fn of_lease(path: &str, text: &str) -> Vec<String> {
        violations("randflake-lease", path, text)
    }

    #[test]
    fn arrows_point_down() {
        for text in [
            "use crate::rules::Key;\nuse crate::{types::Grant, clock};",
            "#[cfg(doc)]\nuse crate::store::open;\nuse crate::store::Ask;\nuse super::super::types::Grant;",
            "pub(in crate::store) fn a() { crate::backoff::with_jitter(b) }",
            "/// See [`open`](crate::tagged::open).\npub(crate) struct A;",
        ] {
            assert_eq!(of_lease("src/store/url/mod.rs", text), [""; 0], "{text}");
        }
        assert_eq!(of_lease("src/lib.rs", "use crate::store::A;"), [""; 0]);
        assert_eq!(of_lease("tests/a.rs", "use crate::b::C;"), [""; 0]);
    }

    #[test]
    fn an_arrow_up_is_seen() {
        for (path, text, found) in [
            (
                "src/rules/renew.rs",
                "use super::Key;\nuse crate::store::A;",
                "2: rules uses store",
            ),
            (
                "src/rules/renew.rs",
                "use super::super::store::A;",
                "1: rules uses store",
            ),
            (
                "src/date.rs",
                "fn a() { b(crate::types::Token::c()) }",
                "1: date uses types",
            ),
            (
                "src/rules/mod.rs",
                "use crate::{\n    types::{A, B},\n    store::C,\n};",
                "3: rules uses store",
            ),
            // Nobody goes through the root.
            (
                "src/store/a.rs",
                "use crate::Secret;",
                "1: store uses Secret",
            ),
        ] {
            assert_eq!(of_lease(path, text), [format!("{path}:{found}")]);
        }
        let found = of_lease("src/attic/mod.rs", "");
        assert_eq!(found, ["src/attic/mod.rs: attic is on no floor"]);
    }

    #[test]
    fn a_circle_within_a_floor_is_seen() {
        let of_std = |path, text| violations("randflake-std", path, text);
        assert_eq!(of_std("src/handle/a.rs", "use crate::segment::A;"), [""; 0]);
        let found = of_std("src/segment/a.rs", "use crate::handle::A;");
        assert_eq!(found, ["src/segment/a.rs:1: segment uses handle"]);
    }
}
