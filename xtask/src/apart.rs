//! Subcommands that are no part of `test`: each is given what was typed behind it.

use core::fmt::Write as _;
use core::ops::RangeInclusive;
use std::process::ExitCode;

use crate::apart::InTest::{Nothing, Part};
use crate::report::Report;
use crate::setup::{self, Need};
use crate::{
    bench, chaos, check, copies, counts, fuzz, horizon, image, msrv, public_api, size, soak,
};

pub(crate) struct Apart {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// What may be typed.
    usage: &'static str,
    /// What `cargo xtask test` runs of it, so that nobody finds it broken.
    in_test: &'static [InTest],
    /// What was wrong with what was typed, if it did not run.
    main: fn(&[String]) -> Result<ExitCode, String>,
}

/// A form of seconds of a subcommand.
pub(crate) enum InTest {
    /// What of it, in which part.
    Part(&'static str, &'static str),
    /// What of it has none, and why.
    Nothing(&'static str, &'static str),
}

pub(crate) const APART: &[Apart] = &[
    Apart {
        name: "check",
        about: "for each edit: format, clippy and the tests of this machine, with all features, or of one crate with -p",
        usage: check::USAGE,
        in_test: &[Part("the same checks of all crates", "unit")],
        main: check::main,
    },
    Apart {
        name: "bench",
        about: "what things cost, beside other crates too; see `cargo xtask bench --help`",
        usage: bench::USAGE,
        in_test: bench::IN_TEST,
        main: bench::main,
    },
    Apart {
        name: "fuzz",
        about: "inputs found by coverage (nightly, cargo-fuzz): a minute for each target, or --seconds N, or --executions N",
        usage: "usage: cargo xtask fuzz [--seconds N | --executions N] [TARGET ...]\n",
        in_test: &[
            Part(
                "the targets of sparx64 and randflake-core on made inputs, http on its seeds",
                "unit",
            ),
            Nothing(
                "resp",
                "only the target has the library that it compares with; unit tests cut commands as it does",
            ),
        ],
        main: fuzz::main,
    },
    Apart {
        name: "soak",
        about: "an hour of killed holders and killed engines, a quarter on each engine, or --minutes N",
        usage: "usage: cargo xtask soak [--minutes N]\n",
        in_test: &[Part("some seconds on Redis", "faults")],
        main: soak::main,
    },
    Apart {
        name: "chaos",
        about: "a fleet of servers, Python and Rust, killed and suspended for eight minutes, a quarter on each engine, or --minutes N",
        usage: "usage: cargo xtask chaos [--minutes N]\n",
        in_test: &[Part("each fault once on PostgreSQL", "serve")],
        main: chaos::main,
    },
    Apart {
        name: "copies",
        about: "a machine's state saved once and resumed twice: what both issue (qemu-system-x86_64, a kernel, redis; three minutes)",
        usage: "usage: cargo xtask copies\n",
        in_test: &[
            Part("what compares two copies, on planted ones", "faults"),
            Nothing(
                "the machines",
                "without KVM an emulator takes a minute of CPU for each, and 100 MB are downloaded",
            ),
        ],
        main: copies::main,
    },
    Apart {
        name: "horizon",
        about: "the model of the horizon's flash, with each dead cell and lost bit (some minutes)",
        usage: "usage: cargo xtask horizon\n",
        in_test: &[Part(
            "the model, without dead cells and lost bits in long boots",
            "unit",
        )],
        main: horizon::main,
    },
    Apart {
        name: "image",
        about: "the container image of docs/deploy, from a static program built here, and ids from it (buildah, root)",
        usage: "usage: cargo xtask image\n",
        in_test: &[
            Part(
                "that the Dockerfile builds what the image is tested with",
                "unit",
            ),
            Nothing(
                "the image",
                "a static program takes minutes to build, and nothing else uses it",
            ),
        ],
        main: image::main,
    },
    Apart {
        name: "msrv",
        about: "everything compiles with the oldest Rust that is promised, which rustup brings",
        usage: "usage: cargo xtask msrv\n",
        in_test: &[Part("the libraries without features", "features")],
        main: msrv::main,
    },
    Apart {
        name: "public-api",
        about: "what others may call of each library, beside its public-api.txt (nightly, cargo-public-api), or --write",
        usage: "usage: cargo xtask public-api [--write]\n",
        in_test: &[Nothing(
            "the lists",
            "cargo-public-api is built from source, in three minutes",
        )],
        main: public_api::main,
    },
    Apart {
        name: "package",
        about: "each library as it would be published, built from what is in its package",
        usage: "usage: cargo xtask package\n",
        in_test: &[Nothing(
            "the packages",
            "each library is compiled once more",
        )],
        main: public_api::package,
    },
    Apart {
        name: "counts",
        about: "lines, features, circles of modules, names with two meanings: of this clone, or of another one to compare with",
        usage: counts::USAGE,
        in_test: &[Part("how sources are read, on planted ones", "unit")],
        main: counts::main,
    },
    Apart {
        name: "size",
        about: "flash, RAM, stack and instructions of each call, on each microcontroller; see `cargo xtask size --help`",
        usage: size::USAGE,
        in_test: &[Part("what images may hold", "qemu")],
        main: size::main,
    },
];

impl Apart {
    #[expect(clippy::print_stderr, reason = "usage errors belong on standard error")]
    pub(crate) fn main(&self, arguments: &[String]) -> ExitCode {
        if arguments.iter().any(|a| a == "--help" || a == "-h") {
            print!("{}{}", self.usage, self.in_test());
            return ExitCode::SUCCESS;
        }
        (self.main)(arguments).unwrap_or_else(|message| {
            eprint!("error: {message}\n\n{}", self.usage);
            ExitCode::from(2)
        })
    }
}

impl Apart {
    fn in_test(&self) -> String {
        let mut text = String::from("\nin `cargo xtask test`:\n");
        for form in self.in_test {
            // A string takes all that is written.
            _ = match form {
                Part(what, part) => writeln!(text, "  {part:13} {what}"),
                Nothing(what, why) => writeln!(text, "  (nothing)     of {what}: {why}"),
            };
        }
        text
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

pub(crate) fn no_arguments(arguments: &[String]) -> Result<(), String> {
    match arguments {
        [] => Ok(()),
        _ => Err(format!("unknown arguments {}", arguments.join(" "))),
    }
}

/// The number behind a flag, if that was typed.
pub(crate) fn number(
    arguments: &[String],
    flag: &str,
    allowed: RangeInclusive<u32>,
) -> Result<Option<u32>, String> {
    match arguments {
        [typed, number] if typed == flag => {
            let parsed = number.parse().ok();
            let parsed = parsed.filter(|number| allowed.contains(number));
            parsed.map(Some).ok_or_else(|| {
                let (least, most) = (allowed.start(), allowed.end());
                format!("{flag} {number}: {least} to {most} are allowed")
            })
        }
        _ => no_arguments(arguments).map(|()| None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PARTS;

    #[test]
    fn forms_for_tests_are_in_parts_that_are_there() {
        for apart in APART {
            assert!(!apart.in_test.is_empty(), "{}", apart.name);
            for form in apart.in_test {
                if let Part(what, part) = form {
                    let is_there = PARTS.iter().any(|own| own.name == *part);
                    assert!(is_there, "{what}: {part}");
                }
            }
        }
    }

    #[test]
    fn a_number_is_within_its_range_or_not_asked_for() {
        let number = |typed: &str| {
            let typed: Vec<String> = typed.split_whitespace().map(str::to_owned).collect();
            number(&typed, "--minutes", 1..=10_000)
        };
        assert_eq!(number(""), Ok(None));
        assert_eq!(number("--minutes 5"), Ok(Some(5)));
        for wrong in [
            "--minutes 0",
            "--minutes 10001",
            "--minutes x",
            "--seconds 5",
        ] {
            assert!(number(wrong).is_err(), "{wrong}");
        }
    }
}
