//! Jobs that run the parts of a whole run side by side: some parts compute on one core, some build,
//! some mostly wait. A job that has ended a part takes the next one. The output of each part is
//! shown when it has ended.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;

use crate::helpers::arguments::Part;
use crate::helpers::report::Report;
use crate::helpers::scratch::Scratch;

/// With four, a run takes as long, and tests that wait for leases of seconds are late more often.
const JOBS: usize = 3;

/// Those named in `first` begin before the others, in that order.
pub(crate) fn run(parts: &[&Part], first: &[&str], report: &mut Report) {
    let Some(scratch) = report.scratch("output") else {
        return;
    };
    // A hundred servers have a thousand files each. As soon as they are removed, a disk may take
    // longer to make others: ext4 looks at each one that was removed within minutes.
    let memory = Scratch::in_memory("servers");
    report.server_data = memory.as_ref().map(|memory| memory.path().to_owned());
    let shared = report.beside(&scratch.path().join("settings"));
    let queue = Mutex::new(in_order(parts, first).into_iter());
    let next = || queue.lock().ok()?.next();
    let run_kept = |part: &Part| {
        let mut report = shared.beside(&scratch.path().join(part.0));
        run_part(part, &mut report);
        report
    };
    let (sender, ended) = channel();
    thread::scope(|scope| {
        for _ in 0..JOBS {
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

pub(crate) fn in_order<'a>(parts: &[&'a Part], first: &[&str]) -> Vec<&'a Part> {
    let mut parts = parts.to_vec();
    // The sort keeps the order of those that are not named.
    parts.sort_by_key(|part| {
        first
            .iter()
            .position(|name| *name == part.0)
            .unwrap_or(first.len())
    });
    parts
}

pub(crate) fn run_part(part: &Part, report: &mut Report) {
    let (name, _, run, _) = part;
    report.begin(name);
    run(report);
    report.end_and_say();
}
