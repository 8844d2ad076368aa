//! The parts of a whole run beside each other, in lanes: what looks at sources, what computes for
//! others or in an interpreter, and two of what builds once and then mostly waits. Output comes in the order of the parts.

use std::collections::HashMap;
use std::sync::mpsc::channel;
use std::thread;

use crate::Part;
use crate::output::Output;
use crate::report::Report;
use crate::scratch::Scratch;

/// In another lane than the first, and in which order. The longest that uses one core only, Miri, begins.
const BESIDE: &[&[&str]] = &[
    &[
        "miri", "boards", "qemu", "c", "avr", "model", "proof", "loom", "emulated", "no-std",
    ],
    &[
        "integrations",
        "unit",
        "sample",
        "engines",
        "secrecy",
        "neighbours",
        "deploy",
    ],
    &["faults", "interop", "serve", "sql"],
];

pub(crate) fn run(parts: &[&Part], report: &mut Report) {
    let Some(scratch) = Scratch::reported(report, "output") else {
        return;
    };
    let empty = report.beside(Output::default());
    let find = |name: &&str| parts.iter().find(|part| part.name == *name);
    let (beside, first): (Vec<&Part>, Vec<&Part>) = parts
        .iter()
        .partition(|part| BESIDE.concat().contains(&part.name));
    thread::scope(|scope| {
        let (sender, ended) = channel();
        for lane in BESIDE {
            let (sender, scratch, empty) = (sender.clone(), &scratch, &empty);
            scope.spawn(move || {
                for part in lane.iter().filter_map(find) {
                    let mut report = match Output::kept(&scratch.path().join(part.name)) {
                        Ok(output) => empty.beside(output),
                        // As good as can be without: the lines of parts are mixed.
                        Err(_) => empty.beside(Output::default()),
                    };
                    run_part(part, &mut report);
                    // Nobody listens any more after a panic.
                    _ = sender.send((part.name, report));
                }
            });
        }
        drop(sender);
        for part in first {
            run_part(part, report);
        }
        let mut reports = HashMap::new();
        for part in beside {
            while !reports.contains_key(part.name)
                && let Ok((name, report)) = ended.recv()
            {
                reports.insert(name, report);
            }
            if let Some(of_part) = reports.remove(part.name) {
                report.add(of_part);
            }
        }
    });
}

pub(crate) fn run_part(part: &Part, report: &mut Report) {
    report.begin(part.name);
    (part.run)(report);
    report.end_and_say();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PARTS;

    #[test]
    fn only_parts_that_are_there_are_named() {
        for name in BESIDE.iter().copied().flatten() {
            assert!(PARTS.iter().any(|part| part.name == *name), "{name}");
        }
    }
}
