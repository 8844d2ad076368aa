//! A process that issues under short leases, or from a counter, and keeps a ledger of all that it
//! was given.

use core::time::Duration;
use std::env;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio, id};
use std::thread;
use std::time::Instant;

use harness::server::kill;
use randflake_std::lease::{self, LeaseStore, Namespace, StoreError};
use randflake_std::segment::{self, Segments};
use randflake_std::tagged::{TagSecrets, TaggedBuilder, TaggedHandle};
use randflake_std::{AnyLayout, Builder, Feistel53, GenerateError, Handle, Permutation};

use crate::ledger::{BULK, Ledger};
use crate::planted;
use crate::runs::{
    Dense, Dense53, Source, TAGGED_NAMESPACE, namespace, namespace53, secret53, secret64,
    tagged_namespace,
};

/// How a process gets its ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Many at once, on four node ids.
    Bulk,
    /// By a call for each, on two.
    OneByOne,
    /// Many at once, on up to eight node ids: busy and quiet in turns.
    Elastic,
    /// Many at once, and it forks: the child is refused its parent's handle, and issues by one of
    /// its own.
    Forks,
    /// Many at once, up to two ticks ahead of the clock.
    Ahead,
    /// Of 53 bits, in a namespace of their own.
    Bits53,
    /// Tagged UUIDs, in a namespace of their own.
    Tagged,
    /// Sequential numbers.
    Counter,
    /// Many at once; it kills itself when it has been given the first.
    KilledUnwritten,
}

const WAYS: [Way; 9] = [
    Way::Bulk,
    Way::OneByOne,
    Way::Elastic,
    Way::Forks,
    Way::Ahead,
    Way::Bits53,
    Way::Tagged,
    Way::Counter,
    Way::KilledUnwritten,
];

/// How long an elastic process is busy, and then quiet: so long that it gives node ids back.
const TURN: Duration = Duration::from_secs(8);
const FORKS_EVERY: Duration = Duration::from_secs(1);
const CHILD_LIVES: Duration = Duration::from_secs(2);
/// Calls for one id each, between two writes of runs.
const SINGLE: usize = 1 << 10;
/// For a store that answers, or has node ids to grant.
const PAUSE: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(1);
const AHEAD: u32 = 2;

impl Way {
    pub(crate) const fn source(self) -> Source {
        match self {
            Self::Bulk | Self::Elastic | Self::Forks | Self::KilledUnwritten => Source::Bulk,
            Self::OneByOne => Source::OneByOne,
            Self::Ahead => Source::Ahead,
            Self::Bits53 => Source::Bits53,
            Self::Tagged => Source::Tagged,
            Self::Counter => Source::Counter,
        }
    }

    const fn asks_one_by_one(self) -> bool {
        matches!(self, Self::OneByOne | Self::Tagged)
    }
}

const STORE: &str = "SOAK_STORE";
const WAY: &str = "SOAK_WAY";
const TTL: &str = "SOAK_TTL";
const PACE: &str = "SOAK_PACE";
const LEDGER: &str = "SOAK_LEDGER";
const KEYS: &str = "SOAK_KEYS";
const WITHOUT_RULE: &str = "SOAK_WITHOUT_RULE";

/// What an issuing process is told through its environment.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// URL of the store.
    pub(crate) store: String,
    pub(crate) way: Way,
    pub(crate) ttl: Duration,
    /// The most ids in a second.
    pub(crate) pace: u64,
    /// Path of its ledger.
    pub(crate) ledger: PathBuf,
    /// Directory with the key of tagged UUIDs.
    pub(crate) keys: PathBuf,
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
            ttl: Duration::from_secs(number(TTL)?),
            pace: number(PACE)?,
            ledger: env::var_os(LEDGER)?.into(),
            keys: env::var_os(KEYS)?.into(),
            without_rule: env::var_os(WITHOUT_RULE).is_some(),
        })
    }

    pub(crate) fn command(&self) -> Command {
        let way = WAYS.iter().position(|way| *way == self.way).unwrap();
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .env(STORE, &self.store)
            .env(WAY, way.to_string())
            .env(TTL, self.ttl.as_secs().to_string())
            .env(PACE, self.pace.to_string())
            .env(LEDGER, &self.ledger)
            .env(KEYS, &self.keys)
            .stdin(Stdio::null());
        if self.without_rule {
            command.env(WITHOUT_RULE, "");
        }
        command
    }

    fn open(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        let store = lease::open(&self.store, namespace)?;
        Ok(if self.without_rule {
            store.wrapped(planted::Ruleless::over)
        } else {
            store
        })
    }

    fn configured<L, P>(&self, builder: Builder<L, P>) -> Builder<L, P>
    where
        L: AnyLayout,
        P: Permutation + Send + Sync + 'static,
    {
        let builder = builder.ttl(self.ttl);
        match self.way {
            // It has one.
            _ if self.store.starts_with("static:") => builder,
            Way::OneByOne => builder.node_ids(2),
            Way::Elastic => builder.node_ids(1..=8),
            _ => builder.node_ids(4),
        }
    }

    /// Opens the source of ids. None while the store does not answer or has nothing to grant.
    fn issuer(&self) -> Option<Issuer> {
        let ttl = self.ttl;
        Some(match self.way {
            Way::Bits53 => {
                let store = self.open(&namespace53(ttl)).ok()?;
                let builder = Builder::encrypted53(Dense53, &secret53(), store);
                Issuer::Bits53(self.configured(builder).build().ok()?)
            }
            Way::Tagged => {
                let secrets = TagSecrets::open(&self.keys, TAGGED_NAMESPACE).unwrap();
                let order = self.clone();
                let builder =
                    TaggedBuilder::new(Dense, &secrets, move || order.open(&tagged_namespace(ttl)))
                        .ttl(ttl);
                Issuer::Tagged(builder.build().ok()?)
            }
            Way::Counter => {
                let store = segment::open(&self.store, &namespace(ttl)).ok()?;
                Issuer::Counter(Segments::builder(store).build().ok()?)
            }
            _ => {
                let store = self.open(&namespace(ttl)).ok()?;
                let builder = self.configured(Builder::encrypted(Dense, &secret64(), store));
                let ahead = if self.way == Way::Ahead { AHEAD } else { 0 };
                Issuer::Ids(builder.tolerance(ahead).build().ok()?)
            }
        })
    }

    fn wait_for_issuer(&self) -> Issuer {
        loop {
            if let Some(issuer) = self.issuer() {
                return issuer;
            }
            thread::sleep(PAUSE);
        }
    }
}

enum Issuer {
    Ids(Handle<Dense>),
    Bits53(Handle<Dense53, Feistel53>),
    Tagged(TaggedHandle<Dense>),
    Counter(Segments),
}

impl Issuer {
    /// Fills the ledger's room, and returns whether there were ids. A refusal consumes nothing and
    /// is no failure: the lease may be over for a while.
    fn fill(&self, ledger: &mut Ledger, count: usize) -> bool {
        let ids = &mut ledger.begin()[..count];
        let filled = match self {
            Self::Ids(handle) => handle.fill_wait(ids, PATIENCE).ok(),
            Self::Bits53(handle) => handle.fill_wait(ids, PATIENCE).ok(),
            Self::Counter(numbers) => numbers.fill(ids).ok(),
            Self::Tagged(_) => None,
        };
        match (filled, self) {
            (Some(filled), _) => ledger.issued(filled),
            // There is no call that waits and fills.
            (None, Self::Counter(_)) => return self.push(ledger),
            (None, _) => return false,
        }
        true
    }

    /// Adds a single id to the ledger's room, and returns whether there was one.
    fn push(&self, ledger: &mut Ledger) -> bool {
        let id = match self {
            Self::Ids(handle) => handle.generate_wait(PATIENCE).ok(),
            Self::Bits53(handle) => handle.generate_wait(PATIENCE).ok(),
            Self::Tagged(handle) => {
                let uuid = handle.generate_wait(PATIENCE).ok();
                uuid.map(|uuid| handle.secrets().check(uuid).unwrap())
            }
            Self::Counter(numbers) => numbers.next_wait(PATIENCE).ok(),
        };
        id.map(|id| ledger.push(id)).is_some()
    }
}

/// Until it is killed.
pub(crate) fn run(order: &Order) -> ExitCode {
    let mut process = Process::new(order.clone(), &order.ledger);
    let issuer = order.wait_for_issuer();
    let mut forked = process.started;
    loop {
        process.issue(&issuer);
        match order.way {
            Way::Elastic => {
                let turn = process.started.elapsed().as_secs() / TURN.as_secs();
                if turn % 2 == 1 {
                    thread::sleep(Duration::from_millis(20));
                }
            }
            Way::Forks if forked.elapsed() > FORKS_EVERY => {
                process.fork(&issuer);
                forked = Instant::now();
            }
            _ => {}
        }
    }
}

struct Process {
    order: Order,
    ledger: Ledger,
    started: Instant,
    issued: usize,
}

impl Process {
    fn new(order: Order, ledger: &Path) -> Self {
        Self {
            ledger: Ledger::create(ledger, order.way.source().space()),
            order,
            started: Instant::now(),
            issued: 0,
        }
    }

    fn issue(&mut self, issuer: &Issuer) {
        let pace = usize::try_from(self.order.pace).unwrap();
        let (mut calls, mut refusals, mut count) = (0, 0, BULK.min(pace));
        if self.order.way.asks_one_by_one() {
            count = SINGLE.min(pace);
            self.ledger.begin();
            for _ in 0..count {
                calls += 1;
                if !issuer.push(&mut self.ledger) {
                    refusals += 1;
                    break;
                }
            }
        } else {
            calls += 1;
            refusals += u64::from(!issuer.fill(&mut self.ledger, count));
        }
        self.ledger.count(calls, refusals);
        if refusals == 0 && self.order.way == Way::KilledUnwritten {
            kill(id().cast_signed());
        }
        self.ledger.commit();
        self.issued += count;
        let due = Duration::from_secs_f64(self.issued as f64 / pace as f64);
        thread::sleep(due.saturating_sub(self.started.elapsed()));
    }

    /// The child ends by itself, or with this process. Its ledger is its own.
    #[expect(unsafe_code, reason = "forking is a system call")]
    fn fork(&self, issuer: &Issuer) {
        let parent = id();
        // SAFETY: the child leaves by `_exit`. It allocates, which the C library allows after a
        // fork.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child > 0 {
            // SAFETY: it only asks for children that have ended before, and there is nowhere to
            // write to.
            unsafe { libc::waitpid(-1, core::ptr::null_mut(), libc::WNOHANG) };
            return;
        }
        // SAFETY: the call takes numbers alone.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        if parent_id() != parent {
            // It was killed before the call, so no signal comes.
            // SAFETY: it ends the child at once.
            unsafe { libc::_exit(0) };
        }
        if let Issuer::Ids(handle) = issuer {
            assert_eq!(handle.generate(), Err(GenerateError::InForkedChild));
        }
        let order = Order {
            way: Way::OneByOne,
            ..self.order.clone()
        };
        let mut own = Self::new(order, &child_ledger(&self.order.ledger, id()));
        let (issuer, begun) = (own.order.wait_for_issuer(), Instant::now());
        own.ledger.count_fork();
        while begun.elapsed() < CHILD_LIVES {
            own.issue(&issuer);
        }
        // SAFETY: it ends the child at once; its lease expires.
        unsafe { libc::_exit(0) };
    }
}

/// Ledger of a forked child, beside its parent's.
fn child_ledger(parent: &Path, child: u32) -> PathBuf {
    parent.with_extension(format!("{CHILD}{child}"))
}

/// Extensions of ledgers of forked children begin with it.
pub(crate) const CHILD: &str = "child-";
