//! The list of lines that no test runs, with reasons. Lines are known by their text, so that others may move them.

use super::Line as Found;

pub(super) struct Listed(Vec<Line>);

struct Line {
    path: String,
    text: String,
    is_found: bool,
    /// In a race, which a run may have or not.
    is_chance: bool,
}

/// How the reason of such lines begins.
const CHANCE: &str = "by chance";

impl Listed {
    /// A file and a reason, then its lines, which are indented. Lines that begin with `#` are comments.
    pub(super) fn parse(list: &str) -> Result<Self, String> {
        let mut lines = Vec::new();
        let (mut path, mut is_chance) = ("", false);
        for line in list
            .lines()
            .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        {
            if line.starts_with(' ') {
                lines.push(Line {
                    path: path.to_owned(),
                    text: line.trim().to_owned(),
                    is_found: false,
                    is_chance,
                });
                continue;
            }
            let (file, reason) = line.split_once(": ").unwrap_or((line, ""));
            if reason.trim().is_empty() || reason == "REASON" {
                return Err(format!("{file}: its lines have no reason"));
            }
            (path, is_chance) = (file, reason.starts_with(CHANCE));
        }
        Ok(Self(lines))
    }

    /// Lines of a file that are not listed.
    pub(super) fn unlisted(&mut self, path: &str, not_run: &[Found]) -> Vec<String> {
        let mut unlisted = Vec::new();
        for Found { number, text, .. } in not_run {
            let mut same = self.0.iter_mut();
            let same = same.find(|line| line.path == path && line.text == *text);
            match same {
                Some(line) => line.is_found = true,
                None => unlisted.push(format!("{path}:{number}: no test runs `{text}`")),
            }
        }
        unlisted
    }

    /// Listed lines that are run, or no longer there.
    pub(super) fn not_found(&self) -> Vec<String> {
        let rest = self
            .0
            .iter()
            .filter(|line| !line.is_found && !line.is_chance);
        let say = |line: &Line| {
            format!(
                "{}: `{}` is run, or gone: take it out",
                line.path, line.text
            )
        };
        rest.map(say).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_and_what_is_listed_in_vain_is_told() {
        let list =
            "# Why.\na.rs: needs a fork\n    g();\n    gone();\na.rs: by chance\n    raced();\n";
        let mut listed = Listed::parse(list).unwrap();
        let line = |(number, text): (usize, &str)| Found {
            number,
            text: text.to_owned(),
            is_run: false,
        };
        let not_run = [(1, "g();"), (2, "h();")].map(line);
        assert_eq!(
            listed.unlisted("a.rs", &not_run),
            ["a.rs:2: no test runs `h();`"]
        );
        assert_eq!(
            listed.not_found(),
            ["a.rs: `gone();` is run, or gone: take it out"]
        );
    }

    #[test]
    fn a_file_has_a_reason() {
        for wrong in [
            "a.rs\n    g();\n",
            "a.rs: \n    g();\n",
            "a.rs: REASON\n    g();\n",
        ] {
            assert!(Listed::parse(wrong).is_err(), "{wrong}");
        }
    }
}
