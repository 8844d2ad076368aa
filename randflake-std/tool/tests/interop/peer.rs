//! The published Python package, in a process of its own.

use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

const PYTHON: &str = "RANDFLAKE_INTEROP_PYTHON";

/// A Python that has the package.
pub(crate) fn python() -> OsString {
    std::env::var_os(PYTHON)
        .expect("RANDFLAKE_INTEROP_PYTHON must be the path of a Python that has randflake 2.1.0")
}

/// What the package answers to each request.
pub(crate) fn ask(requests: &[Value]) -> Vec<Value> {
    let mut command = Command::new(python());
    command.args(["-c", include_str!("peer.py")]);
    answers(command, requests)
}

/// What a program answers to each request: one JSON object a line, in and out.
pub(crate) fn answers(mut command: Command, requests: &[Value]) -> Vec<Value> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines: Vec<_> = requests.iter().map(Value::to_string).collect();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all((lines.join("\n") + "\n").as_bytes()));
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{}", output.status);
    let answers: Vec<_> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), requests.len());
    answers
}
