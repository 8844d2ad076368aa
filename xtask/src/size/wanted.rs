//! The arguments of `cargo xtask size`.

use std::path::PathBuf;

use super::images::{LEVELS, Level};
use super::wasm;
use crate::qemu::TARGETS;

pub(crate) const USAGE: &str =
    "usage: cargo xtask size [--json FILE] [--since FILE] [--target NAME] [--level Os|Oz|O3] [--functions]
       cargo xtask size --check [--target NAME]

Without `--target` and `--level` all is measured at Os and O3, and randflake-embedded/SIZE.md and the table in
sparx64/README.md are written anew.

flags:
  --json FILE    the figures, with the functions that each call brings
  --since FILE   SIZE.md also shows what differs from an earlier `--json`, old and new
  --target NAME  only targets whose name begins so
  --level LEVEL  only this level of optimisation
  --functions    print the functions that each call brings
  --check        measure nothing: only look for what no image may hold, as `cargo xtask qemu` does
";

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    target: String,
    level: Option<String>,
    pub(super) json: Option<PathBuf>,
    pub(super) since: Option<PathBuf>,
    pub(super) functions: bool,
    pub(super) check: bool,
}

impl Wanted {
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut wanted = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let value = arguments.next().cloned();
                value.ok_or_else(|| format!("`{argument}` needs a value"))
            };
            match argument.as_str() {
                "--target" => wanted.target = value()?,
                "--level" => wanted.level = Some(value()?),
                "--json" => wanted.json = Some(value()?.into()),
                "--since" => wanted.since = Some(value()?.into()),
                "--functions" => wanted.functions = true,
                "--check" => wanted.check = true,
                other => return Err(format!("unknown argument `{other}`")),
            }
        }
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
    use super::Wanted;

    fn parse(arguments: &str) -> Result<Wanted, String> {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        Wanted::parse(&arguments)
    }

    #[test]
    fn all_is_measured_unless_something_is_named() {
        let is_all = |arguments| parse(arguments).unwrap().is_all();
        assert!(is_all("--json file"));
        assert!(!is_all("--level Oz"));
        assert!(!is_all("--target thumbv6m"));
    }

    #[test]
    fn what_is_not_there_is_refused() {
        for arguments in ["--target x86", "--level O2", "--json", "--since", "--sizes"] {
            assert!(parse(arguments).is_err(), "{arguments}");
        }
    }
}
