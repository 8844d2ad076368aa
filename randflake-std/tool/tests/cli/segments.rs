//! `segment`, `segment init`, `segment status` and `segment resume`

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::user::{Answer, User};

#[test]
fn runs_at_once_and_killed_ones_repeat_nothing() {
    let user = User::new();
    user.begin_counter(&[]);
    let start = |count: &str| {
        let mut command = user.command(&["segment", "-n", count]);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let whole = [(); 3].map(|()| start("1000"));
        let mut killed = start("1000000000");
        let lines = BufReader::new(killed.stdout.take().unwrap()).lines();
        numbers.extend(lines.take(70_000).map(Result::unwrap));
        killed.kill().unwrap();
        killed.wait().unwrap();
        for child in whole {
            let printed = Answer::of(child.wait_with_output().unwrap()).ok();
            numbers.extend(printed.lines().map(str::to_owned));
        }
    }
    assert_eq!(numbers.len(), 3 * 73_000);
    assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), 3 * 73_000);
}
