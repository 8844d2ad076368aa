//! Modules of a library that know each other, directly or through others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use super::source::{LineKind, SourceLines};
use crate::tidy::names_of_root;

type Graph = BTreeMap<String, BTreeSet<String>>;

/// The top modules that reach themselves through others.
pub(super) fn circles(sources: &[SourceLines]) -> Vec<String> {
    let graph = graph(sources);
    let mut circles = Vec::new();
    for module in graph.keys() {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&String> = graph[module].iter().collect();
        while let Some(one) = next.pop() {
            if reached.insert(one) {
                next.extend(graph.get(one).into_iter().flatten());
            }
        }
        if reached.contains(module) {
            circles.push(module.clone());
        }
    }
    circles
}

fn graph(sources: &[SourceLines]) -> Graph {
    let mut graph = Graph::new();
    let mut passed_on = BTreeMap::new();
    for source in sources {
        match room(&source.path) {
            Some(module) => _ = graph.entry(module).or_default(),
            None => passed_on.extend(passes_on(code(source))),
        }
    }
    let modules: BTreeSet<String> = graph.keys().cloned().collect();
    for source in sources {
        let Some(module) = room(&source.path) else {
            continue;
        };
        let names = names_of_root(code(source), &source.path);
        let known = names.into_iter().filter_map(|(_, name)| {
            let is_module = modules.contains(&name);
            let module = if is_module {
                Some(&name)
            } else {
                passed_on.get(&name)
            };
            module.cloned()
        });
        let known: BTreeSet<_> = known.filter(|known| *known != module).collect();
        graph.entry(module).or_default().extend(known);
    }
    graph
}

/// The module at the top that a file belongs to; none for the root itself.
pub(crate) fn room(path: &Path) -> Option<String> {
    let first = path.iter().next()?.to_str()?;
    let name = first.trim_end_matches(".rs");
    (!["lib", "main", "bin"].contains(&name)).then(|| name.to_owned())
}

fn code(source: &SourceLines) -> TokenStream {
    let lines: Vec<_> = source.of_kind(LineKind::Code).collect();
    lines.join("\n").parse().unwrap_or_default()
}

/// Names that the root takes from its modules: `pub use module::{Name, ..}`.
fn passes_on(root: TokenStream) -> BTreeMap<String, String> {
    let tokens: Vec<_> = root.into_iter().collect();
    let mut names = BTreeMap::new();
    let is_end =
        |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ';');
    for item in tokens.split(is_end) {
        let at = item.iter().position(|token| token.to_string() == "use");
        let Some((module, rest)) = at.and_then(|at| item.get(at + 1..)?.split_first()) else {
            continue;
        };
        let rest: TokenStream = rest.iter().cloned().collect();
        let text = rest.to_string();
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let words = words.filter(|word| !word.is_empty());
        names.extend(words.map(|word| (word.to_owned(), module.to_string())));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_through_others_and_names_of_the_root_is_found() {
        let files = [
            ("lib.rs", "mod a;\npub use a::{One, Two};"),
            ("a/mod.rs", "use crate::{b::X, d};"),
            (
                "b.rs",
                "#[cfg(doc)]\nuse crate::d::Y;\nfn f() -> super::c::Z {}",
            ),
            ("c/e.rs", "fn g(x: super::super::Two) {}"),
            ("d.rs", "use super::b;"),
            (
                "f.rs",
                "use crate::a;\n#[cfg(test)]\nmod tests {\nuse crate::f;\n}",
            ),
        ];
        let sources = files.map(|(path, text)| SourceLines::of(Path::new(path), text));
        assert_eq!(circles(&sources), ["a", "b", "c", "d"]);
    }
}
