//! Counts of passed, failed and ignored tests, read from the output of test programs.

/// The sum of the `test result:` lines of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) ignored: usize,
    failed_names: Vec<String>,
    panics: Vec<String>,
    /// Lines of the last panic that are still to come.
    panic_lines: usize,
}

/// Lines that are kept of a panic: where it was, and the begin of its message.
const PANIC_LINES: usize = 3;
/// Panics that the summary shows of one command. The output has all.
const MOST_PANICS: usize = 5;

/// Whether ignored tests count as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ignored {
    Fail,
    /// Some tests make no sense in an interpreter and say so themselves.
    Allowed,
}

impl Counts {
    /// Adds what a line of output says, if it says anything: `test name ... FAILED`, or
    /// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; ...`.
    pub(crate) fn add_line(&mut self, line: &str) {
        self.add_panic(line.trim());
        let Some(line) = line.trim_end().strip_prefix("test ") else {
            return;
        };
        if let Some(name) = line.strip_suffix(" ... FAILED") {
            self.failed_names.push(name.to_owned());
        }
        let result = line.strip_prefix("result: ");
        let Some((_verdict, numbers)) = result.and_then(|result| result.split_once(". ")) else {
            return;
        };
        for field in numbers.split("; ") {
            let (number, word) = field.split_once(' ').unwrap_or_default();
            let number = number.parse().unwrap_or(0);
            match word {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }

    /// Keeps what a test said when it failed: only output of failed tests is shown.
    fn add_panic(&mut self, line: &str) {
        if line.contains("panicked at ") || line.starts_with("test panicked: ") {
            self.panics.push(line.to_owned());
            self.panic_lines = PANIC_LINES - 1;
        } else if let (1.., Some(panic)) = (self.panic_lines, self.panics.last_mut()) {
            panic.push(' ');
            panic.push_str(line);
            self.panic_lines -= 1;
        }
    }

    /// How many failures the run is, and why.
    pub(crate) fn verdict(&self, succeeded: bool, ignored: Ignored) -> (usize, Vec<String>) {
        let mut reasons = Vec::new();
        let mut failed = self.failed;
        if self.failed > 0 {
            let names = self.failed_names.join(", ");
            let mut reason = format!("{} failed ({names})", self.failed);
            for panic in self.panics.iter().take(MOST_PANICS) {
                reason.push_str("\n    ");
                reason.push_str(panic.trim_end());
            }
            reasons.push(reason);
        } else if !succeeded {
            failed += 1;
            reasons.push("did not end well".to_owned());
        } else if self.passed == 0 {
            failed += 1;
            reasons.push("ran no tests".to_owned());
        }
        if self.ignored > 0 && ignored == Ignored::Fail {
            failed += self.ignored;
            reasons.push(format!("{} ignored", self.ignored));
        }
        (failed, reasons)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(lines: &[&str]) -> Counts {
        let mut counts = Counts::default();
        for line in lines {
            counts.add_line(line);
        }
        counts
    }

    #[test]
    fn output_is_counted() {
        let counts = counts(&[
            "running 6 tests\n",
            "test a::b ... ok\n",
            "test a::c ... FAILED\n",
            "test result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured; 9 filtered out; finished in 0.00s\n",
            "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\r\n",
            "the test result: ok. 5 passed\n",
        ]);
        assert_eq!((counts.passed, counts.failed, counts.ignored), (5, 1, 2));
        assert_eq!(
            counts.verdict(false, Ignored::Allowed),
            (1, vec!["1 failed (a::c)".to_owned()])
        );
    }

    #[test]
    fn the_summary_says_what_a_failed_test_said() {
        let counts = counts(&[
            "test a::c ... FAILED\n",
            "---- a::c stdout ----\n",
            "thread 'a::c' (7) panicked at src/a.rs:3:5:\n",
            "assertion `left == right` failed\n",
            "  left: 1\n",
            " right: 2\n",
            "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n",
        ]);
        let (_, reasons) = counts.verdict(false, Ignored::Fail);
        assert_eq!(
            reasons,
            [
                "1 failed (a::c)\n    thread 'a::c' (7) panicked at src/a.rs:3:5: \
              assertion `left == right` failed left: 1"
            ]
        );
    }

    #[test]
    fn only_a_clean_run_passes() {
        for (counted, succeeded, ignored, failed) in [
            ("3 passed; 0 failed; 0 ignored", true, Ignored::Fail, 0),
            ("3 passed; 0 failed; 0 ignored", false, Ignored::Fail, 1),
            ("3 passed; 2 failed; 0 ignored", false, Ignored::Fail, 2),
            ("3 passed; 0 failed; 2 ignored", true, Ignored::Fail, 2),
            ("0 passed; 0 failed; 2 ignored", true, Ignored::Fail, 3),
            ("3 passed; 0 failed; 2 ignored", true, Ignored::Allowed, 0),
        ] {
            let counts = counts(&[&format!("test result: ?. {counted}; 0 measured")]);
            assert_eq!(counts.verdict(succeeded, ignored).0, failed, "{counted}");
        }
    }
}
