//! The document in which a program keeps its leases between two runs of the tool.

use core::fmt::{self, Display, Formatter};
use core::time::Duration;

use randflake_std::date::utc;
use randflake_std::lease::{
    Acquisition, ClientGrant, Grant, LastWrite, LeaseStore, Loss, MAX_SKEW, Namespace, RequestId,
    Token,
};
use randflake_std::randflake_core::LayoutSpec;
use randflake_std::unstable::rules::newer;
use randflake_std::{DEFAULT_TTL, MAX_TOLERANCE_MS};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::date::whole_ms;
use crate::failure::Failure;

/// The leases that one acquire gave, as `lease acquire` and `lease renew` print them, and
/// `lease renew` and `lease release` read them. What does not follow from the ticks is `token`,
/// `serial` and `nonce`: who has them and may write to the store can renew and end the leases.
#[derive(Debug, Serialize, Deserialize)]
pub struct LeaseDocument {
    #[serde(deserialize_with = "known_version")]
    version: u64,
    /// Name of the namespace.
    pub namespace: String,
    holder: String,
    /// The store's clock when it answered.
    now_unix_ms: u64,
    epoch_unix_ms: u64,
    tick_ms: u64,
    /// Leases that the program has.
    pub leases: Vec<GrantEntry>,
    /// The leases that were not renewed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Lost>,
}

/// The only version of a document there is. One with another is refused, as a newer program's.
const VERSION: u64 = 1;

fn known_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let version = u64::deserialize(deserializer)?;
    if version == VERSION {
        return Ok(version);
    }
    // Another version may have fields that an older program must not ignore, so nothing of it is
    // used.
    Err(D::Error::custom(newer(version, VERSION)))
}

/// A lease in a document.
#[derive(Debug, Serialize, Deserialize)]
pub struct GrantEntry {
    /// Its node id.
    pub node: u32,
    start_unix_ms: u64,
    end_unix_ms: u64,
    start_tick: u64,
    end_tick: u64,
    fencing_token: u64,
    token: String,
    /// Of the lease's last write: a copy of the document that was not renewed has older ones.
    serial: u64,
    nonce: String,
}

/// A lease that was not renewed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Lost {
    /// Its node id.
    pub node: u32,
    /// Name of the loss, such as `expired`.
    pub reason: String,
}

impl LeaseDocument {
    /// The document of an acquire.
    pub fn of(namespace: &Namespace, holder: String, acquired: &Acquisition) -> Self {
        Self::with(namespace, holder, acquired.now, &acquired.client_grant())
    }

    fn with(namespace: &Namespace, holder: String, now: Duration, leases: &[ClientGrant]) -> Self {
        let spec = namespace.spec();
        Self {
            version: VERSION,
            namespace: namespace.name().to_owned(),
            holder,
            // With it a program without a right clock can tell how long the leases last.
            now_unix_ms: whole_ms(now),
            epoch_unix_ms: spec.epoch_unix_ms(),
            tick_ms: spec.tick_ms(),
            leases: leases
                .iter()
                .map(|lease| GrantEntry::of(spec, lease))
                .collect(),
            lost: Vec::new(),
        }
    }

    /// Renews the leases for `ttl` from now. Those that are lost stand under `lost` in the new
    /// document, with the reason.
    pub fn renewed(
        self,
        store: &mut LeaseStore,
        request: &RequestId,
        ttl: Option<Duration>,
    ) -> Result<Self, Failure> {
        let grants = self.grants()?;
        let namespace = store.namespace();
        let shortest = Duration::from_millis(namespace.spec().tick_ms());
        let ttl = namespace.ticks(ttl.unwrap_or(DEFAULT_TTL.max(shortest)));
        let renewed = store.renew_for_client(&grants, ttl, request)?;
        // Some may be lost and others not: each lease is renewed by itself.
        let mut kept = Vec::with_capacity(grants.len());
        let mut lost = Vec::new();
        for (presented, outcome) in grants.iter().zip(renewed.outcomes) {
            match outcome {
                Ok(renewed) => kept.push(renewed),
                // Kept by node id alone, without token and nonce: nobody presents a lost lease
                // again by mistake.
                Err(why) => lost.push(Lost::of(presented, why)),
            }
        }
        let namespace = store.namespace();
        Ok(Self {
            lost,
            ..Self::with(namespace, self.holder, renewed.now, &kept)
        })
    }

    /// Ends the leases at a Unix time from which on nothing was issued.
    ///
    /// Unless it is known, that is as late as the holder may have issued: by a clock that is ahead
    /// of the store's, and as far ahead of that clock as any handle's tolerance goes.
    ///
    /// A lease that a copy of the document has renewed stays as it is: its holder goes on.
    pub fn release(
        &self,
        store: &mut LeaseStore,
        request: &RequestId,
        unused_from: Option<Duration>,
    ) -> Result<(), Failure> {
        let mut grants = self.grants()?;
        let unused_from = match unused_from {
            Some(given) => given,
            // The store's clock and not this machine's: the lease's ticks are of that clock.
            None => store.now()? + MAX_SKEW + Duration::from_millis(MAX_TOLERANCE_MS),
        };
        let spec = store.namespace().spec();
        let Some(tick) = spec.tick_at(unused_from) else {
            return Err(Failure::usage(format!(
                "the time from which on nothing was issued is {}, before the epoch of the namespace's layout, {}: Unix \
                 time in milliseconds is allowed",
                utc(unused_from),
                utc(Duration::from_millis(spec.epoch_unix_ms()))
            )));
        };
        // A tick that began before may have been used.
        let begins_then = Duration::from_millis(spec.unix_ms(tick)) >= unused_from;
        let unused_from = if begins_then { tick } else { tick + 1 };
        for presented in &mut grants {
            // Not the end that was read: it may be older than a renewal, and what came after it was
            // used. The store knows the last one.
            presented.grant.end = unused_from;
        }
        let outcomes = store.release_for_client(&grants, request)?;
        // Other losses mean that the lease is not held any more, so there is nothing to release.
        let contested: Vec<_> = grants
            .iter()
            .zip(outcomes)
            .filter(|(_, outcome)| *outcome == Err(Loss::Contested))
            .map(|(presented, _)| presented.grant.node_id.to_string())
            .collect();
        if contested.is_empty() {
            return Ok(());
        }
        Err(Failure::Lost(format!(
            "the leases of node ids {} are contested and not released: a copy of this document has renewed them, and its \
             holder goes on; issue no more ids with this one",
            contested.join(", ")
        )))
    }

    /// The leases as a store takes them, unless they are damaged.
    pub fn grants(&self) -> Result<Vec<ClientGrant>, Failure> {
        self.leases.iter().map(GrantEntry::grant).collect()
    }

    /// Checks that the ticks of the leases mean the same in a namespace.
    pub fn check_layout(&self, namespace: &Namespace) -> Result<(), Failure> {
        let spec = namespace.spec();
        // The widths do not matter here: node ids and ticks are numbers of their own.
        if (spec.epoch_unix_ms(), spec.tick_ms()) != (self.epoch_unix_ms, self.tick_ms) {
            return Err(Failure::failed(format!(
                "the namespace {:?} has another epoch or tick than these leases: it was dropped and made anew, or it \
                 is another store's",
                self.namespace
            )));
        }
        Ok(())
    }
}

/// A line for each lease.
impl Display for LeaseDocument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for lease in &self.leases {
            let [start, end] = [lease.start_unix_ms, lease.end_unix_ms]
                .map(|unix_ms| utc(Duration::from_millis(unix_ms)));
            let node = lease.node;
            writeln!(f, "node id {node} is leased from {start} to {end}")?;
        }
        Ok(())
    }
}

impl Lost {
    fn of(presented: &ClientGrant, loss: Loss) -> Self {
        Self {
            node: presented.grant.node_id,
            reason: loss.name().to_owned(),
        }
    }
}

impl GrantEntry {
    fn of(spec: LayoutSpec, ClientGrant { grant, last_write }: &ClientGrant) -> Self {
        Self {
            node: grant.node_id,
            start_unix_ms: spec.unix_ms(grant.start),
            end_unix_ms: spec.unix_ms(grant.end),
            start_tick: grant.start,
            end_tick: grant.end,
            fencing_token: grant.fencing_token,
            // In hex, as the nonce: readers that keep 53 bits of a JSON number would lose the rest
            // of them.
            token: grant.token.to_string(),
            serial: last_write.serial,
            nonce: format!("{:016x}", last_write.nonce),
        }
    }

    fn grant(&self) -> Result<ClientGrant, Failure> {
        let hex = |text: &str, digits| {
            // All digits, as they are written: `from_str_radix` would take fewer, and a sign.
            let is_hex = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_hex
                .then(|| u128::from_str_radix(text, 16).ok())
                .flatten()
        };
        let nonce = hex(&self.nonce, 16).and_then(|nonce| u64::try_from(nonce).ok());
        let numbers = hex(&self.token, 32).zip(nonce);
        let Some((token, nonce)) = numbers.filter(|_| self.start_tick < self.end_tick) else {
            return Err(Failure::usage(format!(
                "the lease of node id {} is damaged: start_tick must be below end_tick, token have 32 hex digits, and nonce \
                 16",
                self.node
            )));
        };
        Ok(ClientGrant {
            grant: Grant {
                node_id: self.node,
                start: self.start_tick,
                end: self.end_tick,
                fencing_token: self.fencing_token,
                token: Token::from_bytes(token.to_be_bytes()),
            },
            last_write: LastWrite {
                serial: self.serial,
                nonce,
            },
        })
    }
}
