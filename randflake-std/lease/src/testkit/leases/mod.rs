//! The contract of lease stores, for every store to be run against.
//!
//! A backend's file implements [`Backend`] and calls `lease_contract!` with an expression that
//! makes an empty store; each test gets its own.

mod acquire;
mod catalog;
mod devices;
mod history;
mod hold;
mod keys;
mod trouble;
mod versions;

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::store::LeaseStore;
use crate::types::{
    AcquireRequest, Acquisition, Grant, Namespace, NodeIds, Record, Renewal, StoreError, Token,
};
use randflake_core::{Field, LayoutFields, LayoutSpec};
use randflake_core::{Layout, Plain, Randflake};

pub use acquire::*;
pub use catalog::*;
pub use devices::*;
pub use history::*;
pub use hold::*;
pub use keys::*;
pub use trouble::*;
pub use versions::*;

/// A store that starts empty, and its clients.
pub trait Backend {
    /// Another client, of any namespace.
    fn open(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError>;

    /// The names of its namespaces, without opening one.
    fn names(&self) -> Vec<String>;

    /// A namespace as it is stored.
    fn find(&self, name: &str) -> Option<Namespace>;

    /// Lets time pass for all clients: they have one clock, unless told otherwise.
    fn pass(&self, span: Duration) {
        self.step_clock(0, i64::try_from(span.as_millis()).unwrap());
    }

    /// Sets the clock of one client, or the store's if it has one, ahead or back. Clients count in
    /// the order in which they were opened.
    fn step_clock(&self, client: usize, ms: i64);

    /// Lets the store lose all its records, in a way that it should notice.
    fn lose_memory(&self);

    /// How many node ids an acquire may ask for at most, so that it is answered in time on a busy
    /// machine.
    fn at_once(&self) -> u32 {
        8_192
    }

    /// The namespace that is filled but for a few node ids. It must have 4,096 at least.
    fn filled(&self) -> Namespace {
        Namespace::new("orders", Randflake).unwrap()
    }

    /// How many steps a random history has: thousands where they are cheap.
    fn history_steps(&self) -> usize {
        10_000
    }

    /// How far a clock steps in a random history. Within the allowed skew where nothing but the
    /// clock is left to a store that has lost its memory.
    fn history_clock_steps(&self) -> Duration {
        Duration::from_secs(3_600)
    }
}

/// Writes a test for each promise of the contract of leases.
///
/// Its argument makes a [`Backend`] with an empty store: each test has its own.
#[macro_export]
macro_rules! lease_contract {
    ($backend:expr) => {
        $crate::lease_contract! { $backend;
            a_grant_begins_now,
            several_node_ids_at_once,
            all_or_nothing,
            node_ids_are_used_again,
            what_cannot_be_granted_is_refused,
            namespaces_do_not_meet,
            a_namespace_keeps_its_terms,
            a_longest_ttl_that_is_not_named_is_the_default_one,
            a_nearly_full_namespace_works_as_an_empty_one,
            many_clients_at_once,
            a_renewal_moves_the_end,
            a_renewal_never_shortens,
            a_lease_that_is_over_cannot_be_renewed,
            a_release_frees_the_rest,
            a_release_never_lengthens,
            a_release_counts_once,
            what_was_not_used_is_granted_in_the_same_tick,
            only_the_holder_of_a_grant_can_change_it,
            what_was_answered_is_kept,
            a_clock_that_steps_back_frees_nothing,
            a_clock_outside_the_layout_is_refused,
            the_last_tick_cuts_a_lease_short,
            a_chosen_node_id_is_leased_from_the_same_records,
            a_copy_of_a_holder_is_noticed,
            a_copied_grant_is_contested,
            a_repeated_request_gets_the_same_answer,
            a_false_start_is_refused,
            a_request_s_name_is_used_once,
            a_lease_that_is_named_twice_is_refused,
            a_lease_that_vanished_sets_a_quarantine,
            a_quarantine_holds_until_everything_has_expired,
            a_quarantine_can_be_ended,
            a_namespace_that_was_made_anew_ends_every_lease,
            a_store_that_forgot_waits,
            diagnosis_reports_the_quarantine_and_only_reads,
            namespaces_are_found_as_they_were_made,
            several_namespaces_are_told_apart,
            dropped_namespace_is_reopened_by_a_person_only,
            who_wakes_after_a_drop_closes_nothing,
            a_secret_is_of_one_namespace,
            of_two_that_race_one_gets_the_secret,
            a_namespace_of_53_bit_ids_issues_no_others,
            a_next_key_is_for_all_from_their_next_lease_on,
            only_the_key_of_tagged_uuids_changes,
            who_has_no_key_leases_no_tagged_uuids,
            of_two_next_keys_that_race_one_is_taken,
            the_history_says_who_held_a_node_id,
            a_tick_that_nobody_held_is_told,
            what_a_later_version_has_added_is_kept,
            two_versions_share_a_namespace,
            an_upgrade_waits_for_older_holders,
            older_holder_writes_nothing_after_an_upgrade,
            random_histories_grant_no_tick_twice,
            a_device_is_served_by_one_server_after_the_other,
            a_released_lease_of_a_device_is_free,
            a_device_has_an_owner_and_a_counter,
            a_new_device_is_registered_once,
            a_large_write_is_all_or_nothing,
            a_read_gives_what_was_asked_for,
            nothing_is_written_or_removed_beside_its_condition,
        }
    };
    ($backend:expr; $($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                $crate::testkit::leases::$name(&$backend);
            }
        )*
    };
}

/// Where the tests' clocks begin: long after the layouts' epochs.
pub const BEGIN_UNIX_MS: u64 = 1_800_000_000_000;

/// Eight node ids and ticks of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Eight;

impl Layout for Eight {
    type Permutation = Plain;
    const SPEC: LayoutSpec = LayoutSpec::declare(LayoutFields {
        timestamp: Field { bits: 40, shift: 8 },
        node_id: Field { bits: 3, shift: 5 },
        sequence: Field { bits: 5, shift: 0 },
        epoch_unix_ms: 1_700_000_000_000,
        tick_ms: 1_000,
    });
}
pub fn eight(name: &str) -> Namespace {
    Namespace::new(name, Eight).unwrap()
}

pub const TTL: u64 = 60;

pub fn token(number: u128) -> Token {
    Token::from_bytes(number.to_be_bytes())
}

/// An acquire of `TTL` ticks.
pub fn acquire(
    store: &mut LeaseStore,
    number: u128,
    count: u32,
) -> Result<Acquisition, StoreError> {
    acquire_as(store, "holder", number, count)
}

pub fn acquire_as(
    store: &mut LeaseStore,
    holder: &str,
    number: u128,
    count: u32,
) -> Result<Acquisition, StoreError> {
    store.acquire(&AcquireRequest {
        token: token(number),
        holder,
        nodes: NodeIds::Any(count),
        ttl: TTL,
    })
}

/// Asks again where a busy machine is late for a short TTL. What is repeated is known by its token
/// or nonce.
pub fn patiently<T>(mut ask: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    const TRIES: usize = 100;
    let tries = (0..TRIES).map(|_| ask());
    let mut answers = tries.skip_while(|answer| matches!(answer, Err(StoreError::Unavailable(_))));
    answers.next().unwrap_or_else(ask)
}

/// An acquire which must succeed.
pub fn acquire_some(store: &mut LeaseStore, number: u128, count: u32) -> Vec<Grant> {
    let request = AcquireRequest {
        token: token(number),
        holder: "holder",
        nodes: NodeIds::Any(count),
        ttl: TTL,
    };
    patiently(|| store.acquire(&request)).unwrap().grants
}

pub fn acquire_one(store: &mut LeaseStore, number: u128) -> Grant {
    acquire_some(store, number, 1)[0]
}

/// A renewal after the store's clock has leapt: where that is watched, it fails once.
pub fn renew_after_a_leap(store: &mut LeaseStore, grants: &[Grant]) -> Renewal {
    match store.renew(grants, TTL) {
        Err(StoreError::ClockSkew { .. }) => store.renew(grants, TTL).unwrap(),
        outcome => outcome.unwrap(),
    }
}

pub fn record_of(store: &mut LeaseStore, node_id: u32) -> Record {
    let records = store.list().unwrap();
    let record = records
        .into_iter()
        .find(|record| record.grant.node_id == node_id);
    record.unwrap()
}

pub fn ticks(n: u64) -> Duration {
    Duration::from_millis(n * Eight::SPEC.tick_ms())
}

pub fn tick_at(now: Duration) -> u64 {
    Eight::SPEC.tick_at(now).unwrap()
}

/// Declares a namespace new when its store is opened for the first time at a place: on a server,
/// one that is not there may have been lost, and waits. Later stores find what the test has made of
/// it.
pub fn declared_new(place: &str, mut store: LeaseStore) -> Result<LeaseStore, StoreError> {
    static DECLARED: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());
    let place = (place.to_owned(), store.namespace().name().to_owned());
    // Kept meanwhile: a test that starts at the same time waits for it.
    let mut declared = DECLARED.lock().unwrap();
    if !declared.contains(&place) {
        store.administration().end_quarantine()?;
        declared.insert(place);
    }
    Ok(store)
}
