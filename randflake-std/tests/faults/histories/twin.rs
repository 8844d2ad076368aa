//! The checker gives the verdict of one that tries all orders, on short random histories, true and
//! false ones.

use fastrand::Rng;
use libtest_mimic::Trial;
use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

use super::checker::{Event, NOTHING, Operation, Outcome, Place, Version, check, without_undone};
use crate::trial;

const PLACES: usize = 2;
const CLIENTS: usize = 3;
const HISTORIES: u64 = 2_000;
/// All orders of more take long.
const EVENTS: usize = 8;

pub(crate) fn trials() -> [Trial; 2] {
    let undone = trial(
        "histories::what_a_kill_undoes_is_left_out_alone",
        what_a_kill_undoes,
    );
    let twin = trial("histories::verdicts_are_those_of_all_orders", || {
        let (mut linearizable, mut others) = (0, 0);
        for seed in 0..HISTORIES {
            let history = random(&mut Rng::with_seed(seed));
            let verdict = check(&history);
            let expected = is_linearizable(&history);
            assert_eq!(
                verdict.is_ok(),
                expected,
                "{seed}: {verdict:?} {history:#?}"
            );
            *(if expected {
                &mut linearizable
            } else {
                &mut others
            }) += 1;
        }
        println!("{linearizable} histories are linearizable, {others} are not");
        let least = HISTORIES / 10;
        assert!(
            linearizable > least && others > least,
            "they are too much alike"
        );
    });
    [undone, twin]
}

fn what_a_kill_undoes() {
    const KILLED: u64 = 10;
    let write = |version, begun, outcome| Operation {
        begun,
        ended: begun + 1,
        event: Event::Write {
            version,
            replaced: vec![(0, NOTHING)],
            outcome,
        },
    };
    let read = |begun| Operation {
        begun,
        ended: begun + 1,
        event: Event::Read { place: 0, found: 1 },
    };
    // The text of the first write was read, and then another one replaced what had been there
    // before.
    let story = |outcome, read_again| {
        let mut story = vec![write(1, 1, outcome), read(3), write(2, 12, Outcome::Done)];
        story.extend(read_again);
        story
    };
    let undone = story(Outcome::Unknown, None);
    assert!(check(&undone).is_err());
    assert!(check(&without_undone(&undone, KILLED)).is_ok());
    // It was answered, or was there after the kill.
    for lost in [
        story(Outcome::Done, None),
        story(Outcome::Unknown, Some(read(14))),
    ] {
        assert!(check(&without_undone(&lost, KILLED)).is_err());
    }
}

/// What the engine is meant to be.
#[derive(Clone, Default)]
struct Texts([Version; PLACES]);

impl Texts {
    fn allow(&self, replaced: &[(Place, Version)]) -> bool {
        replaced
            .iter()
            .all(|(place, before)| self.0[*place as usize] == *before)
    }

    fn write(&mut self, version: Version, replaced: &[(Place, Version)]) {
        for (place, _) in replaced {
            self.0[*place as usize] = version;
        }
    }
}

impl SequentialSpec for Texts {
    type Op = Event;
    /// What was read, or whether it was written.
    type Ret = Result<Version, bool>;

    fn invoke(&mut self, op: &Event) -> Self::Ret {
        match op {
            Event::Read { place, .. } => Ok(self.0[*place as usize]),
            Event::Write {
                version, replaced, ..
            } => {
                let is_done = self.allow(replaced);
                if is_done {
                    self.write(*version, replaced);
                }
                Err(is_done)
            }
        }
    }

    fn is_valid_step(&mut self, op: &Event, ret: &Self::Ret) -> bool {
        // A write may be refused for other reasons.
        *ret == Err(false) || self.invoke(op) == *ret
    }
}

fn is_linearizable(history: &[Operation]) -> bool {
    // Each operation is a client of its own: what one did after the other, the times say.
    let mut moments: Vec<(u64, bool, usize)> = Vec::new();
    for (number, operation) in history.iter().enumerate() {
        moments.push((operation.begun, false, number));
        moments.push((operation.ended, true, number));
    }
    moments.sort_unstable();
    let mut tester = LinearizabilityTester::new(Texts::default());
    for (_, is_end, number) in moments {
        let event = &history[number].event;
        let answer = match event {
            Event::Read { found, .. } => Some(Ok(*found)),
            Event::Write { outcome, .. } => match outcome {
                Outcome::Done => Some(Err(true)),
                Outcome::Refused => Some(Err(false)),
                Outcome::Unknown => None,
            },
        };
        if !is_end {
            tester.on_invoke(number, event.clone()).unwrap();
        } else if let Some(answer) = answer {
            tester.on_return(number, answer).unwrap();
        }
    }
    tester.is_consistent()
}

/// Some clients at work on an engine that is right, or is wrong now and then.
fn random(random: &mut Rng) -> Vec<Operation> {
    let is_wrong_in = [8, 20, usize::MAX][random.usize(..3)];
    let mut wrong = Rng::with_seed(random.u64(..));
    let mut is_wrong = || wrong.usize(..is_wrong_in) == 0;
    let (mut texts, mut before) = (Texts::default(), Texts::default());
    let mut history: Vec<Operation> = Vec::new();
    // What each client does, and whether that has happened.
    let mut clients: [Option<(u64, Option<Event>)>; CLIENTS] = Default::default();
    let mut seen = [Texts::default(), Texts::default(), Texts::default()];
    let (mut now, mut version) = (0, NOTHING);
    while history.len() < EVENTS {
        now += 1;
        let at = random.usize(..CLIENTS);
        match clients[at].take() {
            None => clients[at] = Some((now, None)),
            Some((begun, None)) => {
                let place = random.usize(..PLACES);
                let of = |place: usize| (u32::try_from(place).unwrap(), seen[at].0[place]);
                let event = if random.bool() {
                    let from = if is_wrong() { &before } else { &texts };
                    seen[at].0[place] = from.0[place];
                    Event::Read {
                        place: u32::try_from(place).unwrap(),
                        found: from.0[place],
                    }
                } else {
                    version += 1;
                    let mut replaced = vec![of(place)];
                    if random.bool() {
                        replaced.push(of((place + 1) % PLACES));
                    }
                    let is_done = texts.allow(&replaced) || is_wrong();
                    if is_done {
                        before = texts.clone();
                        texts.write(version, &replaced);
                    }
                    let outcome = match is_done {
                        _ if random.u8(..4) == 0 => Outcome::Unknown,
                        is_done if is_done != is_wrong() => Outcome::Done,
                        _ => Outcome::Refused,
                    };
                    Event::Write {
                        version,
                        replaced,
                        outcome,
                    }
                };
                clients[at] = Some((begun, Some(event)));
            }
            Some((begun, Some(event))) => history.push(Operation {
                begun,
                ended: now,
                event,
            }),
        }
    }
    history
}
