//! Checker of linearizability: each operation at one moment between its beginning and its
//! answer.
//!
//! Such a check takes exponential time for operations of any kind. Here it takes that of a sort,
//! and is exact, because no text is written twice, and a write names the texts that it replaces:
//!
//! - What was done is known. A write was done if that was answered, or if its text was seen: read,
//!   or replaced by a write that was done. One of unknown outcome whose text nobody has seen is as
//!   good as never done, at all its keys.
//! - Its order is known. Two writes that replaced one text are a compare that was lost; so the
//!   writes of a key form a chain from its beginning.
//! - What is left are moments: each write within its interval, after those that it follows, not
//!   before anybody has begun the last reading of what it replaces, and not after anybody has ended
//!   the first reading of its own text. These are least and greatest times and an order, so the
//!   earliest moment of each write, computed along the chains, is late enough for all that follow
//!   if any is.

use core::fmt::{self, Display, Formatter};
use core::ops::AddAssign;
use std::collections::{HashMap, HashSet};

/// The write that a text is of; [`NOTHING`] if there is none.
pub(crate) type Version = u64;
pub(crate) const NOTHING: Version = 0;
pub(crate) type Place = u32;

#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// Nanoseconds of one clock.
    pub(crate) begun: u64,
    pub(crate) ended: u64,
    pub(crate) event: Event,
}

#[derive(Clone, Debug)]
pub(crate) enum Event {
    Read {
        place: Place,
        found: Version,
    },
    /// Of one text, at each of these places in place of another.
    Write {
        version: Version,
        replaced: Vec<(Place, Version)>,
        outcome: Outcome,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// Nothing was written. It may be said of any write: the contract says when it must be.
    Refused,
    /// The answer was lost, or there was none. It may be done at any time later.
    Unknown,
}

/// Leaves out the readings of writes that a kill at this time may have undone, for an engine that
/// shows a write before it is kept: `MariaDB` does, while its log is on the way to the disk. Such a
/// write was not answered, no write that was done came after it, and nobody has begun to read it
/// since the kill. Whatever else was seen has to be as on any engine.
pub(crate) fn without_undone(history: &[Operation], killed: u64) -> Vec<Operation> {
    let mut unanswered = HashSet::new();
    let (mut replaced_by, mut kept) = (HashMap::new(), Vec::new());
    for operation in history {
        match &operation.event {
            Event::Write {
                version,
                replaced,
                outcome,
            } => {
                replaced_by.insert(*version, replaced);
                match outcome {
                    Outcome::Done => kept.push(*version),
                    Outcome::Unknown if operation.begun < killed => {
                        unanswered.insert(*version);
                    }
                    Outcome::Unknown | Outcome::Refused => {}
                }
            }
            Event::Read { found, .. } if operation.begun >= killed => kept.push(*found),
            Event::Read { .. } => {}
        }
    }
    let mut seen = HashSet::new();
    while let Some(version) = kept.pop() {
        if seen.insert(version) {
            unanswered.remove(&version);
            let before = replaced_by.get(&version).copied().into_iter().flatten();
            kept.extend(before.map(|(_, before)| *before));
        }
    }
    let is_undone = |operation: &&Operation| matches!(operation.event, Event::Read { found, .. } if unanswered.contains(&found));
    let others = history.iter().filter(|operation| !is_undone(operation));
    others.cloned().collect()
}

/// What a verdict is about.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    reads: usize,
    done: usize,
    refused: usize,
    unknown: usize,
    /// Of those unknown, by what others have seen.
    done_unanswered: usize,
}

impl Figures {
    fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Done => self.done += 1,
            Outcome::Refused => self.refused += 1,
            Outcome::Unknown => self.unknown += 1,
        }
    }
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.reads += other.reads;
        self.done += other.done;
        self.refused += other.refused;
        self.unknown += other.unknown;
        self.done_unanswered += other.done_unanswered;
    }
}

impl Display for Figures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            reads,
            done,
            refused,
            unknown,
            done_unanswered,
        } = self;
        write!(
            f,
            "{reads} reads, {done} writes done, {refused} refused, {unknown} unanswered ({done_unanswered} of them done)"
        )
    }
}

/// A write, and between which moments it was done, if it was.
struct Write<'a> {
    replaced: &'a [(Place, Version)],
    outcome: Outcome,
    earliest: u64,
    latest: u64,
}

impl Write<'_> {
    fn is_at(&self, place: Place) -> bool {
        self.replaced.iter().any(|(at, _)| *at == place)
    }
}

impl Display for Write<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            replaced,
            outcome,
            earliest,
            latest,
        } = self;
        write!(
            f,
            "{outcome:?}, {earliest} to {latest} ns, in place of {replaced:?}"
        )
    }
}

type Writes<'a> = HashMap<Version, Write<'a>>;
/// What replaced a text at a place.
type Successors = HashMap<(Place, Version), Version>;

/// # Errors
///
/// What cannot have happened.
pub(crate) fn check(history: &[Operation]) -> Result<Figures, String> {
    let mut figures = Figures::default();
    let (mut writes, mut reads) = (Writes::new(), Vec::new());
    for operation in history {
        let Operation {
            begun,
            ended,
            event,
        } = operation;
        match event {
            Event::Read { place, found } => reads.push((*place, *found, *begun, *ended)),
            Event::Write {
                version,
                replaced,
                outcome,
            } => {
                figures.count(*outcome);
                let write = Write {
                    replaced,
                    outcome: *outcome,
                    earliest: *begun,
                    latest: match outcome {
                        Outcome::Unknown => u64::MAX,
                        Outcome::Done | Outcome::Refused => *ended,
                    },
                };
                let other = writes.insert(*version, write);
                assert!(other.is_none(), "two writes of one text, {version}");
            }
        }
    }
    figures.reads = reads.len();
    let seen = reads.iter().map(|(place, found, ..)| (*place, *found));
    let done = done(&writes, seen.collect())?;
    figures.done_unanswered = done
        .iter()
        .filter(|version: &&Version| writes[*version].outcome == Outcome::Unknown)
        .count();
    let successors = chains(&writes, &done)?;
    for (place, found, begun, ended) in reads {
        if let Some(write) = writes.get_mut(&found) {
            write.latest = write.latest.min(ended);
        }
        let successor = successors.get(&(place, found));
        if let Some(write) = successor.and_then(|version| writes.get_mut(version)) {
            write.earliest = write.earliest.max(begun);
        }
    }
    find_moments(writes, &done, &successors)?;
    Ok(figures)
}

/// The writes that were done: those of which that was answered, of texts that were seen, and of
/// what these replaced.
fn done(writes: &Writes<'_>, mut seen: Vec<(Place, Version)>) -> Result<HashSet<Version>, String> {
    for write in writes
        .iter()
        .filter(|(_, write)| write.outcome == Outcome::Done)
    {
        seen.push((write.1.replaced[0].0, *write.0));
    }
    let mut done = HashSet::new();
    while let Some((place, version)) = seen.pop() {
        if version == NOTHING {
            continue;
        }
        let write = writes.get(&version).filter(|write| write.is_at(place));
        let Some(write) = write else {
            return Err(format!("{version} was at {place}, where nobody wrote it"));
        };
        if write.outcome == Outcome::Refused {
            return Err(format!("{version} was at {place}, and had been refused"));
        }
        if done.insert(version) {
            seen.extend(write.replaced);
        }
    }
    Ok(done)
}

/// The chain of each place.
fn chains(writes: &Writes<'_>, done: &HashSet<Version>) -> Result<Successors, String> {
    let mut successors = Successors::new();
    for version in done {
        for (place, before) in writes[version].replaced {
            if let Some(other) = successors.insert((*place, *before), *version) {
                return Err(format!(
                    "{other} and {version} have both replaced {before} at {place}: a compare was lost\n\
                     {other}: {}\n{version}: {}\n{before}: {}",
                    writes[&other],
                    writes[version],
                    writes
                        .get(before)
                        .map(ToString::to_string)
                        .unwrap_or_default(),
                ));
            }
        }
    }
    Ok(successors)
}

/// Gives each write that was done the earliest moment that those before it allow.
fn find_moments(
    mut writes: Writes<'_>,
    done: &HashSet<Version>,
    successors: &Successors,
) -> Result<(), String> {
    let waits_for = |version: &Version| {
        let replaced = writes[version].replaced.iter();
        replaced.filter(|(_, before)| *before != NOTHING).count()
    };
    let mut waiting: HashMap<Version, usize> = done
        .iter()
        .map(|version| (*version, waits_for(version)))
        .collect();
    let mut ready: Vec<Version> = waiting
        .iter()
        .filter_map(|(version, count): (&Version, &usize)| (*count == 0).then_some(*version))
        .collect();
    let mut placed = 0;
    while let Some(version) = ready.pop() {
        placed += 1;
        let Write {
            replaced,
            earliest,
            latest,
            ..
        } = writes[&version];
        if earliest > latest {
            return Err(format!(
                "{version} was done after {earliest} ns and before {latest} ns: a reading was stale, or a text went back"
            ));
        }
        for (place, _) in replaced {
            let Some(next) = successors.get(&(*place, version)) else {
                continue;
            };
            if let Some(write) = writes.get_mut(next) {
                write.earliest = write.earliest.max(earliest);
            }
            if let Some(count) = waiting.get_mut(next) {
                *count -= 1;
                if *count == 0 {
                    ready.push(*next);
                }
            }
        }
    }
    if placed < done.len() {
        return Err("some writes were each done before the other".to_owned());
    }
    Ok(())
}
