//! History of the leases of a node id, and random histories that the referee watches.

use core::time::Duration;
use std::collections::BTreeMap;

use fastrand::Rng;

use super::{Backend, TTL, eight, patiently, ticks, token};
use crate::store::LeaseStore;
use crate::testkit::referee::Referee;
use crate::types::{
    AcquireRequest, Explanation, Grant, History, Namespace, NodeIds, PastLease, StoreError, Token,
};

const CLIENTS: usize = 4;
const SEEDS: u64 = 4;

pub fn random_histories_grant_no_tick_twice(backend: &impl Backend) {
    let steps = backend.history_steps() / usize::try_from(SEEDS).unwrap();
    let mut opened = 0;
    for seed in 0..SEEDS {
        let mut world = World::new(backend, seed, opened);
        for step in 0..steps {
            eprintln!("seed {seed}, step {step}");
            world.step();
        }
        assert!(
            world.referee.intervals() > steps / 20,
            "too little was granted to mean anything"
        );
        world.check_the_history();
        opened = world.opened;
    }
}

/// Clients of one store with clocks of their own, and what they hold.
struct World<'b, B> {
    backend: &'b B,
    random: Rng,
    namespace: Namespace,
    clients: Vec<Client>,
    /// How many were opened, also in earlier histories.
    opened: usize,
    referee: Referee,
    /// What was granted to whom since the store lost its memory.
    granted: Vec<(Grant, String)>,
    tokens: u128,
}

struct Client {
    store: LeaseStore,
    /// Where the backend counts it.
    number: usize,
    holder: String,
    held: Vec<Grant>,
    /// Held once: released, lost or forgotten in a crash.
    former: Vec<Grant>,
    /// The last acquire, to be repeated.
    last: Option<Ask>,
}

#[derive(Clone, Copy)]
struct Ask {
    token: Token,
    count: u32,
    ttl: u64,
}

impl Ask {
    fn request<'a>(&self, holder: &'a str) -> AcquireRequest<'a> {
        AcquireRequest {
            token: self.token,
            holder,
            nodes: NodeIds::Any(self.count),
            ttl: self.ttl,
        }
    }
}

impl<'b, B: Backend> World<'b, B> {
    fn new(backend: &'b B, seed: u64, opened: usize) -> Self {
        let mut world = Self {
            backend,
            random: Rng::with_seed(seed),
            namespace: eight(&format!("history-{seed}")),
            clients: Vec::new(),
            opened,
            referee: Referee::default(),
            granted: Vec::new(),
            tokens: u128::from(seed) << 64,
        };
        for _ in 0..CLIENTS {
            let client = world.start();
            world.clients.push(client);
        }
        world
    }

    fn start(&mut self) -> Client {
        let number = self.opened;
        self.opened += 1;
        Client {
            store: patiently(|| self.backend.open(&self.namespace)).unwrap(),
            number,
            holder: format!("holder-{number}"),
            held: Vec::new(),
            former: Vec::new(),
            last: None,
        }
    }

    fn step(&mut self) {
        let client = self.random.usize(..CLIENTS);
        match self.random.usize(..100) {
            0..30 => self.acquire_new(client),
            30..62 => self.renew(client),
            62..75 => self.release(client),
            75..79 => self.release_former(client),
            79..82 => self.crash(client),
            82..94 => {
                let span = ticks(self.random.u64(1..=40));
                self.backend.pass(span);
            }
            94..98 => self.step_clock(client),
            98 => {
                let store = &mut self.clients[client].store;
                // A store that has lost its memory may not know it.
                patiently(|| store.administration().create_namespace()).unwrap();
                patiently(|| store.administration().start_quarantine()).unwrap();
                self.pass_the_quarantine();
            }
            _ => {
                self.backend.lose_memory();
                self.granted.clear();
                // Now and then somebody waits for the quarantine; else the others run into it.
                if self.random.usize(..2) == 0 {
                    self.pass_the_quarantine();
                }
            }
        }
    }

    fn acquire_new(&mut self, client: usize) {
        let ask = Ask {
            token: self.new_token(),
            count: u32::try_from(self.random.u64(1..=3)).unwrap(),
            ttl: self.random.u64(1..=60),
        };
        self.clients[client].last = Some(ask);
        self.acquire_last(client);
        if self.random.usize(..4) == 0 {
            // The reply was lost: the holder knows of nothing, and asks again or does not.
            let Client { held, former, .. } = &mut self.clients[client];
            former.extend(held.extract_if(.., |grant| grant.token == ask.token));
        }
    }

    fn acquire_last(&mut self, client: usize) {
        let Client {
            store,
            holder,
            held,
            last: Some(ask),
            ..
        } = &mut self.clients[client]
        else {
            return;
        };
        match patiently(|| store.acquire(&ask.request(holder))) {
            Ok(acquired) => {
                assert_eq!(acquired.grants.len(), ask.count as usize);
                let holder = || holder.clone();
                let granted = acquired.grants.iter().map(|grant| (*grant, holder()));
                self.granted.extend(granted);
                self.referee.granted(&acquired.grants);
                held.extend(acquired.grants);
            }
            Err(StoreError::Exhausted { .. } | StoreError::Quarantined { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }

    fn renew(&mut self, client: usize) {
        let ttl = self.random.u64(1..=60);
        let Client {
            store,
            held,
            former,
            ..
        } = &mut self.clients[client];
        // Also what is not held any more: a process that was paused does not know.
        let asked: Vec<_> = held.iter().chain(&*former).copied().collect();
        let ends = match patiently(|| store.renew(&asked, ttl)) {
            Ok(renewed) => renewed.ends,
            // The store's clock has leapt since: that fails once.
            Err(StoreError::ClockSkew { .. }) => return,
            Err(error) => panic!("{error:?}"),
        };
        assert_eq!(ends.len(), asked.len());
        for (grant, end) in asked.iter().zip(ends) {
            let place = held.iter().position(|other| other == grant);
            match (end, place) {
                (Ok(end), place) => {
                    self.referee.renewed(grant, end);
                    if let Some(place) = place {
                        held[place].end = end;
                    }
                }
                (Err(_), Some(place)) => former.push(held.remove(place)),
                (Err(_), None) => {}
            }
        }
    }

    fn release(&mut self, client: usize) {
        let Client {
            store,
            held,
            former,
            ..
        } = &mut self.clients[client];
        if held.is_empty() {
            return;
        }
        let mut grant = held.swap_remove(self.random.usize(..held.len()));
        // Now and then later than it may be.
        grant.end = grant.start + self.random.u64(1..=grant.end - grant.start + 2) - 1;
        patiently(|| store.release(&[grant])).unwrap();
        self.referee.released(&grant);
        former.push(grant);
    }

    /// As when the reply to a release was lost long ago. Their holder issues nothing from them any
    /// more, so what it says of their ends holds.
    fn release_former(&mut self, client: usize) {
        let Client { store, former, .. } = &mut self.clients[client];
        let random = &mut self.random;
        let late: Vec<_> = former.extract_if(.., |_| random.usize(..4) == 0).collect();
        patiently(|| store.release(&late)).unwrap();
        for grant in &late {
            self.referee.released(grant);
        }
    }

    /// And a restart: what was held is forgotten.
    fn crash(&mut self, client: usize) {
        let mut next = self.start();
        let crashed = &mut self.clients[client];
        next.former = crashed.former.split_off(0);
        next.former.append(&mut crashed.held);
        *crashed = next;
    }

    fn step_clock(&mut self, client: usize) {
        let most = self.backend.history_clock_steps().as_millis();
        let most = i64::try_from(most).unwrap();
        let ms = self.random.i64(1 - most..=most);
        self.backend.step_clock(self.clients[client].number, ms);
    }

    /// Each lease that the store cannot have forgotten, with its holder.
    fn check_the_history(&mut self) {
        let history = patiently(|| self.clients[0].store.history().read(0..=u32::MAX)).unwrap();
        assert_eq!(history.gaps(), []);
        let known: BTreeMap<_, _> = history
            .leases()
            .map(|lease| {
                let Grant {
                    node_id,
                    fencing_token,
                    ..
                } = lease.record.grant;
                ((node_id, fencing_token), &*lease.record.holder)
            })
            .collect();
        for (grant, holder) in &self.granted {
            let place = (grant.node_id, grant.fencing_token);
            assert_eq!(known.get(&place), Some(&&**holder), "{grant:?}");
        }
    }

    fn new_token(&mut self) -> Token {
        self.tokens += 1;
        token(self.tokens)
    }

    fn pass_the_quarantine(&mut self) {
        let mut latest = Duration::ZERO;
        for client in 0..CLIENTS {
            let token = self.new_token();
            let client = &mut self.clients[client];
            let ask = Ask {
                token,
                count: 1,
                ttl: 1,
            };
            match patiently(|| client.store.acquire(&ask.request("prober"))) {
                Ok(acquired) => self.referee.granted(&acquired.grants),
                Err(StoreError::Quarantined { retry_in, .. }) => latest = latest.max(retry_in),
                Err(StoreError::Exhausted { .. }) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
        self.backend.pass(latest);
    }
}

const NODE: u32 = 5;

fn lease(store: &mut LeaseStore, number: u128, holder: &str) -> Grant {
    let request = AcquireRequest {
        token: token(number),
        holder,
        nodes: NodeIds::These(&[NODE]),
        ttl: TTL,
    };
    patiently(|| store.acquire(&request)).unwrap().grants[0]
}

fn history(store: &mut LeaseStore) -> History {
    let history = patiently(|| store.history().read(NODE..=NODE)).unwrap();
    assert_eq!(history.gaps(), []);
    history
}

fn holder(history: &History, tick: u64) -> String {
    match history.explain(NODE, tick) {
        Explanation::Held(lease) => lease.record.holder,
        other => panic!("{tick}: {other:?}"),
    }
}

pub fn the_history_says_who_held_a_node_id(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let first = lease(&mut store, 1, "released");
    backend.pass(ticks(10));
    let end = patiently(|| store.renew(&[first], TTL)).unwrap().ends[0].unwrap();
    assert_eq!(end, first.end + 10);
    let used = Grant {
        end: first.start + 7,
        ..first
    };
    patiently(|| store.release(&[used])).unwrap();
    let second = lease(&mut store, 2, "renewed");
    backend.pass(ticks(10));
    let end = patiently(|| store.renew(&[second], TTL)).unwrap().ends[0].unwrap();
    backend.pass(ticks(2 * TTL));
    let mut another = backend.open(&eight("orders")).unwrap();
    let third = lease(&mut another, 3, "another");

    for store in [&mut store, &mut another] {
        let history = history(store);
        let leases: Vec<&PastLease> = history.leases().collect();
        let ends: Vec<_> = leases.iter().map(|lease| lease.record.grant.end).collect();
        assert_eq!(ends, [used.end, end, third.end]);
        let released: Vec<_> = leases.iter().map(|lease| lease.is_released).collect();
        assert_eq!(released, [true, false, false]);
        let starts: Vec<_> = leases
            .iter()
            .map(|lease| lease.record.grant.start)
            .collect();
        assert_eq!(starts, [first.start, second.start, third.start]);
        for (range, name) in [
            (used.start..used.end, "released"),
            (second.start..end, "renewed"),
            (third.start..third.end, "another"),
        ] {
            for tick in range {
                assert_eq!(holder(&history, tick), name, "{tick}");
            }
        }
        for tick in (used.end..second.start).chain(end..third.start) {
            assert_eq!(history.explain(NODE, tick), Explanation::Nobody, "{tick}");
        }
        // So it is without the rest of the history.
        for tick in [used.start, second.start - 1, second.start, third.start] {
            let explained = patiently(|| store.history().explain(NODE, tick)).unwrap();
            assert_eq!(explained.explanation, history.explain(NODE, tick), "{tick}");
            assert_eq!(explained.gap, None);
        }
    }
    // The store's other node ids have no part in it.
    let all = patiently(|| store.history().read(0..=u32::MAX)).unwrap();
    assert_eq!(all.leases().count(), 3);
    assert_eq!(all.explain(NODE + 1, second.start), Explanation::Nobody);
}

pub fn a_tick_that_nobody_held_is_told(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    let grant = lease(&mut store, 1, "holder");
    let told = history(&mut store);
    assert_eq!(holder(&told, grant.end - 1), "holder");
    assert_eq!(told.explain(NODE, grant.end + 60), Explanation::Ahead);

    // What was granted before, a store that has lost its memory does not say.
    backend.lose_memory();
    store.administration().create_namespace().unwrap();
    let wait = store.administration().start_quarantine().unwrap();
    backend.pass(wait);
    let later = lease(&mut store, 2, "later");
    let told = history(&mut store);
    assert_eq!(holder(&told, later.start), "later");
    let outcome = told.explain(NODE + 1, grant.start - 1);
    assert!(
        matches!(outcome, Explanation::Unknown { known_from, .. } if known_from >= grant.start),
        "{outcome:?}"
    );
    assert_eq!(told.explain(NODE + 1, later.start), Explanation::Nobody);
}
