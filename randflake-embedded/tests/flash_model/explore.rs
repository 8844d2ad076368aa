//! Every state that boots lead to, one after the other, until none is new or one breaks the
//! promise.
//!
//! What is run is the store itself, through its async form: a power cut and a dropped future are a
//! future that nobody polls again. States are visited by the number of boots, so the first that is
//! broken is reached by the fewest.

use core::fmt::{self, Debug, Write as _};
use core::hash::{Hash as _, Hasher as _};
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use std::collections::{BTreeSet, HashMap, HashSet};

use randflake_core::AsyncHorizonStore;

use super::choices::{BuildMixer, Mixer};
use super::designs::{Design, Store as _};
use super::flash::{Flash, Lost, Run, SLOT, World};
use super::slots::Slot;

/// Between any two horizons of a state there is room for others.
const GAP: u32 = 32;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    slots: Vec<Slot>,
    /// A bit that has changed in a firm slot.
    lost: Option<Lost>,
    lost_bits: u32,
    /// The highest horizon that was answered.
    promised: u32,
    /// How many raises in a row were not answered.
    unanswered: u32,
}

/// How a design breaks its promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A boot shows less than was answered, and would issue those ids again.
    Forgotten,
    /// A boot shows nothing at all, and refuses.
    Refused,
    /// A boot shows a horizon that nobody raised to.
    Invented,
    /// A raise failed in which every operation succeeded; with a dead cell, two in a row.
    Failed,
    /// A slot that may have been touched was programmed, on a part where each is programmed once.
    Overwritten,
}

#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) fault: Fault,
    pub(crate) story: String,
}

/// What there was to see.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) states: usize,
    pub(crate) boots: usize,
    /// How many slots a boot reads at most before it knows its horizon.
    pub(crate) reads: usize,
}

/// Goes through all that may happen to a design, from a device that has just been provisioned.
pub(crate) fn explore<D: Design, const SLOTS: usize>(world: &World) -> Result<Seen, Broken> {
    let first = provisioned::<D, SLOTS>(world);
    let mut known = HashSet::<_, BuildMixer>::from_iter([first.clone()]);
    let mut states = vec![Reached {
        state: first,
        from: 0,
        choices: Vec::new(),
    }];
    let mut seen = Seen::default();
    let mut at = 0;
    while let Some(Reached { state, .. }) = states.get(at) {
        let state = state.clone();
        let run = Run::new(world);
        let mut moments = Moments::default();
        loop {
            seen.boots += 1;
            match boot::<D, SLOTS>(&state, &run, &mut moments) {
                Ok(Some(next)) => {
                    if known.insert(next.clone()) {
                        states.push(Reached {
                            state: next,
                            from: at,
                            choices: run.choices.taken(),
                        });
                    }
                }
                Ok(None) => {}
                Err(fault) => {
                    let story = story::<D, SLOTS>(world, &states, at, run.choices.taken());
                    return Err(Broken { fault, story });
                }
            }
            seen.reads = seen.reads.max(run.reads_to_open.get());
            if !run.choices.next_run() {
                break;
            }
        }
        at += 1;
    }
    seen.states = states.len();
    Ok(seen)
}

/// A state, and the boot that led to it: from which, by which choices.
struct Reached {
    state: State,
    from: usize,
    choices: Vec<usize>,
}

/// The boots that lead to a state and then to a fault, told line by line.
fn story<D: Design, const SLOTS: usize>(
    world: &World,
    states: &[Reached],
    mut at: usize,
    last: Vec<usize>,
) -> String {
    let mut boots = vec![(at, last)];
    while at != 0 {
        boots.push((states[at].from, states[at].choices.clone()));
        at = states[at].from;
    }
    let mut lines = Vec::new();
    for (number, (from, choices)) in boots.into_iter().rev().enumerate() {
        let run = Run::telling(world, choices);
        let ended = boot::<D, SLOTS>(&states[from].state, &run, &mut Moments::default());
        lines.push(format!("boot {}:", number + 1));
        lines.extend(run.story.take().into_iter().flatten());
        lines.extend(ended.err().map(|fault| format!("{fault:?}")));
    }
    lines.join("\n")
}

/// What the store itself writes on blank flash, with nothing going wrong. A page that gets stuck
/// has been used before.
fn provisioned<D: Design, const SLOTS: usize>(world: &World) -> State {
    let raises = match world.stuck {
        Some(_) => (world.pages - 1) * (SLOTS - 1) + 1,
        None => 1,
    };
    let calm = World {
        stuck: None,
        ..*world
    };
    let run = Run::new(&calm);
    run.begin(&vec![Slot::BLANK; world.pages * SLOTS], None);
    let mut flash = Flash::<SLOTS> { run: &run };
    let promised = poll(pin!(async {
        let mut store = D::open::<_, SLOT>(&mut flash)
            .await
            .expect("blank flash opens");
        for _ in 0..raises {
            let outcome = store.raise(store.unix_s() + GAP).await;
            assert!(
                outcome.is_ok(),
                "the first choice is that nothing goes wrong"
            );
        }
        store.unix_s()
    }))
    .expect("the first choice is that nothing goes wrong");
    let state = State {
        slots: run.slots.take(),
        lost: None,
        lost_bits: world.lost_bits,
        promised,
        unanswered: 0,
    };
    state.in_small_numbers()
}

/// Moments of the boots from one state, and the choices that first led there: what comes after is
/// the same for all runs that meet at a moment, so only the first goes on.
type Moments = HashMap<u64, u64, BuildMixer>;

/// A moment, as a hash: what is in the flash and what the store knows, which is what its `Debug`
/// form shows.
fn moment(store: &impl Debug, run: &Run<'_>, counts: (u32, u32, u32, u32)) -> u64 {
    struct Hashing(Mixer);
    impl fmt::Write for Hashing {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut hasher = Hashing(Mixer::default());
    let known = (&*run.slots.borrow(), run.lost.get(), run.failures.get());
    (known, counts).hash(&mut hasher.0);
    write!(hasher, "{store:?}").expect("a hasher takes everything");
    hasher.0.finish()
}

/// From one loss of power to the next. `None` where it leads nowhere that another run does not.
fn boot<D: Design, const SLOTS: usize>(
    before: &State,
    run: &Run<'_>,
    moments: &mut Moments,
) -> Result<Option<State>, Fault> {
    let mut state = before.clone();
    if state.lost_bits > 0 {
        lose(&mut state, run);
    }
    run.begin(&state.slots, state.lost);
    let mut flash = Flash::<SLOTS> { run };
    let known = before.horizons();
    {
        let opened_store = poll(pin!(D::open::<_, SLOT>(&mut flash))).flatten();
        let Some(mut store) = opened_store.filter(|store| store.unix_s() > 0) else {
            run.tell(|| "knows no horizon".to_owned());
            let refused = (!run.world.may_refuse).then_some(Fault::Refused);
            return refused.map_or(Ok(None), Err);
        };
        let shown = store.unix_s();
        run.tell(|| format!("shows {shown}; {} was answered", state.promised));
        match shown {
            _ if shown < state.promised => return Err(Fault::Forgotten),
            _ if !known.contains(&shown) => return Err(Fault::Invented),
            _ => {}
        }
        run.failures.set(run.world.failures);
        run.reads_to_open.set(run.reads.get());
        let mut failed = 0;
        for raise in 0..run.world.raises {
            let counts = (state.promised, state.unanswered, failed, raise);
            let place = run.choices.place();
            if *moments.entry(moment(&store, run, counts)).or_insert(place) != place {
                return Ok(None);
            }
            let ways = ways(store.unix_s(), &known, raise == 0);
            // The last way ends the boot, and the one before may erase ahead.
            let erases_ahead = D::ERASES_AHEAD && raise > 0;
            let way = run
                .choices
                .one_of(ways.len() + usize::from(erases_ahead) + 1);
            let failures = run.failures.get();
            let is_answered = match ways.get(way) {
                Some(to) => {
                    run.tell(|| format!("is raised to {to}:"));
                    let is_raised = matches!(poll(pin!(store.raise(*to))), Some(Ok(())));
                    // One try at a page, as after an erase ahead, may fail by a dead cell.
                    let is_refused = !run.is_off.get() && run.failures.get() == failures;
                    failed = if is_raised {
                        0
                    } else {
                        failed + u32::from(is_refused)
                    };
                    is_raised
                }
                None if erases_ahead && way == ways.len() => {
                    run.tell(|| "erases ahead:".to_owned());
                    let before = format!("{store:?}");
                    let is_erased = poll(pin!(store.erase_ahead(u32::MAX))) == Some(true);
                    if format!("{store:?}") == before {
                        // There was nothing to do.
                        return Ok(None);
                    }
                    is_erased
                }
                None => break,
            };
            if is_answered {
                (state.promised, state.unanswered) = (store.unix_s(), 0);
            } else {
                state.unanswered += 1;
            }
            if failed > u32::from(run.world.dead.is_some()) && !run.world.may_refuse {
                return Err(Fault::Failed);
            }
            if run.was_overwritten.get() {
                return Err(Fault::Overwritten);
            }
            if state.unanswered > run.world.unanswered {
                return Ok(None);
            }
            if run.is_off.get() {
                break;
            }
        }
    }
    (state.slots, state.lost) = (run.slots.take(), run.lost.get());
    Ok(Some(state.in_small_numbers()))
}

/// What may be asked of a store that shows this horizon: something in each relation to each horizon
/// that is in the slots, though nothing may show it now. Later raises of a boot go just above the
/// one before.
fn ways(shown: u32, known: &BTreeSet<u32>, is_first: bool) -> Vec<u32> {
    let mut ways = vec![shown + 4];
    if is_first {
        for hidden in known.range(shown + 1..) {
            ways.extend([*hidden, hidden + 4]);
        }
    }
    ways
}

/// While there was no power.
fn lose(state: &mut State, run: &Run<'_>) {
    let bits = Lost::each(&state.slots);
    if let Some(lost) = run.choices.one_of(1 + bits.len()).checked_sub(1) {
        run.tell(|| format!("a bit changes meanwhile: {:?}", bits[lost]));
        state.lost = Some(bits[lost]);
        state.lost_bits -= 1;
    }
}

impl State {
    /// The horizons that slots may show, and the one that was answered.
    fn horizons(&self) -> BTreeSet<u32> {
        let slots = self.slots.iter().flat_map(|slot| slot.horizons());
        slots.chain([self.promised]).collect()
    }

    /// Only the order of the horizons counts, so that there are finitely many states.
    fn in_small_numbers(mut self) -> Self {
        let horizons = self.horizons();
        // Above the mark of a bad page.
        let number = |horizon: u32| {
            let lower = horizons.range(..horizon).count();
            GAP * (2 + u32::try_from(lower).expect("few"))
        };
        for slot in &mut self.slots {
            slot.map_horizons(number);
        }
        self.promised = number(self.promised);
        self
    }
}

/// Polls once: what is pending in the model is never ready.
pub(crate) fn poll<T>(future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}
