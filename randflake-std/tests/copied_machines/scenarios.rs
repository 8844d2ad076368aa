//! A machine is saved, resumed twice and watched.

use core::time::Duration;
use std::collections::HashSet;
use std::fs::File;
use std::io::Write as _;
use std::time::Instant;
use std::{env, fs, thread};

use harness::redis::RedisServer;
use harness::server::spawn;
use randflake_std::lease::{LeaseStore, MAX_SKEW, Record, open};
use tempfile::TempDir;

use crate::image::Image;
use crate::journal::{Figures, Journal, Line, compare};
use crate::machine::{Clock, command, parameters};
use crate::machine::{Machine, PATIENCE};
use crate::namespace;

/// Where the figures go beside the output, if to any file.
const RECORD: &str = "RANDFLAKE_COPIES_RECORD";
/// So many ids are awaited of a copy that has another lease.
const MANY: usize = 200;
/// So many machines are saved until both copies of one go on with the same random numbers.
const TRIES: u32 = 4;

/// A machine that has just renewed its lease for the second time, saved.
struct Saved {
    image: Image,
    /// The machine, which is stopped.
    machine: Machine,
    store: LeaseStore,
    /// What it wrote until it was saved.
    original: Journal,
    /// What it was copied with.
    held: Record,
    folder: TempDir,
    _server: RedisServer,
}

impl Saved {
    fn with(ttl: Duration, clock: Clock) -> Self {
        let server = RedisServer::start();
        let mut store = open(&server.url(), &namespace(ttl)).unwrap();
        store.administration().end_quarantine().unwrap();
        let folder = TempDir::new().unwrap();
        let image = Image::make(folder.path(), parameters(server.port, ttl, clock));
        let mut machine = Machine::boot(&image, folder.path().join("original"));
        machine.wait(|journal| journal.leases().count() == 3);
        machine.save(&folder.path().join("state"));
        let original = machine.journal();
        let held = store.list().unwrap().remove(0);
        Self {
            image,
            machine,
            store,
            original,
            held,
            folder,
            _server: server,
        }
    }

    fn resume(&self, name: &str) -> Machine {
        let folder = self.folder.path();
        Machine::resume(&self.image, folder.join(name), &folder.join("state"))
    }

    fn resume_twice(&self) -> [Machine; 2] {
        ["first", "second"].map(|name| self.resume(name))
    }

    /// Node id and start of its lease.
    fn lease(&self) -> (u32, u64) {
        (self.held.grant.node_id, self.held.grant.start)
    }

    /// Ends both copies, and compares what they wrote.
    fn end(&self, what: &str, copies: [Machine; 2]) -> ([Journal; 2], Figures) {
        self.compare(what, copies.map(|copy| copy.journal()))
    }

    fn compare(&self, what: &str, journals: [Journal; 2]) -> ([Journal; 2], Figures) {
        let [first, second] = &journals;
        let figures = compare(&self.original, self.lease(), [first, second]).unwrap();
        let line = format!("{what}: {figures}");
        println!("{line}");
        if let Some(path) = env::var_os(RECORD) {
            let record = File::options().create(true).append(true).open(path);
            writeln!(record.unwrap(), "  - {line}").unwrap();
        }
        assert!(figures.equal > 0, "the two were no copies");
        (journals, figures)
    }

    /// The record of the lease it was copied with, and those of other leases.
    fn records(&mut self) -> (Record, Vec<Record>) {
        let records = self.store.list().unwrap().into_iter();
        let token = self.held.grant.token;
        let (mut own, others): (Vec<_>, _) =
            records.partition(|record| record.grant.token == token);
        (own.remove(0), others)
    }
}

/// What the machines run, as a process of this one: it renews its lease, and issues under it.
pub(crate) fn without_a_machine() {
    let server = RedisServer::start();
    let ttl = Duration::from_secs(3);
    let mut store = open(&server.url(), &namespace(ttl)).unwrap();
    store.administration().end_quarantine().unwrap();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal");
    let mut process = spawn(command(&server.url(), ttl, &path)).unwrap();
    let started = Instant::now();
    let journal = loop {
        thread::sleep(Duration::from_millis(50));
        let journal = Journal::read(&fs::read_to_string(&path).unwrap_or_default());
        if journal.leases().count() >= 2 {
            break journal;
        }
        assert_eq!(process.try_wait().unwrap(), None, "it has ended");
        assert!(started.elapsed() < PATIENCE, "it does not renew its lease");
    };
    process.kill().unwrap();
    process.wait().unwrap();
    let leases: HashSet<_> = journal.leases().collect();
    let held = store.list().unwrap().remove(0).grant;
    assert_eq!(leases, HashSet::from([(held.node_id, held.start)]));
    assert!(journal.ids().count() > 1, "it issues nothing");
    assert_eq!(journal.ids_after((held.node_id, held.start)), 0);
}

/// The second copy to renew is told, and goes on with another lease under another name.
pub(crate) fn while_the_lease_lives() {
    let mut saved = Saved::with(Duration::from_secs(15), Clock::IsSet);
    let held = saved.lease();
    let mut copies = saved.resume_twice();
    let [first, second] = &mut copies;
    first.wait(|first| {
        let copies = [first, &second.journal()];
        let one_goes_on = copies.iter().any(|copy| copy.ids_after(held) >= MANY);
        let both_have_renewed = copies.iter().all(|copy| copy.leases().count() >= 2);
        one_goes_on || both_have_renewed
    });
    let (journals, _) = saved.end("while the lease lives", copies);
    let [first, second] = journals.map(|journal| journal.has(Line::Contested));
    assert!(first != second, "contested: {first} and {second}");
    let (own, others) = saved.records();
    assert!(own.contested, "{own:?}");
    let [other] = &*others else {
        panic!("{others:?}");
    };
    assert_ne!(other.holder, own.holder);
}

/// Both send one token and one name, and get different node ids.
pub(crate) fn after_the_lease_has_expired() {
    let sent_one_token = (0..TRIES).any(|_| acquire_after_the_lease_has_expired());
    assert!(sent_one_token, "the two were no copies, {TRIES} times");
}

/// Whether both have sent one token. On a busy machine a copy's kernel may have got a new start for
/// its random numbers before it was asked for one.
fn acquire_after_the_lease_has_expired() -> bool {
    let mut saved = Saved::with(Duration::from_secs(6), Clock::IsSet);
    let held = saved.lease();
    let end = saved.store.namespace().spec().unix_ms(saved.held.grant.end);
    while saved.store.now().unwrap() < Duration::from_millis(end) {
        thread::sleep(Duration::from_millis(100));
    }
    let mut copies = saved.resume_twice();
    for copy in &mut copies {
        copy.wait(|journal| journal.ids_after(held) >= MANY);
    }
    let (journals, _) = saved.end("after it has expired", copies);
    assert!(!journals.iter().any(|journal| journal.has(Line::Contested)));
    let (_, others) = saved.records();
    let [first, second] = &*others else {
        panic!("{others:?}");
    };
    assert_eq!(first.holder, second.holder);
    assert_ne!(first.grant.node_id, second.grant.node_id);
    first.grant.token == second.grant.token
}

/// Nobody sets the clocks of the copies: the store answers neither, and both go on until the lease
/// ends by these clocks.
pub(crate) fn with_clocks_that_are_late() {
    let mut saved = Saved::with(Duration::from_secs(6), Clock::IsLeft);
    thread::sleep(MAX_SKEW + Duration::from_secs(2));
    let mut copies = saved.resume_twice();
    for copy in &mut copies {
        copy.wait(|journal| journal.has(Line::Over));
    }
    // They might go on.
    thread::sleep(Duration::from_secs(3));
    let (_, figures) = saved.end("with clocks that are late", copies);
    assert_eq!(figures.after, [0, 0]);
    let (_, others) = saved.records();
    assert!(others.is_empty(), "{others:?}");
}

/// The machine itself goes on, and has renewed its lease when the copy is resumed.
pub(crate) fn beside_the_original() {
    let saved = Saved::with(Duration::from_secs(15), Clock::IsLeft);
    saved.machine.go_on();
    thread::sleep(MAX_SKEW + Duration::from_secs(2));
    let mut copy = saved.resume("copy");
    copy.wait(|journal| journal.has(Line::Over));
    // It might go on.
    thread::sleep(Duration::from_secs(3));
    let original = saved.machine.journal().since(&saved.original);
    let (journals, figures) = saved.compare("beside the original", [original, copy.journal()]);
    let [original, copy] = journals.map(|journal| journal.has(Line::Contested));
    assert!(
        copy && !original,
        "contested: the original {original}, the copy {copy}"
    );
    assert_eq!(figures.after, [0, 0]);
}
