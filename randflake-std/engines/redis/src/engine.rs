//! The Redis engine: reads, and a script that writes under conditions.

use core::fmt::{self, Debug, Formatter};
use core::iter;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use randflake_core::Clock;
use redis::{RedisResult, Script, Value, from_redis_value};

use super::connection::{Connection, RedisSession};
use super::process::{REPLACING, RedisProcess, SECTIONS, fault};
use super::{diagnosis, refusal};
use randflake_lease::unstable::engine::{Ask, Engine, NAMES_LISTED, Profile, Reading};
use randflake_lease::unstable::engine::{
    Before, Continuity, Entry, Key, Keys, Removal, Write, WriteOutcome, read_clock,
};
use randflake_lease::unstable::net::shown;
use randflake_lease::unstable::url::Location;
use randflake_lease::{EngineError, Finding, Namespace, StoreError};

/// A field of a hash, and its value. Not all that others have put there is text.
type HashField = (Vec<u8>, Vec<u8>);

/// Beside the texts of a namespace: the master that the server took over from, which it forgets
/// after a while.
const PROMOTED: &str = "promoted";
/// The script of a write.
pub(crate) const WRITE: &str = include_str!("write.lua");
/// Fields of one reply of a list.
const LISTED_AT_ONCE: usize = 1_000;

/// One namespace on a server.
pub(crate) struct Redis {
    pub(crate) connection: Connection,
    url: String,
    script: Script,
    /// The namespace's hash. What stands in braces places it on a node of a cluster.
    pub(crate) hash: String,
    /// The node ids in it, in their order: see `write.lua`.
    pub(crate) index: String,
    /// Clock in the place of the server's, in tests.
    clock: Option<Arc<dyn Clock + Send + Sync>>,
}

impl Redis {
    /// Makes the engine of a namespace. Nothing is asked yet.
    pub(crate) fn over(
        location: &Location,
        namespace: &Namespace,
        clock: Option<Arc<dyn Clock + Send + Sync>>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            connection: Connection::new(location)?,
            url: location.to_string(),
            script: Script::new(WRITE),
            hash: hash_of(namespace.name()),
            index: format!("{}:nodes", hash_of(namespace.name())),
            clock,
        })
    }

    /// The hash that has a key.
    fn hash_with(&self, key: Option<&Key>) -> String {
        match key {
            Some(Key::Claim(check)) => format!("randflake:key:{check:08x}"),
            _ => self.hash.clone(),
        }
    }

    /// The first node ids from one on, and whether all are known to be there that have a field.
    fn node_ids(&mut self, first: u32, most: usize) -> Result<(Vec<u32>, bool), EngineError> {
        let index = &self.index;
        self.connection.run(|open| {
            let mut asked = redis::pipe();
            asked.cmd("ZRANGEBYSCORE").arg(index).arg(&["-1", "-1"]);
            asked.cmd("ZRANGEBYSCORE").arg(index).arg(first).arg("+inf");
            asked.arg("LIMIT").arg(0).arg(most);
            let mut answers = open.ask_all(&asked)?.into_iter();
            let mut next = || answers.next().unwrap_or(Ok(Value::Nil));
            let marks: Vec<Vec<u8>> = from_redis_value(next()?)?;
            Ok((from_redis_value(next()?)?, !marks.is_empty()))
        })
    }

    /// The first texts of node ids from one on: all of them if their order was lost, as by a `DEL`
    /// of it by hand.
    fn first_nodes(
        &mut self,
        ranges: &[Keys],
        most: usize,
    ) -> Result<BTreeMap<Key, String>, EngineError> {
        let mut texts = BTreeMap::new();
        for range in ranges {
            let (Key::Node(first), Key::Node(last)) = range.bounds() else {
                return self.scan(ranges);
            };
            let mut next = Some(first).filter(|first| *first <= last);
            // Members whose fields were removed by hand are passed over, so one answer may have too
            // few.
            while let Some(first) = next.filter(|_| texts.len() < most) {
                let at_once = (most - texts.len()).min(LISTED_AT_ONCE);
                let (node_ids, is_whole) = self.node_ids(first, at_once)?;
                if !is_whole {
                    return self.scan(ranges);
                }
                let latest = node_ids.last().filter(|_| node_ids.len() == at_once);
                next = latest.and_then(|latest| latest.checked_add(1));
                next = next.filter(|next| *next <= last);
                let asked = node_ids.into_iter().filter(|node_id| *node_id <= last);
                texts.extend(self.nodes(asked.map(Key::Node).collect())?);
            }
        }
        Ok(texts)
    }

    /// The texts that are there of some node ids.
    fn nodes(&mut self, keys: Vec<Key>) -> Result<Vec<(Key, String)>, EngineError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut read = redis::cmd("HMGET");
        read.arg(&self.hash);
        read.arg(keys.iter().map(|key| name(*key)).collect::<Vec<_>>());
        let found: Vec<Option<Vec<u8>>> =
            self.connection.run(|open| read.query(&mut open.redis))?;
        let found = keys.into_iter().zip(found);
        Ok(found
            .filter_map(|(key, text)| Some((key, shown(text?))))
            .collect())
    }

    /// The texts of ranges of node ids, which may have any length: a hash has no order.
    fn scan(&mut self, ranges: &[Keys]) -> Result<BTreeMap<Key, String>, EngineError> {
        let is_asked = |key: Key| {
            let mut bounds = ranges.iter().map(Keys::bounds);
            bounds.any(|(first, last)| (first..=last).contains(&key))
        };
        let mut texts = BTreeMap::new();
        let mut cursor = 0_u64;
        loop {
            let mut scan = redis::cmd("HSCAN");
            scan.arg(&self.hash).arg(cursor);
            // A hint to the server: a small hash comes at once, whatever it says.
            scan.arg("COUNT").arg(LISTED_AT_ONCE);
            let (next, fields): (u64, Vec<HashField>) =
                self.connection.run(|open| scan.query(&mut open.redis))?;
            // A field may come twice while the server resizes the hash: the map keeps one.
            let node = |(name, text): HashField| {
                let node_id: u32 = str::from_utf8(&name).ok()?.parse().ok()?;
                // Not one that is spelled differently.
                let is_own = node_id.to_string().as_bytes() == name;
                is_own.then(|| (Key::Node(node_id), shown(text)))
            };
            let nodes = fields.into_iter().filter_map(node);
            texts.extend(nodes.filter(|(key, _)| is_asked(*key)));
            cursor = next;
            if cursor == 0 {
                return Ok(texts);
            }
        }
    }

    /// The names of all namespaces. Not all that others have put there is text.
    fn names(&mut self) -> Result<Vec<Vec<u8>>, EngineError> {
        let mut names = Vec::new();
        let mut cursor = 0_u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(hash_of("*"));
            scan.arg("COUNT").arg(LISTED_AT_ONCE);
            let (next, hashes): (u64, Vec<Vec<u8>>) =
                self.connection.run(|open| scan.query(&mut open.redis))?;
            let name = |hash: &Vec<u8>| {
                let name = hash.strip_prefix(b"randflake:{")?.strip_suffix(b"}")?;
                Some(name.to_vec())
            };
            names.extend(hashes.iter().filter_map(name));
            cursor = next;
            // A server that others fill meanwhile could make the scan endless.
            if cursor == 0 || names.len() >= NAMES_LISTED {
                names.truncate(NAMES_LISTED);
                return Ok(names);
            }
        }
    }

    /// The server's clock, or the one in its place.
    fn now(&self, (seconds, micros): (u64, u32)) -> Result<Duration, EngineError> {
        match &self.clock {
            Some(clock) => read_clock(&**clock),
            None => Ok(Duration::new(seconds, micros.saturating_mul(1_000))),
        }
    }
}

impl Engine for Redis {
    fn profile(&self) -> Profile {
        Profile {
            database: Some(self.connection.database()),
            has_own_clock: self.clock.is_none(),
            // The script compares the process, the window and the texts in one step of the server.
            blind_renewal: true,
            url: Some(self.url.clone()),
            ..Profile::at(self.connection.place())
        }
    }

    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        if let Some(most) = ask.limit {
            return self.first_nodes(ask.keys, most).map(Reading::of_texts);
        }
        let keys: Vec<Key> = ask.keys.iter().flat_map(Keys::each).collect();
        let hash = self.hash_with(keys.first());
        let fields = keys.iter().map(|key| name(*key));
        // First, so that it can be taken off whatever else is asked for.
        let fields: Vec<_> = iter::once(PROMOTED.to_owned()).chain(fields).collect();
        let asks = |open: &mut RedisSession| {
            let mut asked = redis::pipe();
            asked.cmd("HMGET").arg(&hash).arg(&fields);
            asked.cmd("TIME");
            // After the texts: what is put back meanwhile is noticed.
            let together = if open.takes_sections {
                SECTIONS.len()
            } else {
                1
            };
            for sections in SECTIONS.chunks(together) {
                asked.cmd("INFO").arg(sections);
            }
            let mut answer = open.ask_all(&asked)?.into_iter();
            let mut next = || answer.next().unwrap_or(Ok(Value::Nil));
            let texts: Vec<Option<Vec<u8>>> = from_redis_value(next()?)?;
            let texts = texts.into_iter().map(|text| text.map(shown));
            let time: (u64, u32) = from_redis_value(next()?)?;
            let info: Vec<String> = answer
                .map(|part| Ok(from_redis_value(part?)?))
                .collect::<RedisResult<_>>()?;
            let info = info.join("\n");
            let mut texts = texts.into_iter();
            let server = RedisProcess::parse(&info, texts.next().flatten())?;
            Ok((texts.collect::<Vec<_>>(), server, fault(&info), time))
        };
        let there = |connection: &mut Connection| connection.run(asks);
        let (texts, server, fault, time) = self.connection.on_node_of(keys.first(), there)?;
        let there = keys
            .into_iter()
            .zip(texts)
            .filter_map(|(key, text)| Some((key, text?)));
        Ok(Reading {
            now: self.now(time)?,
            continuity: Continuity {
                fingerprint: server.fingerprint(),
                fault,
                ..Continuity::default()
            },
            texts: there.collect(),
        })
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        let known = RedisProcess::of(&write.fingerprint);
        let micros = |time: Duration| time.as_micros().to_string();
        let window = write
            .window
            .map(|(least, most)| (micros(least), micros(most)));
        let (least, most) = window.unwrap_or_default();
        // A lease that goes on unread is nobody else's before its end, whatever else was put back.
        // See `write.lua`: nothing stands for not asking.
        let replacing = write.window.map_or(REPLACING, |_| "");
        let is_lease = |entry: &Entry| matches!(entry.key, Key::Node(_)) && entry.after.is_some();
        // A lease's text has a nonce, so nobody else has written the same.
        let proof = write.entries.iter().position(is_lease);
        let first = write.entries.first().map(|entry| &entry.key);
        let hash = self.hash_with(first);
        let mut script = self.script.key(&hash);
        if hash == self.hash {
            script.key(&self.index);
        }
        script
            .arg(&known.run_id)
            .arg(&known.promoted)
            .arg(replacing)
            .arg(known.replaced);
        script.arg(least).arg(most);
        // Lua counts from 1.
        script.arg(proof.map_or(0, |at| at + 1));
        for Entry { key, before, after } in &write.entries {
            // No record is `*` or empty, so these can stand for conditions.
            let before = match before {
                Before::Anything => "*",
                Before::Nothing => "",
                Before::Text(text) => text,
            };
            script.arg(name(*key)).arg(before);
            script.arg(after.as_deref().unwrap_or_default());
        }
        let is_noted = |entry: &Entry| {
            matches!(entry.key, Key::Namespace | Key::Counter) && entry.after.is_some()
        };
        // The server forgets this name when its backlog expires, so the first write after a
        // failover keeps it.
        if !known.promoted.is_empty() && write.entries.iter().any(is_noted) {
            script.arg(PROMOTED).arg("*").arg(&known.promoted);
        }
        let invoke = |open: &mut RedisSession| {
            let answer = script.invoke::<(bool, (u64, u32))>(&mut open.redis);
            // A script is refused without the name of the right. The check sends each command by
            // itself, and then the server names it.
            if answer.as_ref().is_err_and(refusal::is_unnamed) {
                check_rights(open, &self.hash, &self.index)?;
            }
            answer.map(|(is_done, time)| is_done.then_some(time))
        };
        let (answer, is_again) = self
            .connection
            .on_node_of(first, |connection: &mut Connection| {
                connection.run_noting(invoke)
            })?;
        match answer {
            Some(time) => Ok(WriteOutcome::Written {
                now: self.now(time)?,
            }),
            // The first try may have been executed without an answer, and its text may have been
            // replaced since.
            None if is_again => Err(EngineError::unavailable(
                "the connection broke during a write: whether it was made is not known",
            )),
            None => Ok(WriteOutcome::Stale),
        }
    }

    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        let names = match only {
            Some(name) => vec![name.as_bytes().to_vec()],
            None => self.names()?,
        };
        let mut texts = BTreeMap::new();
        for part in names.chunks(LISTED_AT_ONCE) {
            let mut asked = redis::pipe();
            for namespace in part {
                let hash = [b"randflake:{", &**namespace, b"}"].concat();
                asked.cmd("HMGET").arg(hash).arg(name(Key::Namespace));
            }
            let found: Vec<Option<Vec<u8>>> = self.connection.run(|open| {
                let found = open.ask_all(&asked)?.into_iter().map(|text| match text {
                    // A key that is no hash is another program's. It is named as damaged: an error
                    // would hide all other namespaces.
                    Err(error) if error.code() == Some("WRONGTYPE") => Ok(Some(Vec::new())),
                    text => {
                        let [text]: [Option<Vec<u8>>; 1] = from_redis_value(text?)?;
                        Ok(text)
                    }
                });
                found.collect()
            })?;
            let found = part.iter().cloned().zip(found);
            texts.extend(found.filter_map(|(name, text)| Some((shown(name), shown(text?)))));
        }
        Ok(Some(texts))
    }

    fn remove(&mut self, removal: &Removal<'_>) -> Result<(), EngineError> {
        let guard = match removal {
            Removal::Contents(guard) => guard,
            // Places of a history are few; the rest of a namespace has any number of fields.
            Removal::History(node_id, places) => {
                let keys = Keys::History(*node_id, places.clone());
                let mut delete = redis::cmd("HDEL");
                delete.arg(&self.hash);
                delete.arg(keys.each().map(name).collect::<Vec<_>>());
                return self
                    .connection
                    .run(|open| delete.query::<()>(&mut open.redis));
            }
        };
        let script = Script::new(include_str!("clear.lua"));
        let mut call = script.key(&self.hash);
        call.key(&self.index).arg(guard);
        for kept in [name(Key::Namespace), name(Key::Counter), PROMOTED.into()] {
            call.arg(kept);
        }
        self.connection
            .run(|open| call.invoke::<()>(&mut open.redis))
    }

    /// A namespace `orders` in database 0 and one in database 1 are two, and their users may not
    /// know it.
    fn whole_server(&mut self) -> Result<Option<Box<dyn Engine>>, EngineError> {
        if self.connection.database() == 0 {
            return Ok(None);
        }
        Ok(Some(Box::new(Self {
            connection: self.connection.to_database_0(),
            script: Script::new(WRITE),
            hash: self.hash.clone(),
            index: self.index.clone(),
            url: self.url.clone(),
            clock: self.clock.clone(),
        })))
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        diagnosis::findings(&mut self.connection)
    }

    fn has_disconnected(&mut self) -> bool {
        self.connection.has_ended()
    }

    fn limit_for(&mut self, ttl: Duration) {
        self.connection.limit_for(ttl);
    }
}

/// The key of a namespace.
fn hash_of(name: &str) -> String {
    format!("randflake:{{{name}}}")
}

/// Name of the field of a key.
fn name(key: Key) -> String {
    match key {
        Key::Namespace => "namespace".to_owned(),
        Key::Counter => "counter".to_owned(),
        Key::Node(node_id) => node_id.to_string(),
        Key::Hint(place) => format!("hint:{place}"),
        Key::History(node_id, place) => format!("past:{node_id}:{place}"),
        Key::Device(device) => format!("device:{device:016x}"),
        Key::Claim(_) => "claim".to_owned(),
    }
}

impl Debug for Redis {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis")
            .field("server", &self.connection)
            .field("hash", &self.hash)
            .finish_non_exhaustive()
    }
}

/// Finds out whether the user may run each command, by calls that change nothing. All are sent at
/// once: a process that starts waits once for their replies, not seven times.
pub(crate) fn check_rights(open: &mut RedisSession, hash: &str, index: &str) -> RedisResult<()> {
    let mut calls = redis::pipe();
    calls.cmd("SCRIPT").arg("LOAD").arg(WRITE);
    // The shortest part that every server has.
    calls.cmd("INFO").arg("replication");
    calls.cmd("TIME");
    calls.cmd("HMGET").arg(hash).arg("-");
    calls.cmd("HSCAN").arg(hash).arg("0");
    calls.cmd("ZRANGEBYSCORE").arg(index).arg(&["0", "0"]);
    // The first two lack a value, and the third's script is none: they are refused once the right
    // is there.
    calls.cmd("ZADD").arg(index).arg(&["0", "-", "0"]);
    calls.cmd("HSET").arg(hash).arg(&["-", "-", "-"]);
    calls.cmd("EVALSHA").arg("0".repeat(40)).arg("0");
    let mut errors = open.ask_all(&calls)?.into_iter().filter_map(Result::err);
    // Other errors, such as a server that still loads its data, come again with the first read,
    // which says more.
    errors.find(refusal::is_lacking).map_or(Ok(()), Err)
}
