//! `xtask/mutants.txt`: the mutants that no test notices, each with the reason.

use std::collections::HashMap;

use super::tree::Tree;
use crate::helpers::prelude::*;

const PATH: &str = "xtask/mutants.txt";

/// How a reason begins that says why a mutant does what the program does.
const SAME: &str = "# The same program:";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No test can notice it.
    Same,
    /// None does.
    Survivor,
}

/// By key.
pub(crate) struct Known(HashMap<String, Kind>);

impl Known {
    /// Fails if it names what is not there: a source has changed.
    pub(crate) fn read(tree: &Tree) -> Result<Self, String> {
        let known = Self::parse(&files::read(&root().join(PATH))?)?;
        let is_there = |key: &&String| tree.mutants().iter().any(|mutant| mutant.key == **key);
        match known.0.keys().find(|key| !is_there(key)) {
            Some(key) => Err(format!(
                "{PATH}: no such mutant (see `cargo xtask deep mutants --list`): {key}"
            )),
            None => Ok(known),
        }
    }

    /// A reason stands above those it is for, behind `#`; an empty line ends them.
    fn parse(text: &str) -> Result<Self, String> {
        let mut known = HashMap::new();
        for group in text.split("\n\n") {
            let (reason, keys): (Vec<&str>, Vec<&str>) = group
                .lines()
                .filter(|line| !line.is_empty())
                .partition(|line| line.starts_with('#'));
            if reason.is_empty() && !keys.is_empty() {
                return Err(format!("{PATH}: no reason: {}", keys.join(", ")));
            }
            let is_same = reason.first().is_some_and(|line| line.starts_with(SAME));
            let kind = if is_same { Kind::Same } else { Kind::Survivor };
            known.extend(keys.iter().map(|key| ((*key).to_owned(), kind)));
        }
        Ok(Self(known))
    }

    pub(crate) fn kind(&self, key: &str) -> Option<Kind> {
        self.0.get(key).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_for_what_follows_it() {
        let known =
            Known::parse("# The same program: as it\n# ends.\na: b\nc: d\n\n# A message.\ne: f\n")
                .unwrap();
        assert_eq!(known.kind("c: d"), Some(Kind::Same));
        assert_eq!(known.kind("e: f"), Some(Kind::Survivor));
        assert_eq!(known.kind("g"), None);
        assert!(Known::parse("# only of the first\na: b\n\nc: d\n").is_err());
    }
}
