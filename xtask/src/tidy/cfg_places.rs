//! `cfg` stands on items, never inside a function: then an item is wholly present or wholly absent.

use super::workspace::Workspace;

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for member in &workspace.members {
        for source in member
            .sources
            .iter()
            .filter(|source| source.path.starts_with("src"))
        {
            if !source.path.ends_with("tests.rs") && member.name != "xtask" {
                let place = format!("{}/{}", member.name, source.path.display());
                violations.extend(
                    lines_inside_functions(&source.code)
                        .iter()
                        .map(|line| format!("{place}:{line}")),
                );
            }
        }
    }
    violations
}

/// The lines of `cfg` inside functions, up to the unit tests at the file's foot.
fn lines_inside_functions(code: &str) -> Vec<usize> {
    let code = code
        .find("#[cfg(test)]\nmod ")
        .map_or(code, |foot| &code[..foot]);
    let mut lines = Vec::new();
    let mut state = State::default();
    for (number, line) in code.lines().enumerate() {
        for (at, c) in line.char_indices() {
            let rest = &line[at..];
            let begins_a_word = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let is_cfg = ["#[cfg(", "#![cfg(", "#[cfg_attr(", "cfg!("]
                .iter()
                .any(|form| rest.starts_with(form));
            if is_cfg && begins_a_word && state.body.is_some() {
                lines.push(number + 1);
            }
            // `fn name`, unlike the type `fn(..)`.
            if begins_a_word
                && rest
                    .strip_prefix("fn ")
                    .is_some_and(|name| !name.trim_start().starts_with('('))
            {
                state.header.get_or_insert(state.depth);
            }
            state.step(c);
        }
    }
    lines
}

#[derive(Default)]
struct State {
    /// Brackets of all kinds that are open.
    depth: usize,
    /// Between `fn` and its body: the depth there.
    header: Option<usize>,
    /// In a body: the depth outside it.
    body: Option<usize>,
}

impl State {
    fn step(&mut self, c: char) {
        match c {
            '(' | '[' | '{' => {
                if c == '{' && self.header == Some(self.depth) {
                    self.header = None;
                    self.body.get_or_insert(self.depth);
                }
                self.depth += 1;
            }
            ')' | ']' | '}' => {
                self.depth = self.depth.saturating_sub(1);
                if self.body == Some(self.depth) {
                    self.body = None;
                }
            }
            ';' if self.header == Some(self.depth) => self.header = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::workspace::Member;
    use super::*;

    #[test]
    fn cfg_in_a_function_is_seen() {
        let text = "fn a() {\n    #[cfg(x)]\n    b();\n    if cfg!(y) {}\n}\n";
        assert_eq!(lines_inside_functions(text), [2, 4]);
        let workspace =
            Workspace::planted("", vec![Member::planted("m", "", &[("src/a.rs", text)])]);
        assert_eq!(check(&workspace), ["m/src/a.rs:2", "m/src/a.rs:4"]);
    }

    #[test]
    fn cfg_on_items_is_not() {
        let text = "#![cfg_attr(x, no_std)]\n#[cfg(x)]\nmod a;\nimpl A {\n    #[cfg(x)]\n    fn b(c: [u8; 2], d: fn(u8)) -> [u8; { 2 }] {}\n\
                    \n    #[cfg(y)]\n    fn e();\n}\ntrait B {\n    fn f();\n    #[cfg(x)]\n    fn g() {}\n}\n";
        assert_eq!(lines_inside_functions(text), []);
    }

    #[test]
    fn unit_tests_are_free() {
        assert_eq!(
            lines_inside_functions(
                "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { if cfg!(miri) {} }\n}\n"
            ),
            []
        );
    }
}
