//! Instructions of 1,024 ids, or of as many texts: counted by valgrind, so the same on a busy
//! machine. `cargo xtask bench instructions` says where valgrind is; otherwise each case is only
//! run once.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking, and prints what it counts"
)]

use core::cell::Cell;
use core::hint::black_box;
use core::sync::atomic::AtomicU64;
use core::time::Duration;
use std::env;
use std::process::Command;
use std::sync::Arc;

use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::randflake_core::{
    AtomicWord, Clock, Codec, Generator, Lease, LocalWord, Permutation, Snowflake, Text,
};
use randflake_std::{Builder, ExactSystemClock, Handle, Id, Layout, LayoutSpec, Plain, Randflake};
use sparx64::{Backend, Sparx64};

const VALGRIND: &str = "RANDFLAKE_VALGRIND";
/// What fits a tick of every layout.
const IDS: usize = 1_024;
const TICK: u64 = 1_000;

/// Each makes what it needs, and hands [`counted`] what counts.
const CASES: [(&str, fn()); 9] = [
    ("generate", || {
        generate::<Randflake, AtomicU64>(cipher());
    }),
    ("generate_snowflake", || {
        generate::<Snowflake, LocalWord<u64>>(Plain);
    }),
    ("handle_generate", || {
        let ids = handle();
        // Its blocks grow to 256 ids, of which the first is issued.
        (0..256).for_each(|_| _ = black_box(ids.generate()));
        let known = black_box(&ids);
        counted(&mut || (0..IDS).for_each(|_| _ = black_box(known.generate())));
    }),
    ("handle_fill", || {
        let (ids, mut buffer) = (handle(), vec![Id::from_u64(0); IDS]);
        counted(&mut || _ = black_box(ids.fill(black_box(&mut buffer))));
    }),
    ("fill", || {
        let ids = generator::<OnBaseline, AtomicU64>(Baseline(cipher()));
        let mut buffer = vec![Id::from_u64(0); IDS];
        counted(&mut || _ = black_box(ids.fill(black_box(&mut buffer))));
    }),
    ("encrypt", || {
        let cipher = cipher();
        counted(&mut || {
            (0..IDS).for_each(|_| _ = black_box(cipher.encrypt_u64(black_box(1))));
        });
    }),
    ("inspect", || {
        let (codec, ids) = (Codec::new(Randflake, cipher()), ids());
        counted(&mut || {
            for &id in &ids {
                _ = black_box(codec.inspect(id));
            }
        });
    }),
    ("text_encode", || {
        let ids = ids();
        counted(&mut || {
            for id in &ids {
                _ = black_box(id.to_text().as_str());
            }
        });
    }),
    ("text_decode", || {
        let texts: Vec<Text> = ids().into_iter().map(Id::to_text).collect();
        counted(&mut || {
            for text in &texts {
                _ = black_box(Id::from_text(text.as_bytes()));
            }
        });
    }),
];

fn main() {
    let case = env::args().nth(1).unwrap_or_default();
    if let Some((_, run)) = CASES.iter().find(|(name, _)| *name == case) {
        return run();
    }
    let valgrind = env::var_os(VALGRIND);
    for (name, run) in CASES {
        match &valgrind {
            None => run(),
            Some(valgrind) => {
                let mut counter = Command::new(valgrind);
                counter
                    .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
                    // Only while that function runs.
                    .arg("--toggle-collect=*counted*")
                    .arg(env::current_exe().expect("this program has a path"))
                    .arg(name);
                println!("{name},{}", collected(&mut counter));
            }
        }
    }
}

/// The number behind `Collected :` in what valgrind says.
fn collected(counter: &mut Command) -> u64 {
    let output = counter.output().expect("valgrind runs");
    let told = String::from_utf8_lossy(&output.stderr);
    let number = told
        .lines()
        .find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    number.unwrap_or_else(|| panic!("valgrind has counted nothing: {told}"))
}

#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
}

fn generate<L: Layout, W: AtomicWord>(permutation: L::Permutation) {
    let ids = generator::<L, W>(permutation);
    let known = black_box(&ids);
    counted(&mut || (0..IDS).for_each(|_| _ = black_box(known.generate())));
}

fn cipher() -> Sparx64 {
    Sparx64::new(b"sixteen byte key")
}

/// The cipher with the instructions that every x86-64 processor has: what is counted does not
/// depend on the machine.
#[derive(Debug)]
struct Baseline(Sparx64);

impl Permutation for Baseline {
    fn permute(&self, raw: u64) -> u64 {
        self.0.encrypt_u64(raw)
    }

    fn permute_all(&self, ids: &mut [u64]) {
        let backend = Backend::available().find(|backend| backend.name() == "sse2");
        self.0
            .encrypt_blocks_with(backend.unwrap_or(Backend::best()), ids);
    }

    fn invert(&self, public: u64) -> u64 {
        self.0.decrypt_u64(public)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OnBaseline;

impl Layout for OnBaseline {
    type Permutation = Baseline;
    const SPEC: LayoutSpec = Randflake::SPEC;
}

struct FixedClock(Cell<Duration>);

impl Clock for FixedClock {
    fn now(&self) -> Option<Duration> {
        Some(self.0.get())
    }
}

fn generator<L: Layout, W: AtomicWord>(permutation: L::Permutation) -> Generator<L, W, FixedClock> {
    let lease = Lease::new(L::default(), 42, TICK, TICK + 60).expect("the lease is of the layout");
    let now = Duration::from_millis(L::SPEC.unix_ms(TICK));
    let clock = FixedClock(Cell::new(now));
    Generator::new(lease, clock, permutation).expect("the word is wide enough")
}

fn handle() -> Handle<OnBaseline> {
    let namespace = Namespace::new("bench", OnBaseline).expect("the name is valid");
    let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
    let builder = Builder::new(OnBaseline, Baseline(cipher()), store);
    builder.build().expect("the store is empty")
}

fn ids() -> Vec<Id> {
    let mut ids: Vec<u64> = (0..1_024).collect();
    cipher().encrypt_blocks(&mut ids);
    ids.into_iter().map(Id::from_u64).collect()
}
