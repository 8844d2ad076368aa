//! What a handle tells of itself, with the features `tracing` and `metrics`. Without them nothing of it
//! is compiled; with both, and nobody who listens, a call to generate ids takes one instruction more.
//!
//! # Events (feature `tracing`)
//!
//! All have the target `randflake_std` and the field `namespace`. What belongs to a call of the store is
//! inside its span: `acquire`, `renew` or `release`, with the field `count`.
//!
//! | event                 | level | fields                                     |
//! |-----------------------|-------|--------------------------------------------|
//! | `lease acquired`      | info  | `node_id`, `start`, `end`, `fencing_token` |
//! | `waiting for a lease` | warn  | `limit_s`, `error`: a [build](crate::Builder::wait) that goes on |
//! | `leases renewed`      | debug | `count`                                    |
//! | `lease lost`          | warn  | `node_id`, `reason`: see [`Loss`]          |
//! | `node ids held`       | info  | `held`, `wanted`: of an elastic handle, when they change |
//! | `short of node ids`   | warn  | `held`, `wanted`, `error`: the store grants no more |
//! | `store clock stepped` | warn  | `by_ms`: positive when it leapt ahead      |
//! | `store call failed`   | warn  | `error`                                    |
//!
//! # Metrics (feature `metrics`)
//!
//! They have the label `namespace`, and go to the recorder that is installed when they change, in the
//! keeper's thread: at the build of a handle, at each renewal, when an elastic handle takes or gives back node ids, and
//! at its end.
//!
//! | name                                | kind    | what                                                |
//! |-------------------------------------|---------|-----------------------------------------------------|
//! | `randflake_lease_remaining_seconds` | gauge   | until the last lease ends, as of the last renewal   |
//! | `randflake_leases_held`             | gauge   | node ids of the handle whose leases are not over    |
//! | `randflake_node_ids_wanted`         | gauge   | node ids that the load of an elastic handle asks for |
//! | `randflake_acquires_total`          | counter | calls that were granted                             |
//! | `randflake_renewals_total`          | counter | calls that were answered                            |
//! | `randflake_store_failures_total`    | counter | calls that failed, label `operation`                |
//! | `randflake_leases_lost_total`       | counter | leases lost, label `reason`: see [`Loss`]           |
//! | `randflake_ids_issued_total`        | counter | ids, also those taken in advance                    |
//! | `randflake_exhaustions_total`       | counter | refusals because a tick's sequences were exhausted  |
//! | `randflake_store_skew_seconds`      | gauge   | the store's clock minus this machine's              |
//! | `randflake_occupancy_ratio`         | gauge   | set by [`occupancy`](crate::lease::occupancy()) alone |
//!
//! With this feature a call that issues costs one relaxed addition more, whether it issues one id or a
//! thousand.

#[cfg(doc)]
use crate::lease::Loss;

pub(crate) mod events;
pub(crate) mod metrics;
