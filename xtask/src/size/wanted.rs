//! The arguments of `cargo xtask size`.

use super::images::{LEVELS, Level};
use super::wasm;
use crate::apart::{self, Arguments};
use crate::qemu::TARGETS;

pub(crate) const HELP: &str = "flash, RAM, stack and instructions of each call, on each microcontroller

Without `--target` and `--level` all is measured at Os and O3, and randflake-embedded/SIZE.md and the table in
sparx64/README.md are written anew: git shows what differs.

flags:
  --target NAME  only targets whose name begins so
  --level LEVEL  only this level of optimisation
  --functions    print the functions that each call brings
  --check        measure nothing: only look for what no image may hold, as `cargo xtask qemu` does
";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct SizeArguments {
    target: String,
    level: Option<String>,
    pub(super) functions: bool,
    pub(super) check: bool,
}

impl SizeArguments {
    pub(super) fn parse(mut typed: Arguments) -> Result<Self, String> {
        let wanted = Self {
            target: apart::text(&mut typed, "--target")?.unwrap_or_default(),
            level: apart::text(&mut typed, "--level")?,
            functions: typed.contains("--functions"),
            check: typed.contains("--check"),
        };
        apart::nothing_else(typed)?;
        let targets = TARGETS.iter().map(|target| target.name);
        if !targets
            .chain([wasm::TARGET])
            .any(|target| wanted.has(target))
        {
            return Err(format!("no target begins with `{}`", wanted.target));
        }
        if !LEVELS.iter().any(|level| wanted.has_level(level)) {
            let names = LEVELS.each_ref().map(|level| level.name);
            return Err(format!("the levels are {}", names.join(", ")));
        }
        Ok(wanted)
    }

    pub(super) fn has(&self, target: &str) -> bool {
        target.starts_with(&self.target)
    }

    pub(super) fn has_level(&self, level: &Level) -> bool {
        match &self.level {
            Some(name) => name == level.name,
            None => level.is_usual,
        }
    }

    /// Whether nothing was left out.
    pub(super) fn is_all(&self) -> bool {
        self.target.is_empty() && self.level.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::SizeArguments;
    use crate::apart::typed;

    #[test]
    fn all_is_measured_unless_something_is_named() {
        let is_all = |words| SizeArguments::parse(typed(words)).unwrap().is_all();
        assert!(is_all("--functions"));
        assert!(!is_all("--level Oz"));
        assert!(!is_all("--target thumbv6m"));
    }

    #[test]
    fn what_is_not_there_is_refused() {
        for words in ["--target x86", "--level O2", "--target", "--sizes"] {
            assert!(SizeArguments::parse(typed(words)).is_err(), "{words}");
        }
    }
}
