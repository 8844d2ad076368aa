//! Subcommands that are no part of `test`: each is given what was typed behind it.

use core::ops::RangeInclusive;
use std::path::{PathBuf, absolute};
use std::process::ExitCode;

pub(crate) use pico_args::Arguments;

use crate::report::Report;
use crate::setup::{self, Need};
use crate::{
    bench, c_library::packages, chaos, check, copies, counts, coverage, forgeries, fuzz, histories,
    horizon, image, judges, msrv, mutants, public_api, size, soak, timebombs,
};

/// The exit status, or what was wrong with what was typed: then nothing has run.
pub(crate) type ExitResult = Result<ExitCode, String>;

pub(crate) struct Apart {
    pub(crate) name: &'static str,
    /// What may stand behind the name, in each of its forms.
    usage: &'static [&'static str],
    /// Its first line stands in the list of all.
    help: &'static str,
    /// Forms of it that take seconds, and the parts of `cargo xtask test` that run them: what nobody runs breaks unseen.
    in_test: &'static [(&'static str, &'static str)],
    main: fn(Arguments) -> ExitResult,
}

const fn apart(
    name: &'static str,
    usage: &'static [&'static str],
    help: &'static str,
    in_test: &'static [(&'static str, &'static str)],
    main: fn(Arguments) -> ExitResult,
) -> Apart {
    Apart {
        name,
        usage,
        help,
        in_test,
        main,
    }
}

#[rustfmt::skip]
pub(crate) const APART: &[Apart] = &[
    apart("check", &["[-p CRATE]"], check::HELP, &[("the same checks of all crates", "unit")], check::main),
    apart("bench", &["[NAME]"], bench::HELP, bench::IN_TEST, bench::main),
    apart("fuzz", &["[--seconds N | --executions N] [TARGET ...]"],
        "inputs found by coverage, compared with plain twins (nightly, cargo-fuzz)\n\nA minute for each target unless said otherwise.",
        &[("each target on its seeds or on made inputs", "unit")], fuzz::main),
    apart("soak", &["[--minutes N] [--record]"], soak::HELP,
        &[("each fault once on SQLite and Redis, and what is planted", "faults")], soak::main),
    apart("histories", &["[--minutes N]"], "ten minutes of clients that read and write conditionally under faults: each history linearizable\n\n\
        On all engines at once. Then random histories of 10,000 steps on each, and a namespace of 131,072 node ids of which all\n\
        but a few are leased.",
        &[("a round of the faults on each engine, and engines that are wrong once in a thousand times", "faults"),
            ("3,000 steps, and 8,192 node ids", "engines")], histories::main),
    apart("chaos", &["[--minutes N]"], "eight minutes of a fleet of servers, Python and Rust, killed and suspended\n\nA quarter on each engine.",
        &[("each fault once on PostgreSQL", "serve")], chaos::main),
    apart("judges", &["[--ids N] [--sequences N] [--seconds N] [NAME ...]"], judges::HELP, judges::IN_TEST, judges::main),
    apart("copies", &[""], "an emulated machine, saved once and resumed twice: what both issue (three minutes)\n\n\
        It brings qemu-system-x86_64 and a kernel, 100 MB.",
        &[("the machine's program without the machine, and what compares two copies", "faults")], copies::main),
    apart("timebombs", &["[--at UNIX_TIME]"], timebombs::HELP, timebombs::IN_TEST, timebombs::main),
    apart("horizon", &[""], "the model of the horizon's flash through longer lives: more raises in a row that fail or are cut, ten million cuts",
        &[("the same model with fewer in a row, and 50,000 cuts", "unit")], horizon::main),
    apart("forgeries", &[""], "a thousand million forged tagged UUIDs, of which none passes (a minute)",
        &[("a million of them", "unit")], forgeries::main),
    apart("image", &[""], "the container image of docs/deploy, of a static program built here, and ids from it\n\n\
        It needs root, and brings buildah.",
        &[("the same with the tests' own program and its libraries", "deploy")], image::main),
    apart("msrv", &[""], "everything compiles with the oldest Rust that is promised, which rustup brings",
        &[("the libraries without features", "features")], msrv::main),
    apart("mutants", &["[PATH...]", "--list [PATH...]"], mutants::HELP,
        &[("a fixed sample, with the tests that are quick", "sample"), ("how sources are changed, on planted ones", "unit")], mutants::main),
    apart("public-api", &["[--write]"], "what others may call of each library, beside its public-api.txt (nightly)\n\n\
        It builds cargo-public-api first, in three minutes.",
        &[("whether types in the lists are there", "tidy")], public_api::main),
    apart("package", &[""], "each crate as it would be published, built from what is in its package, and its pages on docs.rs (nightly)",
        &[("what is in each package", "tidy")], public_api::package),
    apart("c-packages", &["[--out FOLDER] [zephyr] [esp-idf] [platformio]"], packages::HELP, &[("each, and programs built with it", "c")], packages::main),
    apart("counts", &["[--list] [FOLDER]"], counts::HELP, &[("how sources are read, on planted ones", "unit")], counts::main),
    apart("coverage", &[""], coverage::HELP, &[("how counts, sources and the list are read, on planted ones", "unit")], coverage::main),
    apart("size", &["[--target NAME] [--level Os|Oz|O3] [--functions]", "--check [--target NAME]"], size::HELP,
        &[("what images may hold", "qemu")], size::main),
];

impl Apart {
    pub(crate) fn about(&self) -> &'static str {
        self.help.lines().next().unwrap_or_default()
    }

    /// What it is for, how it is called, and more.
    fn help(&self) -> String {
        let forms = self.usage.iter();
        let forms: Vec<_> = forms
            .map(|form| format!("cargo xtask {} {form}", self.name))
            .collect();
        let more = self.help.strip_prefix(self.about()).unwrap_or_default();
        let forms = forms.join("\n       ");
        format!("{}\n\nusage: {}{}\n", self.about(), forms, more.trim_end())
    }

    #[expect(clippy::print_stderr, reason = "usage errors belong on standard error")]
    pub(crate) fn main(&self, mut typed: Arguments) -> ExitCode {
        if typed.contains(["-h", "--help"]) {
            println!("{}\nin `cargo xtask test`:", self.help());
            for (what, part) in self.in_test {
                println!("  {part:13} {what}");
            }
            return ExitCode::SUCCESS;
        }
        (self.main)(typed).unwrap_or_else(|message| {
            eprint!("error: {message}\n\n{}", self.help());
            ExitCode::from(2)
        })
    }
}

/// Runs one, with what it needs.
pub(crate) fn run(
    name: &'static str,
    needs: &[Need],
    mut report: Report,
    run: impl FnOnce(&mut Report),
) -> ExitCode {
    report.begin("setup");
    setup::prepare(needs, &mut report);
    report.begin(name);
    run(&mut report);
    report.exit_code()
}

/// All that was typed has been taken.
pub(crate) fn nothing_else(typed: Arguments) -> Result<(), String> {
    let rest = typed.finish();
    match &rest[..] {
        [] => Ok(()),
        _ => Err(format!("unknown arguments {rest:?}")),
    }
}

/// The words that are left, none of which is a flag.
pub(crate) fn words(typed: Arguments) -> Result<Vec<String>, String> {
    let words = typed
        .finish()
        .into_iter()
        .map(|word| match word.into_string() {
            Ok(word) if !word.starts_with('-') => Ok(word),
            Ok(word) => Err(format!("unknown argument {word}")),
            Err(word) => Err(format!("{}: text is allowed", word.display())),
        });
    words.collect()
}

/// The text behind a flag, if that was typed.
pub(crate) fn text(typed: &mut Arguments, flag: &'static str) -> Result<Option<String>, String> {
    let value = typed.opt_value_from_str(flag);
    value.map_err(|error| error.to_string())
}

/// The same, if it is a path, which is of the folder where this was typed.
pub(crate) fn path(typed: &mut Arguments, flag: &'static str) -> Result<Option<PathBuf>, String> {
    let absolute = |path| absolute(path).map_err(|error| error.to_string());
    text(typed, flag)?.map(absolute).transpose()
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
    let number = text.parse().ok();
    let number = number.filter(|number| allowed.contains(number));
    let (least, most) = (allowed.start(), allowed.end());
    number
        .map(Some)
        .ok_or_else(|| format!("{flag} {text}: {least} to {most} are allowed"))
}

/// As if these words had been typed.
#[cfg(test)]
pub(crate) fn typed(words: &str) -> Arguments {
    Arguments::from_vec(words.split_whitespace().map(Into::into).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PARTS;

    #[test]
    fn each_has_a_form_in_a_part_that_is_there() {
        for apart in APART {
            assert!(!apart.in_test.is_empty(), "{}", apart.name);
            for (what, part) in apart.in_test {
                let is_there = PARTS.iter().any(|own| own.name == *part);
                assert!(is_there, "{what}: {part}");
            }
        }
    }

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
