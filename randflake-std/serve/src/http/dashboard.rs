//! Cached status of a namespace: however many clients look at the page, the store is asked once.

use core::time::Duration;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use metrics::gauge;
use randflake_common::date::whole_ms;
use randflake_common::leases::Snapshot;
use randflake_common::{date, limits};
use randflake_std::lease::{
    Finding, LeaseStore, Occupancy, Quarantine, Record, StoreError, Verdict,
};
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::service::Service;
use crate::service::served_namespace::ServedNamespace;

/// What a node id is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NodeIdState {
    Over,
    Held,
    /// It was not renewed in time, and ends soon.
    Ending,
    /// A copy of its holder has tried to renew it.
    Contested,
}

impl NodeIdState {
    pub(super) fn of(snapshot: &Snapshot, record: &Record) -> Self {
        /// Of a lease of a minute, the usual one: two renewals were missed.
        const SOON: Duration = Duration::from_secs(20);
        let whole = snapshot.end(record).saturating_sub(snapshot.start(record));
        if !snapshot.is_live(record) {
            Self::Over
        } else if record.contested {
            Self::Contested
        // Of a shorter lease its last third: a holder that renews in time, after the first one,
        // never gets there.
        } else if snapshot.remaining(record) <= SOON.min(whole / 3) {
            Self::Ending
        } else {
            Self::Held
        }
    }
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct NodeIdCounts {
    pub(super) held: u64,
    pub(super) ending: u64,
    pub(super) contested: u64,
}

/// How long an answer is cached: shorter than the refresh of the page.
const KEPT: Duration = Duration::from_millis(1_500);
/// How long a reading is waited for.
const PATIENCE: Duration = Duration::from_secs(4);
/// Most cells of the map: more are not told apart.
const MOST_CELLS: u64 = 2_048;
/// Most holders of a list that a person reads.
const MOST_HOLDERS: usize = 20;

/// What the store says of a namespace, as the page gets it.
#[derive(Clone, Serialize)]
pub(super) struct Dashboard {
    #[serde(rename = "leases")]
    counts: NodeIdCounts,
    map: NodeMap,
    /// Those with most node ids: other servers, too.
    pub(super) holders: Vec<BoardHolder>,
    holder_count: usize,
    /// The store's clock minus this machine's.
    skew_ms: i64,
    pub(super) quarantine: Option<ShownQuarantine>,
    forecasts: Vec<ShownForecast>,
}

#[derive(Clone, Serialize)]
pub(super) struct ShownQuarantine {
    since_unix_ms: u64,
    until_unix_ms: u64,
    pub(super) text: String,
}

/// A process that holds leases.
#[derive(Clone, Serialize)]
pub(super) struct BoardHolder {
    holder: String,
    node_ids: u64,
    /// Whether that is this server.
    pub(super) is_this: bool,
    #[serde(skip)]
    pub(super) first_node_id: u32,
}

/// A letter for each cell: the worst state of its node ids, `c`ontested, `e`nding, `h`eld or `.`
/// for free.
#[derive(Clone, Serialize)]
pub(super) struct NodeMap {
    nodes_per_cell: u64,
    cells: String,
}

/// The last status of a namespace, and when it was taken.
type CachedBoard = Option<(Instant, Result<Dashboard, String>)>;

/// The dashboards of all namespaces.
pub(super) struct Dashboards(HashMap<String, Arc<Mutex<CachedBoard>>>);

impl Dashboards {
    pub(super) fn of_all(service: &Service) -> Self {
        let names = service.spaces().map(|space| space.name().to_owned());
        Self(names.map(|name| (name, Arc::default())).collect())
    }

    /// The dashboard of a namespace. A store that is silent is given up early: the page is to say
    /// so, and what the server knows by itself.
    pub(super) async fn of(&self, space: &Arc<ServedNamespace>) -> Result<Dashboard, String> {
        let in_time = timeout(PATIENCE, self.read(space)).await;
        in_time.unwrap_or_else(|_| {
            let seconds = PATIENCE.as_secs();
            Err(format!("the lease store has not answered for {seconds} s"))
        })
    }

    async fn read(&self, space: &Arc<ServedNamespace>) -> Result<Dashboard, String> {
        let Some(kept) = self.0.get(space.name()) else {
            return Err("it is not served".to_owned());
        };
        // Held while the store is asked: who comes meanwhile waits for that answer, and a page that
        // many look at costs one read of all leases.
        let mut kept = Arc::clone(kept).lock_owned().await;
        if let Some((taken, dashboard)) = &*kept
            && taken.elapsed() < KEPT
        {
            return dashboard.clone();
        }
        let asked = Arc::clone(space);
        // A task of its own, with the lock: who waits no longer, as a scrape of a slow store, does
        // not end the read, and must not let the next one begin another.
        let reading = tokio::spawn(async move {
            // The server's own read: it takes no turn of the token that happened to come first.
            let taken = asked
                .read_store(None, |store| Ok(Dashboard::take(store)?))
                .await;
            let dashboard = taken.map_err(|refusal| refusal.detail.unwrap_or(refusal.message));
            // A failure, too: while the store is away, not every look may wait for it.
            *kept = Some((Instant::now(), dashboard.clone()));
            dashboard
        });
        reading
            .await
            .unwrap_or_else(|ended| Err(space.not_done(ended).message))
    }
}

impl Dashboard {
    fn take(store: &mut LeaseStore) -> Result<Self, StoreError> {
        // The store's clock is read at some time between the two: half of the way is the best
        // guess.
        let before = here();
        let theirs = store.now()?;
        let middle = before.midpoint(here());
        let snapshot = Snapshot::take(store)?;
        let total = store.namespace().node_ids();
        let (counts, map) = draw(&snapshot, total);
        let mut holders = holders(&snapshot);
        let holder_count = holders.len();
        holders.truncate(MOST_HOLDERS);
        let live = counts.held + counts.ending + counts.contested;
        note_occupancy(store.namespace().name(), live, total);
        let quarantine = store.administration().current_quarantine()?;
        note_quarantine(store.namespace().name(), quarantine.as_ref());
        let skew_ms = ms(theirs).saturating_sub(middle);
        let forecasts = [
            limits::last_date(store.namespace().spec(), theirs),
            limits::clock_skew(seconds(skew_ms)),
            limits::node_ids(Occupancy { live, total }),
        ];
        Ok(Self {
            counts,
            map,
            holders,
            holder_count,
            skew_ms,
            quarantine: quarantine.map(|quarantine| ShownQuarantine {
                since_unix_ms: whole_ms(quarantine.since),
                until_unix_ms: whole_ms(quarantine.until),
                text: quarantine.to_string(),
            }),
            forecasts: forecasts.map(ShownForecast::from).to_vec(),
        })
    }
}

/// Sets the occupancy as the library's own function does, which would read all leases once more.
#[expect(clippy::cast_precision_loss, reason = "for a ratio")]
fn note_occupancy(namespace: &str, live: u64, total: u64) {
    let ratio = live as f64 / total as f64;
    gauge!("randflake_occupancy_ratio", "namespace" => namespace.to_owned()).set(ratio);
}

/// Sets the end of the quarantine as a handle does at an acquire; one that holds what it needs
/// makes none.
fn note_quarantine(namespace: &str, quarantine: Option<&Quarantine>) {
    let until = quarantine.map_or(Duration::ZERO, |quarantine| quarantine.until);
    let gauge =
        gauge!("randflake_quarantine_end_timestamp_seconds", "namespace" => namespace.to_owned());
    gauge.set(until.as_secs_f64());
}

#[expect(clippy::cast_precision_loss, reason = "it is shown with three digits")]
fn seconds(ms: i64) -> f64 {
    ms as f64 / 1_000.0
}

fn here() -> i64 {
    ms(date::now())
}

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Who holds live leases, those with most node ids first.
fn holders(snapshot: &Snapshot) -> Vec<BoardHolder> {
    let mut by_name: HashMap<&str, (u64, u32)> = HashMap::new();
    for record in snapshot.live() {
        let first = record.grant.node_id;
        by_name.entry(&record.holder).or_insert((0, first)).0 += 1;
    }
    let mut holders: Vec<_> = by_name
        .into_iter()
        .map(|(holder, (node_ids, first_node_id))| BoardHolder {
            holder: holder.to_owned(),
            node_ids,
            is_this: false,
            first_node_id,
        })
        .collect();
    holders.sort_by(|one, other| {
        let order = other.node_ids.cmp(&one.node_ids);
        order.then_with(|| one.holder.cmp(&other.holder))
    });
    holders
}

fn draw(snapshot: &Snapshot, total: u64) -> (NodeIdCounts, NodeMap) {
    const LETTERS: [u8; 4] = *b".hec";
    let nodes_per_cell = total.div_ceil(MOST_CELLS).max(1);
    let cells = usize::try_from(total.div_ceil(nodes_per_cell)).unwrap_or_default();
    let mut worst = vec![0_u8; cells];
    let mut counts = [0_u64; 4];
    for record in snapshot.records() {
        let rank = match NodeIdState::of(snapshot, record) {
            NodeIdState::Over => 0,
            NodeIdState::Held => 1,
            NodeIdState::Ending => 2,
            NodeIdState::Contested => 3,
        };
        counts[usize::from(rank)] += 1;
        let cell = usize::try_from(u64::from(record.grant.node_id) / nodes_per_cell);
        if let Some(cell) = cell.ok().and_then(|cell| worst.get_mut(cell)) {
            *cell = rank.max(*cell);
        }
    }
    let [_, held, ending, contested] = counts;
    let map = NodeMap {
        nodes_per_cell,
        cells: worst
            .iter()
            .map(|rank| char::from(LETTERS[usize::from(*rank)]))
            .collect(),
    };
    let counts = NodeIdCounts {
        held,
        ending,
        contested,
    };
    (counts, map)
}

/// A finding, and what to do about it.
#[derive(Clone, Serialize)]
pub(super) struct ShownForecast {
    name: &'static str,
    level: ForecastLevel,
    value: String,
    advice: Option<String>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum ForecastLevel {
    Fine,
    Caution,
    Wrong,
}

impl From<Finding> for ShownForecast {
    fn from(finding: Finding) -> Self {
        let (level, advice) = match finding.verdict {
            Verdict::Fine => (ForecastLevel::Fine, None),
            Verdict::Caution(sentence) => (ForecastLevel::Caution, Some(sentence)),
            Verdict::Wrong(sentence) => (ForecastLevel::Wrong, Some(sentence)),
            _ => (ForecastLevel::Caution, None),
        };
        Self {
            name: finding.name,
            level,
            value: finding.value,
            advice,
        }
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Mutex as StdMutex, mpsc};

    use randflake_std::lease::{MemoryStore, Namespace};
    use randflake_std::randflake_core::Layout as _;
    use randflake_std::{Randflake, SystemClock};

    use super::*;
    use crate::access::Access;
    use crate::lock::lock;
    use crate::log::RequestLog;

    #[tokio::test]
    async fn however_many_scrapes_give_up_a_slow_store_is_asked_once() {
        let namespace = Namespace::new("orders", Randflake::SPEC).unwrap();
        let store = MemoryStore::new(namespace.clone(), Arc::new(SystemClock));
        let (end, ended) = mpsc::channel::<()>();
        let ended = StdMutex::new(ended);
        let opened = Arc::<AtomicU32>::default();
        let count = Arc::clone(&opened);
        let space = ServedNamespace::new(
            namespace,
            None,
            Box::new(move || {
                count.fetch_add(1, Ordering::Relaxed);
                _ = lock(&ended).recv();
                Ok(store.clone().into())
            }),
        );
        let service = Service::new([space], Access::open(), RequestLog::default());
        let dashboards = Dashboards::of_all(&service);
        let space = service.spaces().next().unwrap();
        for _ in 0..3 {
            let scrape = timeout(Duration::from_millis(20), dashboards.of(space));
            assert!(scrape.await.is_err());
        }
        drop(end);
        assert!(dashboards.of(space).await.is_ok());
        assert_eq!(opened.load(Ordering::Relaxed), 1);
    }
}
