//! Random histories of clients, some of them copies of others, watched by the referee.

use core::time::Duration;
use std::sync::Arc;

use proptest::prelude::*;
use randflake_core::{Field, LayoutFields, LayoutSpec, ManualClock};
use randflake_core::{Layout, Plain};
use randflake_lease::{AcquireRequest, Grant, MemoryStore, Namespace, NodeIds, StoreError, Token};

use randflake_lease::testkit::referee::Referee;

const CLIENTS: usize = 4;
const STEPS: usize = 10_000;

/// Four node ids and ticks of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Four;

impl Layout for Four {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field { bits: 40, shift: 2 },
        node_id: Field { bits: 2, shift: 0 },
        sequence: Field { bits: 0, shift: 0 },
        epoch_unix_ms: 1_700_000_000_000,
        tick_ms: 1_000,
    });
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Acquire {
        client: usize,
        chosen: Option<u32>,
    },
    Renew(usize),
    Release(usize),
    Crash(usize),
    /// One client becomes a copy of another.
    Copy {
        of: usize,
        client: usize,
    },
    LoseReplies(u32),
    Forget,
    /// By how many seconds the clock is set ahead or back.
    SetClock(i64),
    PassQuarantine,
}

fn step() -> impl Strategy<Value = Step> {
    let client = || 0..CLIENTS;
    prop_oneof![
        60 => (client(), proptest::option::of(0..4_u32))
            .prop_map(|(client, chosen)| Step::Acquire { client, chosen }),
        60 => client().prop_map(Step::Renew),
        20 => client().prop_map(Step::Release),
        3 => client().prop_map(Step::Crash),
        12 => (client(), client()).prop_map(|(of, client)| Step::Copy { of, client }),
        15 => (1..3_u32).prop_map(Step::LoseReplies),
        1 => Just(Step::Forget),
        30 => (1..40_i64).prop_map(Step::SetClock),
        3 => (-600..600_i64).prop_map(Step::SetClock),
        2 => Just(Step::PassQuarantine),
    ]
}

#[derive(Debug)]
struct Client {
    store: MemoryStore,
    held: Vec<Grant>,
    /// An acquire of unknown outcome, to be repeated.
    pending: Option<(Token, Option<u32>)>,
    /// The state of its random numbers, which copies share.
    random: u128,
}

struct World {
    clock: Arc<ManualClock>,
    clients: Vec<Client>,
    /// How many processes were started.
    started: u128,
    referee: Referee,
    /// Leases that were copied, and which client renewed first since.
    copied: Vec<(Grant, Option<usize>)>,
    told: usize,
}

fn is_same(a: &Grant, b: &Grant) -> bool {
    (a.node_id, a.fencing_token, a.token) == (b.node_id, b.fencing_token, b.token)
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at_unix_ms(1_800_000_000_000));
        let namespace = Namespace::new("copies", Four)
            .unwrap()
            .with_max_ttl(Duration::from_secs(60));
        let store = MemoryStore::new(namespace, Arc::clone(&clock));
        let mut world = Self {
            clock,
            clients: Vec::new(),
            started: 0,
            referee: Referee::default(),
            copied: Vec::new(),
            told: 0,
        };
        for _ in 0..CLIENTS {
            let client = world.start(&store);
            world.clients.push(client);
        }
        world
    }

    fn start(&mut self, store: &MemoryStore) -> Client {
        self.started += 1;
        Client {
            store: store.clone(),
            held: Vec::new(),
            pending: None,
            random: self.started << 64,
        }
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Acquire { client, chosen } => self.acquire(client, chosen),
            Step::Renew(client) => self.renew(client),
            Step::Release(client) => self.release(client),
            Step::Crash(client) => {
                let store = self.clients[client].store.clone();
                self.clients[client] = self.start(&store);
            }
            Step::Copy { of, client } => self.copy(of, client),
            Step::LoseReplies(n) => self.clients[0].store.lose_replies(n),
            Step::Forget => self.clients[0].store.forget(),
            Step::SetClock(seconds) => self.clock.step_ms(1_000 * seconds),
            Step::PassQuarantine => self.clock.advance_ms(340_000),
        }
    }

    fn acquire(&mut self, number: usize, chosen: Option<u32>) {
        let client = &mut self.clients[number];
        let (token, chosen) = client.pending.unwrap_or_else(|| {
            client.random += 1;
            (Token::from_bytes(client.random.to_be_bytes()), chosen)
        });
        let nodes = chosen.as_ref().map(core::slice::from_ref);
        let outcome = client.store.acquire(&AcquireRequest {
            token,
            holder: "the same for all copies",
            nodes: nodes.map_or(NodeIds::Any(1), NodeIds::These),
            ttl: 60,
        });
        client.pending = None;
        match outcome {
            Ok(acquired) => {
                let grant = acquired.grants[0];
                self.referee.granted(&[grant]);
                let mut all = self.clients.iter().flat_map(|client| &client.held);
                assert!(
                    !all.any(|held| is_same(held, &grant)),
                    "two clients were granted one lease: {grant:?}"
                );
                self.clients[number].held.push(grant);
            }
            Err(StoreError::Exhausted { .. } | StoreError::Quarantined { .. }) => {}
            Err(StoreError::Unavailable(_)) => client.pending = Some((token, chosen)),
            Err(error) => panic!("{error:?}"),
        }
    }

    fn renew(&mut self, number: usize) {
        let Client { store, held, .. } = &mut self.clients[number];
        let ends = match store.renew(held, 60) {
            Ok(renewed) => renewed.ends,
            Err(StoreError::Unavailable(_)) => return,
            Err(error) => panic!("{error:?}"),
        };
        for (grant, end) in held.iter_mut().zip(&ends) {
            let copied = self
                .copied
                .iter_mut()
                .find(|(copied, _)| is_same(copied, grant));
            match end {
                Ok(end) => {
                    self.referee.renewed(grant, *end);
                    grant.end = *end;
                    if let Some((_, first)) = copied {
                        let first = *first.get_or_insert(number);
                        assert_eq!(first, number, "two copies have renewed {grant:?}");
                    }
                }
                Err(loss) => self.told += usize::from(loss.name() == "contested"),
            }
        }
        let mut is_renewed = ends.iter().map(Result::is_ok);
        held.retain(|_| is_renewed.next().unwrap_or(false));
    }

    fn release(&mut self, number: usize) {
        let Client { store, held, .. } = &mut self.clients[number];
        let Some(mut grant) = held.pop() else {
            return;
        };
        let is_copied = self
            .copied
            .iter()
            .any(|(copied, _)| is_same(copied, &grant));
        // What a copy may still issue from is not the referee's to give away.
        if !is_copied {
            grant.end = grant.start + (grant.end - grant.start) / 2;
        }
        let outcome = store.release(&[grant]);
        // Also when the answer is lost: nothing more is issued.
        if !is_copied {
            self.referee.released(&grant);
        }
        if let Err(error) = outcome {
            assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
        }
    }

    fn copy(&mut self, of: usize, number: usize) {
        if of == number {
            return;
        }
        let original = &self.clients[of];
        let copy = Client {
            store: original.store.resumed_twice(),
            held: original.held.clone(),
            pending: original.pending,
            random: original.random,
        };
        for grant in &copy.held {
            self.copied.retain(|(copied, _)| !is_same(copied, grant));
            self.copied.push((*grant, None));
        }
        self.clients[number] = copy;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_tick_is_granted_twice_among_copies(steps in proptest::collection::vec(step(), STEPS)) {
        let mut world = World::new();
        for step in steps {
            world.apply(step);
        }
        let granted = world.referee.intervals();
        prop_assert!(granted > STEPS / 100, "only {granted} were granted");
        // Some 35 as a rule, and a third of that now and then.
        prop_assert!(world.told > 0, "no copy was told");
    }
}
