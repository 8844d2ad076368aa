//! No Rust outside an engine's folder names an engine, except in a few places with a reason: what
//! changes with an engine lies in its folder, and leaves with it.

use proc_macro2::TokenTree;

use super::tokens::{each_token, is};
use super::workspace::Workspace;
use crate::helpers::matrix::{engine_names, is_engine};

/// What several engines share.
const SHARED: &str = "sql";

/// Other names of engines: of their stores' types, servers and products.
const ALIASES: [&str; 2] = ["mariadb", "valkey"];

/// Packages, and paths of theirs, that may name engines.
#[rustfmt::skip]
const ALLOWED: &[(&str, &str, &str)] = &[
    ("randflake-core", "src/integrations", "ids as values of the drivers' crates"),
    ("randflake-core", "src/id/mod.rs", "a feature that is named as a driver"),
    ("randflake-core", "src/lib.rs", "the modules of those"),
    ("randflake-lease", "src/store/url/mod.rs", "tests of URLs and their quotes"),
    ("randflake-lease", "src/store/addresses.rs", "tells which server answers at an address"),
    ("randflake-std", "src/lib.rs", "SQL functions of ids, which are no engine"),
    ("randflake-std", "src/url/confined.rs", "the list of schemes, and its tests"),
    ("randflake-std", "src/url/engines.rs", "the list of schemes, and its tests"),
    ("randflake-std", "src/url/tests.rs", "the list of schemes, and its tests"),
    ("randflake-std", "tests/engines/encryption.rs", "scenarios over several engines"),
    ("randflake-std", "tests/engines/hostile.rs", "scenarios over several engines"),
    ("randflake-std", "tests/engines/idle.rs", "scenarios over several engines"),
    ("randflake-std", "tests/engines/lasting.rs", "scenarios over several engines"),
    ("randflake-std", "tests/engines/looks.rs", "scenarios over several engines"),
    ("randflake-std", "tests/engines/segment_faults.rs", "scenarios over several engines"),
    ("randflake-std", "tests/faults/emptied.rs", "scenarios over several engines"),
    ("randflake-std", "tests/faults/histories/mod.rs", "scenarios over several engines"),
    ("randflake-std", "tests/outages/addresses.rs", "scenarios over several engines"),
    ("randflake-std", "tests/outages/network.rs", "scenarios over several engines"),
    ("randflake-std", "tests/outages/power.rs", "scenarios over several engines"),
    ("randflake-std", "tests/outages/sessions.rs", "scenarios over several engines"),
    ("randflake-std", "tests/starters", "scenarios over several engines"),
    ("randflake-std", "tests/faults/main.rs", "includes the scenarios of each engine"),
    ("randflake-std", "tests/engines/servers.rs", "tests of the servers that tests start"),
    ("randflake-std", "tests/copied_machines/machine.rs", "a server that stands for all"),
    ("randflake-std", "tests/copied_machines/scenarios.rs", "a server that stands for all"),
    ("randflake-std", "tests/offline/elastic/mod.rs", "stores that processes share without a server"),
    ("randflake-std", "tests/offline/gone_files.rs", "stores that processes share without a server"),
    ("randflake-std", "tests/offline/main.rs", "stores that processes share without a server"),
    ("randflake-std", "tests/offline/waits.rs", "stores that processes share without a server"),
    ("randflake-std", "tests/processes", "stores that processes share without a server"),
    ("randflake-std", "tests/offline/urls.rs", "URLs of engines"),
    ("randflake-std", "benches/leases/engine.rs", "engines beside each other"),
    ("randflake-std", "benches/leases/main.rs", "engines beside each other"),
    ("randflake-std", "benches/load/elastic.rs", "a store that processes share without a server"),
    ("harness", "src/engine.rs", "the list of servers that tests start"),
    ("harness", "src/lib.rs", "the list of servers that tests start"),
    ("harness", "src/unprivileged.rs", "a server that refuses to run as root"),
    ("randflake-serve", "src/http/metrics.rs", "speaks the protocol of Redis' clients"),
    ("randflake-serve", "src/resp/general.rs", "speaks the protocol of Redis' clients"),
    ("randflake-serve", "src/run.rs", "speaks the protocol of Redis' clients"),
    ("randflake-serve", "tests/fuzz_targets.rs", "speaks the protocol of Redis' clients"),
    ("randflake", "src/command/sql", "SQL functions of databases, which are no engine"),
    ("randflake", "src/command/explain.rs", "features of the command line, and URLs in its help"),
    ("randflake", "src/command/generate.rs", "features of the command line, and URLs in its help"),
    ("randflake", "src/command/lease", "features of the command line, and URLs in its help"),
    ("randflake", "src/command/segment.rs", "features of the command line, and URLs in its help"),
    ("randflake", "src/command/serve.rs", "features of the command line, and URLs in its help"),
    ("randflake", "src/command/uuid.rs", "features of the command line, and URLs in its help"),
    ("randflake", "src/store.rs", "features of the command line, and URLs in its help"),
    ("randflake", "tests/cli/devices.rs", "scenarios over several engines, and SQL functions"),
    ("randflake", "tests/cli/stores.rs", "scenarios over several engines, and SQL functions"),
    ("randflake", "tests/deployment", "scenarios over several engines, and SQL functions"),
    ("randflake", "tests/doctors", "scenarios over several engines, and SQL functions"),
    ("randflake", "tests/interop/leases.rs", "scenarios over several engines, and SQL functions"),
    ("randflake", "tests/kills/minute.rs", "scenarios over several engines, and SQL functions"),
    ("randflake", "tests/serve/incidents.rs", "scenarios over several engines, and SQL functions"),
    ("randflake", "tests/soak", "scenarios over several engines, and SQL functions"),
    ("randflake", "tests/sql", "scenarios over several engines, and SQL functions"),
    ("randflake", "tests/sql_cases", "scenarios over several engines, and SQL functions"),
    ("randflake", "tests/volumes", "scenarios over several engines, and SQL functions"),
    ("randflake", "tests/aged_store/mod.rs", "stores of a server under test, and documents"),
    ("randflake", "tests/guides", "stores of a server under test, and documents"),
    ("randflake", "tests/serve/lifecycle.rs", "stores of a server under test, and documents"),
    ("randflake", "tests/serve/tls.rs", "stores of a server under test, and documents"),
    ("randflake", "tests/serve_http", "stores of a server under test, and documents"),
    ("randflake", "tests/serve_tools/alerts.rs", "stores of a server under test, and documents"),
    ("randflake", "benches/serve", "clients of the server, which speaks the protocol of Redis"),
    ("randflake", "tests/cases", "clients of the server, which speaks the protocol of Redis"),
    ("randflake", "tests/serve/clients.rs", "clients of the server, which speaks the protocol of Redis"),
    ("randflake", "tests/serve_tools/checkers", "clients of the server, which speaks the protocol of Redis"),
    ("xtask", "src", "finds the programs of servers"),
];

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut names = engine_names();
    names.retain(|name| name != SHARED);
    names.extend(ALIASES.map(str::to_owned));
    violations(workspace, &names)
}

fn violations(workspace: &Workspace, names: &[String]) -> Vec<String> {
    let mut used = vec![false; ALLOWED.len()];
    let mut violations = Vec::new();
    for (package, source) in workspace.sources().filter(|(name, _)| !is_engine(name)) {
        let mut lines = Vec::new();
        each_token(&source.code, &mut |tokens, at| {
            let is_doc = is(tokens, at.checked_sub(2), "doc");
            if names_any(&tokens[at], names) && !is_doc {
                lines.push(tokens[at].span().start().line);
            }
        });
        if lines.is_empty() {
            continue;
        }
        match ALLOWED
            .iter()
            .position(|(allowed, path, _): &(&str, &str, &str)| {
                package == *allowed && source.path.starts_with(path)
            }) {
            Some(at) => used[at] = true,
            None => violations.extend(source.places(package, &lines)),
        }
    }
    let found = violations
        .into_iter()
        .map(|place| format!("{place}: names an engine"));
    let unused =
        ALLOWED
            .iter()
            .zip(used)
            .filter(|(_, used)| !used)
            .map(|((package, path, _), _)| {
                format!("{package}: {path} names no engine: take it off the list")
            });
    found.chain(unused).collect()
}

/// Whether a word or a text has the name of an engine in it.
fn names_any(token: &TokenTree, names: &[String]) -> bool {
    let text = match token {
        TokenTree::Ident(_) | TokenTree::Literal(_) => token.to_string().to_lowercase(),
        TokenTree::Group(_) | TokenTree::Punct(_) => return false,
    };
    names.iter().any(|name| text.contains(name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_engines_are_found() {
        let found = |package: &str, path: &str, code: &str| {
            let workspace = Workspace::of_source(package, path, code);
            let all = violations(&workspace, &["redis".to_owned()]);
            all.iter()
                .filter(|one| one.ends_with("names an engine"))
                .count()
        };
        for code in [
            "use randflake_redis::ENGINE;",
            "fn f(_: RedisStore) {}",
            "const URL: &str = \"redis://host\";",
            "mod tests { #[test] fn of_redis() {} }",
        ] {
            assert_eq!(found("randflake-common", "src/a.rs", code), 1, "{code}");
            assert_eq!(found("randflake-redis", "src/a.rs", code), 0, "{code}");
            assert_eq!(found("randflake-std", "src/url/engines.rs", code), 0);
        }
        let documented = "/// As `RedisStore` does.\nfn f() {}";
        assert_eq!(found("randflake-common", "src/a.rs", documented), 0);
    }
}
