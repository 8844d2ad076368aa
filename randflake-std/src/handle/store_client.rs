//! Store client of a handle, for the first acquire and for the keeper.

use core::time::Duration;

use randflake_lease::backoff::{LONGEST_PAUSE_PER_TTL, Retry, doubled, with_jitter};
use randflake_lease::date::utc;
use randflake_lease::unstable::clock::{self, MonotonicTime, wall_exact};
use randflake_lease::unstable::engine::{LeaseStore, Look};
use randflake_lease::{
    AcquireRequest, Acquisition, Grant, Loss, NodeIds, Renewal, StoreError, Token,
};

use crate::observability::{events, metrics};

/// The first pause after a failure; it doubles with each further one.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(100);

pub(super) struct StoreClient {
    pub(super) store: LeaseStore,
    holder: String,
    /// A copy of the process uses the same name.
    is_name_shared: bool,
    pub(super) ttl: Duration,
    ttl_ticks: u64,
    /// Token of an acquire of unknown outcome, which must be repeated unchanged.
    pending: Option<Token>,
    /// Whether the last call was answered; `None` if there was none since this was taken.
    is_answered: Option<bool>,
}

/// What a look at the store between renewals means for its holder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LookOutcome {
    /// Nothing was lost, as far as is known.
    Same,
    /// The store did not answer.
    Unknown,
    /// Why each lease is lost, if it is; a renewal has something to write.
    Checked(Vec<Option<Loss>>),
    /// All leases are lost with their store, and why.
    StoreLost(String),
}

impl StoreClient {
    pub(super) fn new(store: LeaseStore, holder: String, ttl: Duration) -> Self {
        let ttl_ticks = store.namespace().ticks(ttl);
        // Before the first call: a handle that is never granted a lease counts its failures from 0,
        // and alerts see the first one.
        metrics::begin(store.namespace().name(), ttl, &Loss::ALL.map(Loss::name));
        Self {
            store,
            holder,
            is_name_shared: false,
            ttl,
            ttl_ticks,
            pending: None,
            is_answered: None,
        }
    }

    pub(super) fn namespace(&self) -> &str {
        self.store.namespace().name()
    }

    /// Warns of a TTL that would expire in a quarantine of the server although nothing was lost.
    pub(super) fn warn_of_short_ttl(&self) {
        let least = self.store.namespace().min_lasting_ttl();
        if self.store.is_on_server() && self.ttl < least {
            events::short_ttl(self.namespace(), self.ttl, least);
        }
    }

    /// Reports a secret whose leases are in a file of this machine alone: a library cannot know
    /// whether other machines have the same secret.
    pub(super) fn notify_of_local_leases(&self) {
        if let Some(place) = self.store.local_place_of_secret() {
            events::local(self.namespace(), place);
        }
    }

    /// Looks whether the store is what it was; and whether it has these leases, if it is on a
    /// server of which a call or the connection failed, or does not seem to be what it was.
    pub(super) fn look(&mut self, grants: &[Grant], is_broken: bool) -> LookOutcome {
        let look = if is_broken && self.store.is_on_server() {
            Ok(Look::Changed)
        } else {
            self.store.look()
        };
        let outcome = look.and_then(|look| match look {
            Look::Same => Ok(LookOutcome::Same),
            Look::Lost(why) => Ok(LookOutcome::StoreLost(why)),
            // For a file a renewal costs no more than a look at its leases.
            Look::Changed if !self.store.is_on_server() => {
                Ok(LookOutcome::Checked(vec![None; grants.len()]))
            }
            Look::Changed => {
                let check = self.store.check_leases(grants, self.ttl_ticks)?;
                Ok(if check.is_same() {
                    LookOutcome::Same
                } else {
                    LookOutcome::Checked(check.losses)
                })
            }
        });
        self.note_answer(outcome.as_ref().err());
        match outcome {
            Ok(outcome) => outcome,
            // An outage forgets nothing. A refusal is that of another store, or of other terms.
            Err(StoreError::Unavailable(_)) => LookOutcome::Unknown,
            Err(_) => LookOutcome::Checked(vec![None; grants.len()]),
        }
    }

    /// Whether the last call was answered, if there was one since this was asked last.
    pub(super) fn take_answer(&mut self) -> Option<bool> {
        self.is_answered.take()
    }

    fn note_answer(&mut self, error: Option<&StoreError>) {
        // A refusal is an answer, too.
        self.is_answered = Some(!matches!(error, Some(StoreError::Unavailable(_))));
    }

    /// Takes a new name and token, since a copy of the process has the current ones.
    pub(super) fn rename(&mut self) {
        // Made at the next acquire: without a random source that fails, and is tried again.
        self.is_name_shared = true;
        self.pending = None;
    }

    fn ensure_own_name(&mut self) -> Result<(), StoreError> {
        if self.is_name_shared {
            // Without the random number of before, which `unique` appends anew.
            let name = self
                .holder
                .rsplit_once('/')
                .map_or(&*self.holder, |(name, _)| name);
            self.holder =
                randflake_lease::unstable::holder::unique(name).map_err(StoreError::unavailable)?;
            self.is_name_shared = false;
        }
        Ok(())
    }

    /// Acquires node ids. After an acquire of unknown outcome the next one has its token, and so
    /// gets what that one was granted.
    pub(super) fn acquire(
        &mut self,
        nodes: NodeIds<'_>,
    ) -> Result<(Acquisition, MonotonicTime), StoreError> {
        self.ensure_own_name()?;
        let token = match self.pending {
            Some(token) => token,
            None => Token::random().map_err(StoreError::unavailable)?,
        };
        let request = AcquireRequest {
            token,
            holder: &self.holder,
            nodes,
            ttl: self.ttl_ticks,
        };
        let _span = events::acquire(self.store.namespace().name(), nodes.count());
        // Before the request: measured from then a lease ends here no later than in the store,
        // however long the answer took.
        let sent = MonotonicTime::exact();
        let outcome = self.store.acquire(&request);
        // Any other answer is certain, so the next acquire is a new one.
        self.pending = matches!(outcome, Err(StoreError::Unavailable(_))).then_some(token);
        self.note_answer(outcome.as_ref().err());
        if let Err(error) = &outcome
            // A store that was made a moment ago has not failed: it grants leases in a moment.
            && !matches!(Retry::from(error), Retry::Due(_))
        {
            self.failed("acquire", error);
        }
        let acquired = outcome?;
        if acquired.now >= clock::END {
            self.release_unused(&acquired.grants);
            let (now, end) = (utc(acquired.now), utc(clock::END));
            let error = StoreError::unavailable(format!(
                "its clock shows {now}: times before {end} are allowed"
            ));
            self.failed("acquire", &error);
            return Err(error);
        }
        self.note_skew(acquired.now);
        // It was granted, so no quarantine is left that a metric could show.
        metrics::quarantined(self.namespace(), Duration::ZERO);
        for grant in &acquired.grants {
            let Grant {
                node_id,
                start,
                end,
                fencing_token,
                ..
            } = *grant;
            events::acquired(self.namespace(), node_id, start, end, fencing_token);
        }
        metrics::acquired(self.namespace());
        Ok((acquired, sent))
    }

    pub(super) fn renew(
        &mut self,
        grants: &[Grant],
    ) -> Result<(Renewal, MonotonicTime), StoreError> {
        let _span = events::renew(self.store.namespace().name(), grants.len());
        let sent = MonotonicTime::exact();
        let outcome = self.store.renew(grants, self.ttl_ticks);
        self.note_answer(outcome.as_ref().err());
        let renewed = outcome.inspect_err(|error| self.failed("renew", error))?;
        self.note_skew(renewed.now);
        events::renewed(self.namespace(), grants.len());
        metrics::renewed(self.namespace());
        Ok((renewed, sent))
    }

    pub(super) fn release(&mut self, grants: &[Grant]) -> Result<(), StoreError> {
        // A call for nothing would wait for a store that may be away.
        if grants.is_empty() {
            return Ok(());
        }
        let _span = events::release(self.store.namespace().name(), grants.len());
        let outcome = self.store.release(grants);
        self.note_answer(outcome.as_ref().err());
        outcome.inspect_err(|error| self.failed("release", error))
    }

    fn failed(&self, operation: &'static str, error: &StoreError) {
        events::failed(self.namespace(), error);
        metrics::failed(self.namespace(), operation);
        if let StoreError::Quarantined { quarantine, .. } = error {
            metrics::quarantined(self.namespace(), quarantine.until);
        }
    }

    fn note_skew(&self, now: Duration) {
        metrics::skew(self.namespace(), now, wall_exact().unwrap_or_default());
    }

    /// Releases grants that nothing was issued from; if that fails, they expire.
    pub(super) fn release_unused(&mut self, grants: &[Grant]) {
        let unused: Vec<_> = grants
            .iter()
            .map(|grant| Grant {
                // A lease that ends where it starts leaves the node id free at once.
                end: grant.start,
                ..*grant
            })
            .collect();
        let _ends_by_itself = self.release(&unused);
    }
}

/// Pause after a failed call of the store: what it said, or doubled, and at most a sixth of the
/// TTL.
pub(super) fn failure_pause(error: &StoreError, former_failures: u32, ttl: Duration) -> Duration {
    let longest = ttl / LONGEST_PAUSE_PER_TTL;
    let pause = match error {
        StoreError::Exhausted { retry_in } | StoreError::Quarantined { retry_in, .. } => *retry_in,
        _ => doubled(FIRST_PAUSE, former_failures),
    };
    // At least as long as after a first failure, so that "retry now" of a busy store is no loop; at
    // most a part of the TTL, so that a store that is back before the leases end renews them.
    with_jitter(pause.clamp(FIRST_PAUSE.min(longest), longest))
}

#[cfg(test)]
mod tests {
    #[cfg(all(feature = "tracing", not(miri)))]
    use core::sync::atomic::{AtomicU32, Ordering};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use randflake_core::{Layout, ManualClock, Mastodon};
    use randflake_lease::ExactSystemClock;
    use randflake_lease::MemoryStore;
    use randflake_lease::deferred;
    use randflake_lease::unstable::engine::{Ask, Engine, Profile, Reading};
    use randflake_lease::unstable::rules::{Removal, Write, WriteOutcome};
    use randflake_lease::{EngineError, Namespace};
    #[cfg(all(feature = "tracing", not(miri)))]
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;
    use crate::looked_at::{Sight, looked_at};

    const TTL: Duration = Duration::from_secs(60);

    fn client(store: impl Into<LeaseStore>) -> StoreClient {
        StoreClient::new(store.into(), "test".to_owned(), TTL)
    }

    /// An engine that has become another one.
    #[derive(Debug)]
    struct Refusing;

    fn refused<T>() -> Result<T, EngineError> {
        Err(EngineError::failed_precondition("it is a replica"))
    }

    impl Engine for Refusing {
        fn profile(&self) -> Profile {
            Profile {
                has_own_clock: true,
                ..Profile::at("a replica")
            }
        }

        fn read(&mut self, _: &Ask<'_>) -> Result<Reading, EngineError> {
            refused()
        }

        fn write(&mut self, _: &Write) -> Result<WriteOutcome, EngineError> {
            refused()
        }

        fn namespaces(
            &mut self,
            _: Option<&str>,
        ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
            refused()
        }

        fn remove(&mut self, _: &Removal<'_>) -> Result<(), EngineError> {
            refused()
        }
    }

    /// By this a handle renews early; the renewal then says whether its leases are lost.
    #[test]
    fn refusal_is_checked_and_an_outage_is_not() {
        let namespace = Namespace::new("test", Mastodon).unwrap();
        let store = MemoryStore::new(namespace, Arc::new(ExactSystemClock));
        let mut there = client(store.clone());
        let (acquired, _) = there.acquire(NodeIds::Any(1)).unwrap();
        assert_eq!(there.look(&acquired.grants, true), LookOutcome::Same);
        assert_eq!(there.take_answer(), Some(true));
        let on_server = Sight {
            is_on_server: true,
            ..Sight::default()
        };
        let mut there = client(looked_at(store.clone(), on_server).0);
        assert_eq!(there.look(&acquired.grants, true), LookOutcome::Same);
        store.fail_next(1);
        assert_eq!(there.look(&acquired.grants, true), LookOutcome::Unknown);
        assert_eq!(
            (there.take_answer(), there.take_answer()),
            (Some(false), None)
        );
        let mut refusing = client(LeaseStore::from(store.clone()).wrapped(|_| Refusing));
        assert_eq!(
            refusing.look(&acquired.grants, true),
            LookOutcome::Checked(vec![None])
        );
        assert_eq!(refusing.take_answer(), Some(true));
        store.forget();
        let lost = LookOutcome::Checked(vec![Some(Loss::Forgotten)]);
        assert_eq!(there.look(&acquired.grants, true), lost);
    }

    #[test]
    fn lease_past_the_end_of_clocks_is_released() {
        let clock = Arc::new(ManualClock::at_unix_ms(
            u64::try_from(clock::END.as_millis()).unwrap(),
        ));
        let namespace = Namespace::new("test", Mastodon).unwrap();
        let mut store = MemoryStore::new(namespace, Arc::clone(&clock));
        let message = client(store.clone())
            .acquire(NodeIds::Any(1))
            .unwrap_err()
            .to_string();
        let end = "2500-01-01T00:00:00Z";
        let expected = format!("its clock shows {end}: times before {end} are allowed");
        assert!(message.contains(&expected), "{message}");
        let tick = Mastodon::SPEC.tick_at(clock::END).unwrap();
        let leases = store.list().unwrap();
        assert!(!leases.is_empty() && leases.iter().all(|record| record.grant.end <= tick));
    }

    #[test]
    fn to_release_nothing_asks_no_store() {
        let namespace = Namespace::new("test", Mastodon).unwrap();
        let mut client = client(deferred(&namespace, |_| {
            Err::<MemoryStore, _>(StoreError::unavailable("it is away"))
        }));
        assert!(client.release(&[]).is_ok());
        assert!(client.acquire(NodeIds::Any(1)).is_err());
    }

    #[test]
    #[cfg(all(feature = "tracing", not(miri)))]
    fn clock_past_the_end_is_reported() {
        let end = u64::try_from(clock::END.as_millis()).unwrap();
        let clock = Arc::new(ManualClock::at_unix_ms(end));
        let store = MemoryStore::new(Namespace::new("test", Mastodon).unwrap(), clock);
        let mut client = client(store);
        let count = Arc::new(AtomicU32::new(0));
        let subscriber = tracing_subscriber::registry().with(Count(Arc::clone(&count)));
        tracing::subscriber::with_default(subscriber, || {
            // Another test, without a subscriber, may have reached these events first: then they
            // count as wanted by nobody.
            tracing::callsite::rebuild_interest_cache();
            client.acquire(NodeIds::Any(1)).unwrap_err();
        });
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    /// Counts events, whatever they say.
    #[cfg(all(feature = "tracing", not(miri)))]
    struct Count(Arc<AtomicU32>);

    #[cfg(all(feature = "tracing", not(miri)))]
    impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Count {
        fn on_event(&self, _: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    #[cfg(all(feature = "tracing", not(miri)))]
    fn ttl_below_a_quarantine_on_a_server_is_warned_of() {
        let namespace = Namespace::new("test", Mastodon).unwrap();
        let least = namespace.min_lasting_ttl();
        let in_memory = || LeaseStore::from(MemoryStore::with_system_clock(namespace.clone()));
        let on_server = || in_memory().wrapped(|_| Refusing);
        let shorter = least / 2;
        let warnings = |store, ttl| {
            let count = Arc::new(AtomicU32::new(0));
            let client = StoreClient::new(store, "test".to_owned(), ttl);
            let subscriber = tracing_subscriber::registry().with(Count(Arc::clone(&count)));
            tracing::subscriber::with_default(subscriber, || client.warn_of_short_ttl());
            count.load(Ordering::SeqCst)
        };
        assert_eq!(warnings(on_server(), shorter), 1);
        assert_eq!(warnings(on_server(), least), 0);
        assert_eq!(warnings(in_memory(), shorter), 0);
    }
}
