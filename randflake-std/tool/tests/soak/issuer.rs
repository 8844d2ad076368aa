//! A process that issues under short leases, takes its ids apart again, and writes them as runs to its standard output.

use core::time::Duration;
use std::env;
use std::fs::File;
use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Instant;

use randflake_std::lease::{self, LeaseStore, Namespace, StoreError};
use randflake_std::randflake_core::{Field, LayoutFields};
use randflake_std::{
    Builder, GenerateError, Handle, Id, Layout, LayoutSpec, Permutation, Secret, Sparx64,
};

use crate::planted;
use crate::runs::{NODE_BITS, Run, SEQUENCE_BITS, append};
use crate::schedule;

pub(crate) const TTL: Duration = Duration::from_secs(schedule::TTL as u64);
pub(crate) const KEY: &str = "dffd6021bb2bd5b0af676290809ec3a5";
pub(crate) const NAMESPACE: &str = "soak";
/// [`Dense`] for `randflake serve`.
pub(crate) const LAYOUT: &str = "encrypted:custom:40,7,17@1730000000000/1000";

/// So few node ids that those of others soon come into use again, and as many ids in each tick as a layout of seconds has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dense;

impl Layout for Dense {
    type Permutation = Sparx64;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field {
            bits: 40,
            shift: NODE_BITS + SEQUENCE_BITS,
        },
        node_id: Field {
            bits: NODE_BITS,
            shift: SEQUENCE_BITS,
        },
        sequence: Field {
            bits: SEQUENCE_BITS,
            shift: 0,
        },
        epoch_unix_ms: 1_730_000_000_000,
        tick_ms: 1_000,
    });
}

/// Leases of at most `TTL`, so that what a store may have forgotten is soon over.
pub(crate) fn namespace() -> Namespace {
    Namespace::new(NAMESPACE, Dense).unwrap().with_max_ttl(TTL)
}

pub(crate) fn cipher() -> Sparx64 {
    Secret::from_hex(KEY).unwrap().cipher()
}

/// How a process gets its ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Many at once, on four node ids.
    Bulk,
    /// By a call for each, on two.
    OneByOne,
    /// Many at once, on up to eight node ids: busy and quiet in turns.
    Elastic,
    /// Many at once, and it forks: the child is refused its parent's handle, and issues by one of its own.
    Forks,
}

const WAYS: [Way; 4] = [Way::Bulk, Way::OneByOne, Way::Elastic, Way::Forks];
/// How long an elastic process is busy, and then quiet: so long that it gives node ids back.
const TURN: Duration = Duration::from_secs(8);
const FORKS_EVERY: Duration = Duration::from_secs(1);
const CHILD_LIVES: Duration = Duration::from_secs(2);
/// Ids asked for at once.
const BULK: usize = 1 << 14;
/// Ids between two writes: what was not written when a process is killed was issued to nobody.
const SINGLE: usize = 1 << 10;

/// A record that is no run, but the number of something.
pub(crate) const NOTE: u64 = u64::MAX;
pub(crate) const CALLS: u32 = 0;
pub(crate) const REFUSALS: u32 = 1;
pub(crate) const FORKS: u32 = 2;

const STORE: &str = "SOAK_STORE";
const WAY: &str = "SOAK_WAY";
const PACE: &str = "SOAK_PACE";
const WITHOUT_RULE: &str = "SOAK_WITHOUT_RULE";

/// What an issuing process is told through its environment.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// URL of the store.
    pub(crate) store: String,
    pub(crate) way: Way,
    /// The most ids in a second.
    pub(crate) pace: u64,
    /// Whether it grants itself what others have leased.
    pub(crate) without_rule: bool,
}

impl Order {
    /// The order of this process, if it is one that issues.
    pub(crate) fn from_env() -> Option<Self> {
        let number = |name| env::var(name).ok()?.parse::<u64>().ok();
        Some(Self {
            store: env::var(STORE).ok()?,
            way: WAYS[usize::try_from(number(WAY)?).ok()?],
            pace: number(PACE)?,
            without_rule: env::var_os(WITHOUT_RULE).is_some(),
        })
    }

    pub(crate) fn command(&self) -> Command {
        let way = WAYS.iter().position(|way| *way == self.way).unwrap();
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .env(STORE, &self.store)
            .env(WAY, way.to_string())
            .env(PACE, self.pace.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        if self.without_rule {
            command.env(WITHOUT_RULE, "");
        }
        command
    }

    fn store(&self) -> Result<LeaseStore, StoreError> {
        let store = lease::open(&self.store, &namespace())?;
        Ok(if self.without_rule {
            store.wrapped(planted::Ruleless::over)
        } else {
            store
        })
    }

    /// Until the store answers and has node ids to grant.
    fn handle(&self) -> Handle<Dense> {
        loop {
            let builder = self.store().map(|store| {
                let builder = Builder::new(Dense, cipher(), store).ttl(TTL);
                match self.way {
                    // It has one.
                    _ if self.store.starts_with("static:") => builder,
                    Way::Bulk | Way::Forks => builder.node_ids(4),
                    Way::OneByOne => builder.node_ids(2),
                    Way::Elastic => builder.node_ids(1..=8),
                }
            });
            match builder.map_err(Into::into).and_then(Builder::build) {
                Ok(handle) => return handle,
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    }
}

/// Until it is killed.
pub(crate) fn run(order: &Order) -> ExitCode {
    let mut output = Output::new(order.pace);
    let handle = order.handle();
    let (mut ids, started) = (vec![Id::from_u64(0); BULK], Instant::now());
    let mut forked = started;
    loop {
        issue(order.way, &handle, &mut ids, &mut output);
        match order.way {
            Way::Elastic => {
                let turn = started.elapsed().as_secs() / TURN.as_secs();
                if turn % 2 == 1 {
                    thread::sleep(Duration::from_millis(20));
                }
            }
            Way::Forks if forked.elapsed() > FORKS_EVERY => {
                fork(order, &handle, &mut output);
                forked = Instant::now();
            }
            _ => {}
        }
    }
}

fn issue(way: Way, handle: &Handle<Dense>, ids: &mut [Id], output: &mut Output) {
    const PATIENCE: Duration = Duration::from_secs(1);
    let count = if way == Way::OneByOne { SINGLE } else { BULK };
    let ids = &mut ids[..count.min(output.pace)];
    let (mut calls, mut refusals) = (0, 0);
    let mut filled = 0;
    if way == Way::OneByOne {
        for id in &mut *ids {
            calls += 1;
            // A refusal consumes nothing and is no failure: the lease may be over for a while.
            let Ok(next) = handle.generate_wait(PATIENCE) else {
                refusals += 1;
                break;
            };
            *id = next;
            filled += 1;
        }
    } else {
        calls += 1;
        match handle.fill_wait(ids, PATIENCE) {
            Ok(count) => filled = count,
            Err(_) => refusals += 1,
        }
    }
    output.write(&ids[..filled], &[(CALLS, calls), (REFUSALS, refusals)]);
}

/// Where runs are written to.
struct Output {
    pipe: File,
    cipher: Sparx64,
    raws: Vec<u64>,
    runs: Vec<Run>,
    /// The most ids in a second.
    pace: usize,
    started: Instant,
    issued: u64,
}

impl Output {
    fn new(pace: u64) -> Self {
        Self {
            pipe: File::create("/dev/stdout").unwrap(),
            cipher: cipher(),
            raws: Vec::new(),
            runs: Vec::new(),
            pace: usize::try_from(pace).unwrap(),
            started: Instant::now(),
            issued: 0,
        }
    }

    fn write(&mut self, ids: &[Id], notes: &[(u32, u32)]) {
        self.raws.clear();
        self.raws.extend(ids.iter().map(|id| id.to_u64()));
        self.cipher.invert_all(&mut self.raws);
        self.runs.clear();
        append(&mut self.runs, &self.raws);
        for (first, last) in notes.iter().filter(|(_, number)| *number > 0) {
            self.runs.push(Run {
                place: NOTE,
                first: *first,
                last: *last,
            });
        }
        // A child may write beside its parent: what a pipe takes at once is not mixed.
        for runs in self.runs.chunks(256) {
            let bytes: Vec<u8> = runs.iter().flat_map(|run| run.to_bytes()).collect();
            self.pipe.write_all(&bytes).unwrap();
        }
        self.issued += u64::try_from(ids.len()).unwrap();
        let due = Duration::from_secs_f64(self.issued as f64 / self.pace as f64);
        thread::sleep(due.saturating_sub(self.started.elapsed()));
    }
}

/// The child ends by itself, or with this process.
#[expect(unsafe_code, reason = "forking is a system call")]
fn fork(order: &Order, handle: &Handle<Dense>, output: &mut Output) {
    // SAFETY: the child leaves by `_exit`. It allocates, which the C library allows after a fork.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child > 0 {
        // SAFETY: it only asks for children that have ended before, and there is nowhere to write to.
        unsafe { libc::waitpid(-1, core::ptr::null_mut(), libc::WNOHANG) };
        return;
    }
    // SAFETY: the call takes numbers alone.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    assert_eq!(handle.generate(), Err(GenerateError::InForkedChild));
    let own = Order {
        way: Way::OneByOne,
        ..order.clone()
    };
    let (own, begun) = (own.handle(), Instant::now());
    let mut ids = vec![Id::from_u64(0); SINGLE];
    output.write(&[], &[(FORKS, 1)]);
    while begun.elapsed() < CHILD_LIVES {
        issue(Way::OneByOne, &own, &mut ids, output);
    }
    // SAFETY: it ends the child at once; its lease expires.
    unsafe { libc::_exit(0) };
}
