//! Free node ids are found wherever they are, whatever the notes say.

use fastrand::Rng;
use proptest::prelude::*;
use randflake_core::Custom;
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, Namespace, NodeIds, StoreError, Token,
};
use randflake_std::ledger::{Key, Ledger, NodeRecord};

use super::engine::Map;

/// Node ids of a page.
const PAGE: usize = 64;
/// So many node ids are read as a whole.
const SMALL: usize = 4 * PAGE;
const TTL: u64 = 60;

/// A namespace some of whose node ids are leased, and what is known of them beside the records.
struct World {
    namespace: Namespace,
    map: Map,
    store: Ledger<Map>,
    tick: u64,
    /// When each node id's last lease ends; 0 if it has none.
    ends: Vec<u64>,
    random: Rng,
}

impl World {
    /// Of 2^bits node ids, of which a part is leased; the others never were, or not any more.
    fn new(bits: u32, occupancy: f64, seed: u64) -> Self {
        let layout = Custom::in_order([30, bits, 17], 1_700_000_000_000, 1_000).unwrap();
        let namespace = Namespace::of_layout("orders", layout).unwrap();
        let map = Map::default();
        let mut world = Self {
            store: map.open(&namespace),
            namespace,
            map,
            tick: 0,
            ends: vec![0; 1 << bits],
            random: Rng::with_seed(seed),
        };
        world.pass(1_000);
        // Makes the namespace's record.
        let first = world.acquire(1).unwrap()[0];
        world
            .store
            .release(&[Grant {
                end: first.start,
                ..first
            }])
            .unwrap();
        for node_id in 0..world.ends.len() {
            let end = match world.random.f64() {
                chance if chance < occupancy => world.tick + world.random.u64(1..=TTL),
                _ if world.random.f64() < 0.5 => world.tick - world.random.u64(0..TTL),
                _ => continue,
            };
            world.ends[node_id] = end;
            let node_id = u32::try_from(node_id).unwrap();
            let text = NodeRecord {
                node_id,
                start: world.tick - TTL,
                end,
                fencing_token: 2_000,
                serial: 1,
                token: Token::from_bytes([1; 16]),
                nonce: 1,
                held: true,
                contested: false,
                holder: "another".to_owned(),
            }
            .to_text();
            world.map.state().texts.insert(Key::Node(node_id), text);
        }
        world
    }

    fn pass(&mut self, ticks: u64) {
        self.tick += ticks;
        let unix_ms = self.namespace.spec().unix_ms(self.tick);
        self.map.state().now = core::time::Duration::from_millis(unix_ms);
    }

    fn acquire(&mut self, count: usize) -> Result<Vec<Grant>, StoreError> {
        let acquired = self.store.acquire(&AcquireRequest {
            token: Token::random().unwrap(),
            holder: "holder",
            nodes: NodeIds::Any(u32::try_from(count).unwrap()),
            ttl: TTL,
        });
        acquired.map(|acquired| acquired.grants)
    }

    fn free(&self) -> impl Iterator<Item = usize> {
        let is_free = |node_id: &usize| self.ends[*node_id] <= self.tick;
        (0..self.ends.len()).filter(is_free)
    }

    /// Until when each page is noted as full.
    fn notes(&self) -> Vec<u64> {
        let state = self.map.state();
        let notes = (0..self.ends.len().div_ceil(PAGE)).map(|page| {
            let key = Key::Page(u32::try_from(page).unwrap());
            let note = state.texts.get(&key)?;
            note.split_once(':')?.0.parse().ok()
        });
        notes.map(Option::unwrap_or_default).collect()
    }

    /// All that is free and not hidden by a note is found; a refusal says when to come again.
    fn acquires(&mut self, wanted: usize) {
        let wanted = wanted.min(self.ends.len());
        let notes = self.notes();
        let free: Vec<_> = self.free().collect();
        let is_hidden = |node_id: &usize| notes[node_id / PAGE] > self.tick;
        let visible = free.iter().filter(|node_id| !is_hidden(node_id)).count();
        match self.acquire(wanted) {
            Ok(grants) => {
                assert_eq!(grants.len(), wanted);
                for grant in grants {
                    let end = &mut self.ends[grant.node_id as usize];
                    assert!(*end <= self.tick, "{grant:?} was leased until {end}");
                    *end = grant.end;
                }
            }
            Err(StoreError::Exhausted { retry_in }) => {
                assert!(visible < wanted, "{visible} free, {wanted} not found");
                let mut later: Vec<_> = self.ends.iter().filter(|end| **end > self.tick).collect();
                later.sort_unstable();
                let due = *later[wanted - free.len() - 1] - self.tick;
                let told = retry_in.as_secs();
                if self.ends.len() <= SMALL {
                    assert_eq!(told, due);
                } else {
                    assert!(0 < told && told <= due, "{told} of {due}");
                }
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// One of the leases, with its place.
    fn lease(&mut self) -> Option<(usize, Grant)> {
        let len = self.ends.len();
        let first = self.random.usize(..len);
        let mut places = (first..len).chain(0..first);
        let place = places.find(|node_id| self.ends[*node_id] > self.tick)?;
        let node_id = u32::try_from(place).unwrap();
        let state = self.map.state();
        let record = NodeRecord::from_text(node_id, &state.texts[&Key::Node(node_id)]).unwrap();
        Some((place, record.grant()))
    }

    /// What was released is found by whoever comes next.
    fn releases(&mut self) {
        if let Some((place, grant)) = self.lease() {
            let end = self.tick;
            self.store.release(&[Grant { end, ..grant }]).unwrap();
            self.ends[place] = end;
            assert!(self.notes()[place / PAGE] <= self.tick, "it stays hidden");
        }
    }

    fn renews(&mut self) {
        if let Some((place, grant)) = self.lease() {
            let renewed = self.store.renew(&[grant], TTL).unwrap();
            self.ends[place] = renewed.ends[0].unwrap();
        }
    }

    /// Nothing is hidden for longer than all of its page is leased; what is known is what is written.
    fn check(&self) {
        for (page, note) in self.notes().into_iter().enumerate() {
            let of_page = self.ends.chunks(PAGE).nth(page).unwrap();
            let soonest = *of_page.iter().min().unwrap();
            assert!(
                note <= self.tick.max(soonest),
                "page {page}: {note} past {soonest}"
            );
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Acquire(usize),
    Release,
    Renew,
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..=300_usize).prop_map(Step::Acquire),
        2 => (1..=3_usize).prop_map(Step::Acquire),
        3 => Just(Step::Release),
        3 => Just(Step::Renew),
        1 => (1..=30_u64).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        max_shrink_iters: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn free_node_ids_are_found(
        bits in prop_oneof![2 => 4..=8_u32, 4 => 9..=13_u32, 1 => 14..=17_u32],
        occupancy in prop_oneof![0.0..1.0, 0.9..0.999, Just(0.999), Just(1.0)],
        seed: u64,
        steps in steps(),
    ) {
        let mut world = World::new(bits, occupancy, seed);
        world.check();
        for step in steps {
            match step {
                Step::Acquire(wanted) => world.acquires(wanted),
                Step::Release => world.releases(),
                Step::Renew => world.renews(),
                Step::Pass(ticks) => world.pass(ticks),
            }
            world.check();
        }
    }
}

/// In a full namespace, after a search in vain has noted every page.
#[test]
fn a_released_node_id_is_found_at_once() {
    for bits in [4, 8, 9, 12, 16] {
        let mut world = World::new(bits, 1.0, bits.into());
        world.acquires(1);
        for _ in 0..3 {
            world.releases();
            let free: Vec<_> = world.free().collect();
            let grants = world.acquire(1).unwrap();
            let found: Vec<_> = grants.iter().map(|grant| grant.node_id as usize).collect();
            assert_eq!(found, free);
            world.ends[free[0]] = grants[0].end;
        }
    }
}
