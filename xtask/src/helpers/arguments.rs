//! Subcommands, their arguments, and the plans made of both.

use core::ops::RangeInclusive;
use std::path::{PathBuf, absolute};

pub(crate) use pico_args::Arguments;

use crate::helpers::report::Report;
use crate::helpers::setup::Need;

/// One part of `cargo xtask test`, which is also a subcommand: what must be on the machine, what it
/// does, and why.
pub(crate) type Part = (
    &'static str,
    fn() -> Vec<Need>,
    fn(&mut Report),
    &'static str,
);

/// What a subcommand needs and does, once its arguments are read.
pub(crate) struct Plan {
    pub(crate) needs: Vec<Need>,
    pub(crate) run: Box<dyn FnOnce(&mut Report)>,
}

/// Or what is wrong with the arguments.
pub(crate) type Planned = Result<Plan, String>;

/// A subcommand that is no part of `test`, or a long search of `deep`.
pub(crate) struct Subcommand {
    pub(crate) name: &'static str,
    /// What may stand behind the name, in each of its forms.
    pub(crate) usage: &'static [&'static str],
    /// Its first line stands in lists.
    pub(crate) help: &'static str,
    /// Its forms of seconds, and the parts of `cargo xtask test` that run them: what nobody runs
    /// breaks unseen.
    pub(crate) in_test: &'static [(&'static str, &'static str)],
    pub(crate) plan: fn(Arguments) -> Planned,
}

impl Plan {
    #[expect(clippy::unnecessary_wraps, reason = "it ends the reading of arguments")]
    pub(crate) fn of(needs: Vec<Need>, run: impl FnOnce(&mut Report) + 'static) -> Planned {
        let run = Box::new(run);
        Ok(Self { needs, run })
    }
}

impl Subcommand {
    pub(crate) fn about(&self) -> &'static str {
        self.help.lines().next().unwrap_or_default()
    }

    /// What it is for, how it is called, and more.
    pub(crate) fn help(&self, prefix: &str) -> String {
        let forms = self
            .usage
            .iter()
            .map(|form| format!("cargo xtask {prefix}{} {form}", self.name));
        let more = self.help.strip_prefix(self.about()).unwrap_or_default();
        let in_test = self
            .in_test
            .iter()
            .map(|(what, part)| format!("  {part:13} {what}\n"));
        format!(
            "{}\n\nusage: {}{}\n\nin `cargo xtask test`:\n{}",
            self.about(),
            forms.collect::<Vec<_>>().join("\n       "),
            more.trim_end(),
            in_test.collect::<String>(),
        )
    }
}

/// All that was typed has been taken.
pub(crate) fn nothing_else(typed: Arguments) -> Result<(), String> {
    match &typed.finish()[..] {
        [] => Ok(()),
        rest => Err(format!("unknown arguments {rest:?}")),
    }
}

/// The words that are left.
pub(crate) fn rest(typed: Arguments) -> Vec<String> {
    typed
        .finish()
        .into_iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// The same, which are all among the known ones.
pub(crate) fn names(typed: Arguments, known: &[&str]) -> Result<Vec<String>, String> {
    let names = rest(typed);
    match names.iter().find(|name| !known.contains(&&***name)) {
        Some(unknown) => Err(format!("no {unknown:?}: there are {}", known.join(", "))),
        None => Ok(names),
    }
}

/// The text behind a flag, if that was typed.
pub(crate) fn text(typed: &mut Arguments, flag: &'static str) -> Result<Option<String>, String> {
    typed
        .opt_value_from_str(flag)
        .map_err(|error| error.to_string())
}

/// The same, if it is a path, which is of the folder where this was typed.
pub(crate) fn path(typed: &mut Arguments, flag: &'static str) -> Result<Option<PathBuf>, String> {
    text(typed, flag)?
        .map(|path| absolute(path).map_err(|error| error.to_string()))
        .transpose()
}

/// The same, if it is a number in a range.
pub(crate) fn number(
    typed: &mut Arguments,
    flag: &'static str,
    allowed: RangeInclusive<u32>,
) -> Result<Option<u32>, String> {
    let Some(text) = text(typed, flag)? else {
        return Ok(None);
    };
    let number = text.parse().ok().filter(|number| allowed.contains(number));
    let (least, most) = (allowed.start(), allowed.end());
    number
        .map(Some)
        .ok_or_else(|| format!("{flag} {text}: {least} to {most} are allowed"))
}

/// As if these words had been typed.
pub(crate) fn typed(words: &str) -> Arguments {
    Arguments::from_vec(words.split_whitespace().map(Into::into).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_within_its_range_or_not_asked_for() {
        let number = |words| {
            let mut typed = typed(words);
            let number = number(&mut typed, "--minutes", 1..=10_000)?;
            nothing_else(typed).map(|()| number)
        };
        assert_eq!(number(""), Ok(None));
        assert_eq!(number("--minutes 5"), Ok(Some(5)));
        for wrong in ["--minutes 0", "--minutes x", "--minutes", "--seconds 5"] {
            assert!(number(wrong).is_err(), "{wrong}");
        }
    }
}
