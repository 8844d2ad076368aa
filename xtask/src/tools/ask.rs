//! How commands of the system are asked. Tests replay recorded answers instead.

use std::process::{Command, Stdio};

pub(super) struct Answer {
    /// `None` if the program could not be run.
    pub(super) code: Option<i32>,
    /// What it printed; the errors are last.
    pub(super) text: String,
}

pub(super) type RunCommand<'a> = &'a dyn Fn(&mut Command) -> Answer;

pub(super) fn ask(command: &mut Command) -> Answer {
    // A question would wait for ever, and so would a message in another language for its reader.
    command.stdin(Stdio::null()).env("LC_ALL", "C");
    match command.output() {
        Ok(output) => Answer {
            code: output.status.code(),
            text: String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr),
        },
        Err(error) => Answer {
            code: None,
            text: error.to_string(),
        },
    }
}

impl Answer {
    pub(super) fn succeeded(&self) -> bool {
        self.code == Some(0)
    }

    /// The line that says what is wrong: apt marks it with `E:`, or `W:` if it goes on.
    pub(super) fn complaint(&self) -> String {
        let lines = || self.text.lines().map(str::trim);
        let marked = |mark: &str| lines().find_map(|line| line.strip_prefix(mark));
        let complaint = marked("E: ").or_else(|| marked("W: "));
        let last = || lines().rfind(|line| !line.is_empty());
        complaint.or_else(last).unwrap_or("no message").to_owned()
    }
}
