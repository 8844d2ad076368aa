//! The part `mutants`: a fixed choice of the mutants of core, and the tests that core has itself,
//! which are built and run within a minute. `deep mutants` has all of both.

use core::time::Duration;

use super::tree::Mutant;
use super::{build, judge, read, trial};
use crate::helpers::report::Report;
use crate::parts::check::SEARCHES;

/// What is chosen from.
const FROM: &str = "randflake-core/";
/// One mutant in so many.
const ONE_IN: u64 = 6;
/// What hangs computes all the while. A busy machine is no reason for more: then it is asked again.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn run(report: &mut Report) {
    let done = try_run(report);
    _ = report.ok("mutants", done);
}

fn try_run(report: &mut Report) -> Result<(), String> {
    let (mut tree, known) = read()?;
    tree.choose(is_chosen);
    let programs = build::build(report, &mut tree, &build::tests_of_core())?;
    let trials = trial::run(report, &tree, &programs, is_quick, PATIENCE, |_| {})?;
    judge(report, &tree, &known, &trials);
    Ok(())
}

/// By its key, so that a mutant is chosen whatever others there are.
fn is_chosen(mutant: &Mutant) -> bool {
    mutant.path.starts_with(FROM) && share(&mutant.key, ONE_IN) == 0
}

/// The share that a mutant belongs to, of so many.
pub(super) fn share(key: &str, of: u64) -> u64 {
    hash(key.as_bytes()) % of
}

/// FNV-1a, whose last bits alone would be those of the last bytes.
fn hash(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash >> 32
}

fn is_quick(test: &str) -> bool {
    !SEARCHES.iter().any(|search| test.contains(search))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_stays_when_others_are_added() {
        let key = "randflake-core/src/lane.rs: Lane::take: `a < b` has `<=`";
        assert_eq!(hash(key.as_bytes()), 2_826_360_669);
        let (mut tree, _) = read().unwrap();
        tree.choose(is_chosen);
        let chosen = tree.chosen().len();
        assert!((50..120).contains(&chosen), "{chosen}");
    }
}
