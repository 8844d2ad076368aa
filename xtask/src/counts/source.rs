//! Source files as lines of four kinds.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::files;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Code,
    Doc,
    Comment,
    Test,
}

pub(super) struct SourceLines {
    /// Below the package's `src`.
    pub(super) path: PathBuf,
    /// Lines that are not empty, with their kinds.
    pub(super) lines: Vec<(LineKind, String)>,
}

impl SourceLines {
    /// All files below a folder.
    pub(super) fn all(folder: &Path) -> io::Result<Vec<Self>> {
        let read = |path: &PathBuf| {
            let own = path.strip_prefix(folder).unwrap_or(path);
            Ok(Self::of(own, &fs::read_to_string(path)?))
        };
        files::sources(folder)?.iter().map(read).collect()
    }

    pub(super) fn of(path: &Path, text: &str) -> Self {
        let is_test = |part| part == "tests" || part == "tests.rs";
        let mut in_tests = path.iter().any(is_test);
        let mut lines: Vec<(LineKind, String)> = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            // Unit tests stand at the foot of a file.
            let is_marked = lines
                .last()
                .is_some_and(|(_, last)| last.starts_with("#[cfg(") && last.contains("test"));
            in_tests |= is_marked && line.starts_with("mod ") && line.ends_with('{');
            lines.push((kind(line.trim_start(), in_tests), line.to_owned()));
        }
        let path = path.to_owned();
        Self { path, lines }
    }

    pub(super) fn count(&self, kind: LineKind) -> usize {
        self.of_kind(kind).count()
    }

    pub(super) fn of_kind(&self, kind: LineKind) -> impl Iterator<Item = &str> {
        let lines = self.lines.iter().filter(move |(of, _)| *of == kind);
        lines.map(|(_, line)| line.as_str())
    }
}

fn kind(line: &str, in_tests: bool) -> LineKind {
    if in_tests {
        LineKind::Test
    } else if line.starts_with("///") || line.starts_with("//!") {
        LineKind::Doc
    } else if line.starts_with("//") {
        LineKind::Comment
    } else {
        LineKind::Code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_kinds() {
        let text = "//! Doc\nuse a;\n\n/// Doc\nfn b() {} // c\n// why\n#[cfg(test)]\nmod tests {\n// d\n}\n";
        let source = SourceLines::of(Path::new("a.rs"), text);
        let counts = [
            LineKind::Code,
            LineKind::Doc,
            LineKind::Comment,
            LineKind::Test,
        ];
        assert_eq!(counts.map(|kind| source.count(kind)), [3, 2, 1, 3]);
        let tests = SourceLines::of(Path::new("a/tests.rs"), "fn a() {}\n");
        assert_eq!(tests.count(LineKind::Test), 1);
    }
}
