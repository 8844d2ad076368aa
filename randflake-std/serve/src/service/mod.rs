//! Operations that the protocols share: ids, fields of ids and leases, each with its check of
//! rights.

pub(crate) mod health;
pub(crate) mod leases;
pub(crate) mod served_namespace;

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use randflake_common::form::TextFormat;
use randflake_common::layout::IdEncryption;
use randflake_std::date::utc;
use randflake_std::randflake_core::{Cipher, Codec, LayoutSpec};
use randflake_std::{AnyLayout, Id};
use serde::Serialize;

use self::served_namespace::ServedNamespace;
use super::access::{Access, Principal, Scope};
use super::log::RequestLog;
use crate::counters::Counters;
use crate::refusal::{Refusal, RefusalKind};

pub(crate) use self::leases::{AcquireParameters, LeaseQuery};

/// The largest number of ids of one request: with the digits of each about 8 MB of JSON, and less
/// than a second of one node id in the Randflake layout.
pub(crate) const MAX_IDS: usize = 100_000;
/// The largest number of leases of one request: one transaction of the store writes them all.
pub(crate) const MAX_LEASES: u32 = 1_000;

/// Everything that requests use. One for the process; a request's time is mostly spent elsewhere.
pub(crate) struct Service {
    spaces: BTreeMap<String, Arc<ServedNamespace>>,
    pub(crate) access: Access,
    pub(crate) counters: Counters,
    pub(crate) log: RequestLog,
    started: Instant,
}

impl Service {
    pub(crate) fn new(
        spaces: impl IntoIterator<Item = ServedNamespace>,
        access: Access,
        log: RequestLog,
    ) -> Self {
        Self {
            spaces: spaces
                .into_iter()
                .map(|space| (space.name().to_owned(), Arc::new(space)))
                .collect(),
            access,
            counters: Counters::default(),
            log,
            started: Instant::now(),
        }
    }

    /// All namespaces, in the order of their names: for metrics, and what an operator sees.
    pub(crate) fn spaces(&self) -> impl Iterator<Item = &Arc<ServedNamespace>> {
        self.spaces.values()
    }

    /// The namespaces that a client sees, in the order of their names.
    pub(crate) fn spaces_of(
        &self,
        principal: &Principal,
    ) -> impl Iterator<Item = &Arc<ServedNamespace>> {
        self.spaces().filter(|space| principal.sees(space.name()))
    }

    /// Whether it administers all that is served: only then it learns what all clients do together,
    /// and where the store is.
    pub(crate) fn is_admin_of_all(&self, principal: &Principal) -> bool {
        principal.has(Scope::Admin) && self.spaces.keys().all(|name| principal.sees(name))
    }

    /// Whether there is such a namespace.
    pub(crate) fn serves(&self, name: &str) -> bool {
        self.spaces.contains_key(name)
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Whether it should get requests: a token is valid, a namespace issues ids, and each of the
    /// others does or is full or in quarantine, so that nobody who fills one namespace takes the
    /// server from those of another.
    pub(crate) fn is_ready(&self) -> bool {
        if self.access.refuses_all() {
            // Another server may have read a better file.
            return false;
        }
        // One that is starting, or whose store does not answer, may be this server's own trouble:
        // others may do better.
        let reasons: Vec<_> = self.spaces().map(|space| space.not_ready()).collect();
        let mut missing = reasons.iter().flatten();
        reasons.iter().any(Option::is_none) && missing.all(|reason| reason.is_of_namespace)
    }

    /// Whether a namespace issues ids; none if it is not served.
    pub(crate) fn issues(&self, namespace: &str) -> Option<bool> {
        let space = self.spaces.get(namespace)?;
        Some(space.not_ready().is_none())
    }

    /// The namespace, for who may do that there. Who may not does not learn whether it is there.
    pub(crate) fn space(
        &self,
        principal: &Principal,
        scope: Scope,
        name: &str,
    ) -> Result<&Arc<ServedNamespace>, Refusal> {
        // Rights first: whether there is a namespace is told only to those who may use one of that
        // name.
        principal.check(scope, name)?;
        self.spaces.get(name).ok_or_else(|| {
            let message = format!("there is no namespace {name:?}: {}", self.served(principal));
            Refusal::new(RefusalKind::UnknownNamespace, message)
        })
    }

    /// Says which namespaces there are for a client.
    pub(crate) fn served(&self, principal: &Principal) -> String {
        let names: Vec<_> = self
            .spaces_of(principal)
            .map(|space| space.name())
            .collect();
        match *names {
            [] => format!(
                "none of those that the token {:?} may use is served here",
                principal.name()
            ),
            _ => format!("served: {}", names.join(", ")),
        }
    }

    /// Fills a buffer with new ids, within a time: all of it, or none is answered.
    ///
    /// # Errors
    ///
    /// [`Refusal`]. The quota is used up all the same if the namespace then has no ids.
    pub(crate) async fn ids(
        &self,
        principal: &Principal,
        namespace: &str,
        ids: &mut [Id],
        patience: Duration,
    ) -> Result<(), Refusal> {
        let space = self.space(principal, Scope::Ids, namespace)?;
        check_count(ids.len())?;
        // Taken whether or not there are ids: it limits what is asked, and nothing is given back,
        // which could be asked again.
        principal.take_ids(ids.len())?;
        space.fill(ids, patience).await
    }

    /// The fields of an id.
    pub(crate) fn inspect(
        &self,
        principal: &Principal,
        namespace: &str,
        id: Id,
    ) -> Result<IdFields, Refusal> {
        let space = self.space(principal, Scope::Inspect, namespace)?;
        space.check(id)?;
        Ok(IdFields::of(space.codec(), id))
    }
}

/// A number in decimal digits: `parse` alone would take a plus.
pub(crate) fn digits(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

/// An id as a client wrote it.
pub(crate) fn read_id(form: TextFormat, text: &str) -> Result<Id, Refusal> {
    form.read(text)
        .map(|given| given.id)
        .map_err(|problem| Refusal::invalid(format!("the id {text:?}: {problem}")))
}

/// Whether so many ids may be asked for at once.
pub(crate) fn check_count(count: usize) -> Result<(), Refusal> {
    if (1..=MAX_IDS).contains(&count) {
        return Ok(());
    }
    let message = format!("{count} ids were asked for: 1 to {MAX_IDS} are allowed in one request");
    Err(Refusal::invalid(message))
}

/// Numbers over 53 bits are strings, because not every JSON reader keeps them.
#[derive(Debug, Serialize)]
pub(crate) struct IdFields {
    text: String,
    int: String,
    /// Of ids of 53 bits alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    raw: String,
    time: u64,
    unix_ms: u64,
    time_utc: String,
    node: u32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    node_parts: BTreeMap<&'static str, u32>,
    sequence: u32,
}

impl IdFields {
    pub(crate) fn of(codec: &Codec<LayoutSpec, Option<Cipher>>, id: Id) -> Self {
        let spec = codec.layout().spec();
        let parts = codec.inspect(id);
        let unix_ms = spec.unix_ms(parts.tick);
        Self {
            text: id.to_string(),
            int: id.to_i64().to_string(),
            number: IdEncryption::of_cipher(codec.permutation().as_ref()).number(id),
            raw: codec.raw(id).to_string(),
            time: unix_ms / 1_000,
            unix_ms,
            time_utc: utc(Duration::from_millis(unix_ms)),
            node: parts.node_id,
            node_parts: spec.node_parts(parts.node_id).collect(),
            sequence: parts.sequence,
        }
    }
}

/// Form of new ids in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdsFormat {
    /// A JSON object with text and decimal digits of each id; in HTTP alone.
    Json,
    /// Up to 13 digits of base32hex, which sort as the numbers.
    Text,
    /// Signed decimal digits, as databases show the number.
    Int,
    /// Eight bytes for each id, the lowest first.
    Raw,
}

impl IdsFormat {
    /// Each with its name, in the order in which they are taken if a client of HTTP likes several
    /// alike.
    pub(crate) const ALL: [(Self, &'static str); 4] = [
        (Self::Json, "json"),
        (Self::Text, "text"),
        (Self::Int, "int"),
        (Self::Raw, "raw"),
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        let mut formats = Self::ALL.into_iter();
        let found = formats.find(|(_, own)| *own == name);
        found.map(|(format, _)| format)
    }
}
