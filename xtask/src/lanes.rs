//! The parts of a whole run, several at once: some compute on one core, some build, some mostly wait. Whoever has ended one
//! takes the next, so that no core is left alone with the last long part. The output of each is shown when it has ended.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;

use crate::Part;
use crate::helpers::report::Report;
use crate::helpers::scratch::Scratch;

/// As many parts run at once: with four a run takes as long, and tests are late more often that wait for leases of seconds.
const LANES: usize = 3;

/// What begins before the others, in this order: what sees a slip within seconds, then what takes minutes. Builds in one target
/// directory wait for each other: beside `lint`, which builds what most parts run, runs what builds in directories of its own;
/// and what mostly builds comes before what mostly runs. What is short comes last, so that all lanes end together.
const FIRST: &[&str] = &[
    "tidy",
    "lint",
    "miri",
    "boards",
    "faults",
    "features",
    "integrations",
    "unit",
    "doc",
    "engines",
    "mutants",
    "serve",
    "sql",
    "emulated",
    "c",
    "qemu",
    "proof",
    "model",
    "deploy",
];

pub(crate) fn run(parts: &[&Part], report: &mut Report) {
    let Some(scratch) = report.scratch("output") else {
        return;
    };
    // A hundred servers have a thousand files each. As soon as they are removed, a disk may take longer to make others:
    // ext4 looks at each one that was removed within minutes.
    let memory = Scratch::in_memory("servers");
    report.server_data = memory.as_ref().map(|memory| memory.path().to_owned());
    let shared = report.beside(&scratch.path().join("settings"));
    let queue = Mutex::new(in_order(parts).into_iter());
    let next = || queue.lock().ok()?.next();
    let run_kept = |part: &Part| {
        let mut report = shared.beside(&scratch.path().join(part.0));
        run_part(part, &mut report);
        report
    };
    let (sender, ended) = channel();
    thread::scope(|scope| {
        for _ in 0..LANES {
            let (sender, next, run_kept) = (sender.clone(), &next, &run_kept);
            scope.spawn(move || {
                while let Some(part) = next() {
                    // Nobody listens any more after a panic.
                    _ = sender.send(run_kept(part));
                }
            });
        }
        drop(sender);
        for of_part in ended {
            report.add(of_part);
        }
    });
}

/// In which they begin.
fn in_order<'a>(parts: &[&'a Part]) -> Vec<&'a Part> {
    let mut parts = parts.to_vec();
    // A part that is not named comes behind those that are, and the sort keeps their order.
    parts.sort_by_key(|part| {
        let first = FIRST.iter().position(|name| *name == part.0);
        first.unwrap_or(FIRST.len())
    });
    parts
}

pub(crate) fn run_part(part: &Part, report: &mut Report) {
    let (name, _, run, _) = part;
    report.begin(name);
    run(report);
    report.end_and_say();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PARTS;

    #[test]
    fn every_part_runs_once_and_the_long_ones_begin() {
        let parts: Vec<&Part> = PARTS.iter().collect();
        let names = |parts: &[&Part]| parts.iter().map(|part| part.0).collect::<Vec<_>>();
        let mut ordered = names(&in_order(&parts));
        assert_eq!(ordered[..FIRST.len()], *FIRST);
        let mut all = names(&parts);
        ordered.sort_unstable();
        all.sort_unstable();
        assert_eq!(ordered, all);
    }
}
