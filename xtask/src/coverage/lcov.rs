//! What `llvm-cov export --format lcov` prints.

use std::collections::BTreeMap;
use std::path::Path;

/// How often the lines of a file ran.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileCoverage {
    /// From the root.
    pub(super) path: String,
    pub(super) lines: BTreeMap<usize, u64>,
    /// Lines of the ways out of each condition, and how often each was taken.
    pub(super) branches: Vec<(usize, u64)>,
}

pub(super) fn parse(text: &str, root: &Path) -> Vec<FileCoverage> {
    let mut files = Vec::new();
    let mut file = FileCoverage::default();
    for line in text.lines() {
        let (kind, rest) = line.split_once(':').unwrap_or((line, ""));
        let mut fields = rest.split(',');
        let mut number = || fields.next().and_then(|field| field.parse().ok());
        match kind {
            "SF" => {
                let path = Path::new(rest);
                let path = path.strip_prefix(root).unwrap_or(path);
                file.path = path.to_string_lossy().into_owned();
            }
            "DA" => {
                if let (Some(line), Some(count)) = (number(), number()) {
                    // Of functions that are compiled more than once, whichever ran.
                    *file.lines.entry(line_number(line)).or_default() += count;
                }
            }
            "BRDA" => {
                if let Some(line) = number() {
                    // Never reached is `-`.
                    let taken = rest.rsplit(',').next().and_then(|taken| taken.parse().ok());
                    file.branches.push((line_number(line), taken.unwrap_or(0)));
                }
            }
            "end_of_record" => files.push(core::mem::take(&mut file)),
            _ => {}
        }
    }
    files
}

fn line_number(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_lines_and_branches_are_read() {
        let text = "SF:/clone/a/src/b.rs\nFN:1,f\nDA:1,2\nDA:2,0\nBRDA:1,0,0,2\nBRDA:1,0,1,-\nLH:1\nend_of_record\n";
        let expected = FileCoverage {
            path: "a/src/b.rs".to_owned(),
            lines: BTreeMap::from([(1, 2), (2, 0)]),
            branches: vec![(1, 2), (1, 0)],
        };
        assert_eq!(parse(text, Path::new("/clone")), [expected]);
    }
}
