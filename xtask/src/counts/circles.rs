//! Modules of a library that know each other, directly or through others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use super::source::{Kind, Source};

type Graph = BTreeMap<String, BTreeSet<String>>;

/// The top modules that reach themselves through others.
pub(super) fn circles(sources: &[Source]) -> Vec<String> {
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

fn graph(sources: &[Source]) -> Graph {
    let mut graph = Graph::new();
    let mut passed_on = BTreeMap::new();
    for source in sources {
        match top(&source.path) {
            Some(module) => _ = graph.entry(module).or_default(),
            None => passed_on.extend(passes_on(code(source))),
        }
    }
    let modules: BTreeSet<String> = graph.keys().cloned().collect();
    for source in sources {
        let Some(module) = top(&source.path) else {
            continue;
        };
        let is_mod = source.path.ends_with("mod.rs");
        let depth = source.path.iter().count() - usize::from(is_mod);
        let mut names = BTreeSet::new();
        named(code(source), depth, &mut names);
        let known = names.into_iter().filter_map(|name| {
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
pub(super) fn top(path: &Path) -> Option<String> {
    let first = path.iter().next()?.to_str()?;
    let name = first.trim_end_matches(".rs");
    (!["lib", "main", "bin"].contains(&name)).then(|| name.to_owned())
}

fn code(source: &Source) -> TokenStream {
    let lines: Vec<_> = source.of_kind(Kind::Code).collect();
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

/// The names that follow on the path of the root: `crate::name`, or as many `super::` as the file is deep.
fn named(code: TokenStream, depth: usize, names: &mut BTreeSet<String>) {
    let tokens: Vec<_> = code.into_iter().collect();
    let is_path = |at: usize| {
        let marks = tokens.get(at..at + 2).unwrap_or_default();
        marks.len() == 2 && marks.iter().all(|mark| mark.to_string() == ":")
    };
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        // What only links of the documentation need.
        if token.to_string() == "[cfg (doc)]" {
            let rest = tokens[at..].iter();
            at += rest.take_while(|token| token.to_string() != ";").count();
        }
        if let TokenTree::Group(group) = token {
            named(group.stream(), depth, names);
        }
        let mut supers = 0;
        while token.to_string() == "super" && is_path(at) {
            supers += 1;
            match tokens.get(at + 2) {
                Some(next) if next.to_string() == "super" => at += 3,
                _ => break,
            }
        }
        if (token.to_string() == "crate" || supers == depth && supers > 0) && is_path(at) {
            names.extend(tokens.get(at + 2).into_iter().flat_map(firsts));
        }
    }
}

/// `a`, or `a` and `c` of `{a::b, c}`.
fn firsts(token: &TokenTree) -> Vec<String> {
    let TokenTree::Group(group) = token else {
        return vec![token.to_string()];
    };
    let tokens: Vec<_> = group.stream().into_iter().collect();
    let parts = tokens.split(|token| token.to_string() == ",");
    parts
        .filter_map(|part| Some(part.first()?.to_string()))
        .collect()
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
        let sources = files.map(|(path, text)| Source::of(Path::new(path), text));
        assert_eq!(circles(&sources), ["a", "b", "c", "d"]);
    }
}
