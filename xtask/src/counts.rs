//! How many tests ran, by their own output, and whether that is a success.

/// The sum of the `test result:` lines of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
}

/// Whether ignored tests count as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ignored {
    Fail,
    /// Some tests make no sense in an interpreter and say so themselves.
    Allowed,
}

impl Counts {
    /// Adds what a line of output says, if it says anything.
    pub(crate) fn add_line(&mut self, line: &str) {
        if let Some(found) = parse(line) {
            self.passed += found.passed;
            self.failed += found.failed;
            self.ignored += found.ignored;
        }
    }
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; ...`
fn parse(line: &str) -> Option<Counts> {
    let (_verdict, numbers) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let mut counts = Counts::default();
    for field in numbers.split(';') {
        match field.trim().split_once(' ') {
            Some((number, "passed")) => counts.passed = number.parse().ok()?,
            Some((number, "failed")) => counts.failed = number.parse().ok()?,
            Some((number, "ignored")) => counts.ignored = number.parse().ok()?,
            _ => {}
        }
    }
    Some(counts)
}

/// How many failures a run of tests is, and why.
pub(crate) fn judge(counts: Counts, succeeded: bool, ignored: Ignored) -> (usize, Vec<String>) {
    let mut reasons = Vec::new();
    let mut failed = counts.failed;
    if counts.failed > 0 {
        reasons.push(format!("{} failed", counts.failed));
    } else if !succeeded {
        failed += 1;
        reasons.push("did not end well".to_owned());
    } else if counts.passed == 0 {
        failed += 1;
        reasons.push("ran no tests".to_owned());
    }
    if counts.ignored > 0 && ignored == Ignored::Fail {
        failed += counts.ignored;
        reasons.push(format!("{} ignored", counts.ignored));
    }
    (failed, reasons)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: Counts = Counts {
        passed: 3,
        failed: 0,
        ignored: 0,
    };

    #[test]
    fn result_lines_are_parsed() {
        let line = "test result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured; 9 filtered out; finished in 0.00s\n";
        assert_eq!(
            parse(line),
            Some(Counts {
                passed: 3,
                failed: 1,
                ignored: 2
            })
        );
        assert_eq!(parse("test result is fine. 3 passed"), None);
        assert_eq!(parse("test tests::x ... ok"), None);
    }

    #[test]
    fn only_a_clean_run_passes() {
        assert_eq!(judge(OK, true, Ignored::Fail).0, 0);
        assert_eq!(judge(OK, false, Ignored::Fail).0, 1);
        assert_eq!(judge(Counts { failed: 2, ..OK }, false, Ignored::Fail).0, 2);
        assert_eq!(judge(Counts { ignored: 2, ..OK }, true, Ignored::Fail).0, 2);
        assert_eq!(
            judge(Counts { ignored: 2, ..OK }, true, Ignored::Allowed).0,
            0
        );
        assert_eq!(judge(Counts::default(), true, Ignored::Fail).0, 1);
        assert_eq!(
            judge(
                Counts {
                    ignored: 2,
                    ..Counts::default()
                },
                true,
                Ignored::Allowed
            )
            .0,
            1
        );
    }
}
