//! A source with what ran of it.

use core::fmt::{self, Display, Formatter, Write as _};

use super::lcov::FileCoverage;

pub(super) struct Source<'a> {
    pub(super) path: &'a str,
    /// Number and text of each line that no test runs.
    pub(super) uncovered: Vec<(usize, String)>,
    pub(super) shares: Shares,
}

impl<'a> Source<'a> {
    pub(super) fn new(file: &'a FileCoverage, text: &str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let end = end_of_code(&file.path, &lines);
        let mut source = Self {
            path: &file.path,
            uncovered: Vec::new(),
            shares: Shares::default(),
        };
        for (number, count) in file.lines.range(..end) {
            let line = lines.get(number - 1).unwrap_or(&"").trim();
            // Lines of brackets alone go with others.
            if !line.contains(char::is_alphanumeric) {
                continue;
            }
            source.shares.lines.count(*count > 0);
            if *count == 0 {
                source.uncovered.push((*number, line.to_owned()));
            }
        }
        for (_, taken) in file.branches.iter().filter(|(line, _)| *line < end) {
            source.shares.branches.count(*taken > 0);
        }
        source
    }

    /// In the form of the list, with its reasons left to be written.
    pub(super) fn uncovered_as_list(&self) -> String {
        let mut list = String::new();
        if !self.uncovered.is_empty() {
            // A string takes all that is written.
            _ = writeln!(list, "{}: REASON", self.path);
        }
        for (_, line) in &self.uncovered {
            _ = writeln!(list, "    {line}");
        }
        list
    }
}

/// The number behind the last line that is not of unit tests: they stand at the foot of a file, or in one of their own.
fn end_of_code(path: &str, lines: &[&str]) -> usize {
    if path.ends_with("tests.rs") || path.contains("/tests/") {
        return 1;
    }
    let mut pairs = lines.windows(2);
    let tests = pairs.position(|pair| {
        pair[0].trim() == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    });
    tests.map_or(usize::MAX, |before| before + 1)
}

/// What is run, of all.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    run: usize,
    all: usize,
}

impl Share {
    fn count(&mut self, is_run: bool) {
        self.all += 1;
        self.run += usize::from(is_run);
    }

    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.run += other.run;
    }

    /// Rounded down: 100 is all of them.
    fn percent(self) -> usize {
        (self.run * 100).checked_div(self.all).unwrap_or(100)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shares {
    lines: Share,
    branches: Share,
}

impl Shares {
    pub(super) fn add(&mut self, other: &Self) {
        self.lines.add(other.lines);
        self.branches.add(other.branches);
    }

    pub(super) fn percent_of_lines(&self) -> usize {
        self.lines.percent()
    }
}

impl Display for Shares {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { lines, branches } = self;
        let (of_lines, of_branches) = (lines.percent(), branches.percent());
        let (run, all) = (lines.run, lines.all);
        write!(f, "{run:5} of {all:5} lines {of_lines:3} %")?;
        let (taken, all) = (branches.run, branches.all);
        write!(f, "{taken:6} of {all:4} branches {of_branches:3} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tests_and_of_brackets_do_not_count() {
        let text = "fn f() {\n    g();\n}\n\n#[cfg(test)]\nmod tests {\n    fn h() {}\n}\n";
        let file = FileCoverage {
            path: "a.rs".to_owned(),
            lines: [(1, 1), (2, 0), (3, 0), (7, 0)].into(),
            branches: vec![(2, 0), (7, 0)],
        };
        let source = Source::new(&file, text);
        assert_eq!(source.uncovered, [(2, "g();".to_owned())]);
        assert_eq!(source.shares.percent_of_lines(), 50);
        assert_eq!(
            (source.shares.branches.run, source.shares.branches.all),
            (0, 1)
        );
        assert_eq!(source.uncovered_as_list(), "a.rs: REASON\n    g();\n");
    }
}
