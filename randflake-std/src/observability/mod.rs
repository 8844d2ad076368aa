//! Events and metrics of a handle, with the features `tracing` and `metrics`. Without these
//! features nothing is compiled in. With both, and no subscriber or recorder installed, generating
//! an id takes one more instruction.
//!
//! # Events (feature `tracing`)
//!
//! All have the target `randflake_std` and the field `namespace`. Events of a store call are inside
//! its span: `acquire`, `renew` or `release`, with the field `count`.
//!
//! | event                 | level | fields                                     |
//! |-----------------------|-------|--------------------------------------------|
//! | `lease acquired`      | info  | `node_id`, `start`, `end`, `fencing_token` |
//! | `waiting for a lease` | warn  | `limit_s`, `error`: a [build](crate::Builder::wait) waits |
//! | `short TTL`           | warn  | `ttl_s`, `least_s`: leases on a server would not [outlast](crate::lease::Namespace::min_lasting_ttl) a quarantine |
//! | `leases are local`    | info  | `place`: the leases of a secret are this machine's or this process's alone. Another machine that has the secret may issue equal ids: use one store on a server |
//! | `leases renewed`      | debug | `count`                                    |
//! | `lease lost`          | warn  | `node_id`, `reason`: see [`Loss`]          |
//! | `store lost`          | warn  | `why`: a look between renewals found the store gone, another, or older |
//! | `node ids held`       | info  | `held`, `wanted`: of an elastic handle, when they change |
//! | `short of node ids`   | warn  | `held`, `wanted`, `error`: the store grants no more |
//! | `store clock stepped` | warn  | `by_ms`: positive when it jumped ahead      |
//! | `store call failed`   | warn  | `error`                                    |
//! | `key rotated`         | info  | `key_number`: a [`TaggedHandle`] issues under it from now on |
//! | `key file missing`    | warn  | `key_number`, `file`: a [`TaggedHandle`] stops at the end of its lease without it |
//! | `key not used`        | warn  | `key_number`, `error`: a [`TaggedHandle`] got no lease under it, and tries again |
//! | `keys not read`       | warn  | `error`: a [`TaggedHandle`] goes on with the keys that it has |
//!
//! # Metrics (feature `metrics`)
//!
//! All have the label `namespace`. The keeper's thread reports them to the installed recorder: when
//! a handle is built, at each renewal, when an elastic handle takes or gives back node ids, and
//! when it is closed; counters of ids and exhaustions each second, and later only while the store
//! keeps the thread waiting. Every counter is there with 0 from the time a build begins, with each
//! value of its other label, so that the first event is an increase.
//!
//! | name                                | kind    | what                                                |
//! |-------------------------------------|---------|-----------------------------------------------------|
//! | `randflake_lease_expires_timestamp_seconds` | gauge | when the last lease expires, as Unix time; 0 once the handle is closed |
//! | `randflake_lease_ttl_seconds`       | gauge   | how long a lease lasts unless it is renewed         |
//! | `randflake_quarantine_end_timestamp_seconds` | gauge | when the store's quarantine ends, as Unix time; 0 when an acquire found none |
//! | `randflake_leases_held`             | gauge   | node ids of the handle with a live lease            |
//! | `randflake_node_ids_wanted`         | gauge   | node ids that the load of an elastic handle needs |
//! | `randflake_acquires_total`          | counter | calls that were granted                             |
//! | `randflake_renewals_total`          | counter | calls that were answered                            |
//! | `randflake_store_failures_total`    | counter | calls that failed, label `operation`                |
//! | `randflake_leases_lost_total`       | counter | leases lost, label `reason`: see [`Loss`]           |
//! | `randflake_ids_issued_total`        | counter | ids, also those taken in advance                    |
//! | `randflake_exhaustions_total`       | counter | refusals because a tick's sequences were exhausted  |
//! | `randflake_capacity_ids_per_second` | gauge   | ids that the leases held allow                      |
//! | `randflake_layout_end_timestamp_seconds` | gauge | when the layout's last tick ends, as Unix time      |
//! | `randflake_store_skew_seconds`      | gauge   | the store's clock minus this machine's              |
//! | `randflake_occupancy_ratio`         | gauge   | set by [`occupancy`](crate::lease::occupancy()) alone |
//!
//! With this feature each call costs one more relaxed addition, whether it issues one id or a
//! thousand.

#[cfg(doc)]
use crate::lease::Loss;
#[cfg(doc)]
use crate::tagged::TaggedHandle;

pub(crate) mod events;
pub(crate) mod metrics;
