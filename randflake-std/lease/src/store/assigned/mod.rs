//! One node id that somebody assigns, for those without any server: an engine of one file and two
//! texts.
//!
//! The rules are those of every engine. What is its own: the file knows its node id, and a lock on
//! it, held as long as the process leases, proves that no other process does.

mod content;
mod node;

use core::fmt::{self, Debug, Display, Formatter};
use core::time::Duration;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use randflake_core::Clock;

use self::content::Content;
pub use self::node::{NODE_ID_VARIABLE, NodeIdSource};
use crate::clock::SteadyClock;
use crate::fork_guard::ForkGuard;
use crate::private_file;
use crate::rules::{Continuity, Key, Keys, Removal, VERSION, Write, WriteOutcome, read_clock};
use crate::store::locked::{self, FileKind, LockedFile};
use crate::store::url::{Location, Registration, Scheme};
use crate::store::{Ask, Engine, LOOK_AT_FILES_EVERY, LeaseStore, Look, Profile, Reading, volume};
use crate::types::{EngineError, Finding, Namespace, StoreError};

const VANISHES: &str = "the file vanishes with it: then each start waits as for a new file, and a clock that goes back \
                        meanwhile repeats ids; mount a persistent volume";

const FILE: FileKind = FileKind {
    magic: *b"randflake node\x1a\n",
    name: "the file of an assigned node id",
};
/// How long a lock is tried for that another process seems to hold: one that a thread of a former
/// holder is starting has it until it runs its program.
const GRACE: Duration = Duration::from_millis(200);

/// A lease store for one assigned node id: from configuration, from a variable, or the ordinal of a
/// pod in a Kubernetes `StatefulSet`. See [`NodeIdSource`].
///
/// Its constructors return a [`LeaseStore`].
///
/// A small file protects against restarts. It stores the last lease, is on disk before a lease is
/// answered, and is locked while a process holds one. It grants by the rules of every store:
/// nothing before the end of the last lease, whatever the clock shows, and nothing in quarantine.
///
/// | what happened                             | what it does                                          |
/// |-------------------------------------------|-------------------------------------------------------|
/// | the process closed its handle             | grants at once                                        |
/// | it was killed, or the machine was         | grants when its lease has ended                       |
/// | the file was deleted, or is new           | quarantine: the longest TTL and 20 s                  |
/// | it was restored from a copy, or moved to  | quarantine, where the file system tells when a file   |
/// | another disk                              | was made                                              |
/// | it was deleted or replaced under a holder | the holder stops within a second; it makes no new     |
/// |                                           | file, and uses none before it is there again          |
/// | it was overwritten under a holder         | the holder stops within a second; with its next lease |
/// |                                           | it writes what it knows                               |
/// | another process holds the file            | refused                                               |
/// | the directory is missing                  | refused: its volume may not be mounted                |
/// | it is another node id's or namespace's    | refused                                               |
/// | it is a link, or has a second name        | refused: remove the link                              |
/// | it is mounted alone                       | refused: mount its directory                          |
/// | others may write to it or its directory   | refused; so is a file of neither this user nor root   |
/// | the node id is beyond the layout's        | refused                                               |
/// | it is asked for a counter                 | refused: it keeps none                                |
/// | it ends more than a day further ahead     | [refused](StoreError::LeaseAhead), with what to do    |
/// | than any lease: a clock was far ahead     |                                                       |
///
/// So a service waits (`Builder::wait`) at its start, for the TTL after a kill, and for the longest
/// TTL and 20 s with a new file. A renewal is only a write to the disk: use a TTL of a few seconds
/// instead of the usual 60 s, with [a longest TTL of the same length](Namespace::with_max_ttl). If
/// a file is certainly new, its lease begins at once after
/// [`end_quarantine`](crate::Administration::end_quarantine) (`randflake lease init`).
///
/// # What it cannot notice
///
/// - **Two processes with one node id and different files**: two machines configured with the same
///   number, or a pod deleted by force that still runs because its node was cut off. An operator
///   who assigns node ids must prevent that; a store on a server prevents it.
/// - A backup that was written over the file in place, or a snapshot of its disk, that was
///   restored: call [`start_quarantine`](crate::Administration::start_quarantine) before any
///   process starts.
/// - A volume that vanishes with the machine or the pod, such as `emptyDir`, a container's own
///   layer or memory, gives a new file at each start. Each start waits as above, which is enough if
///   the clocks of both machines agree within 20 s and both had the same longest TTL.
///   [`diagnose`](crate::Administration::diagnose) reports such volumes where the system tells.
/// - Two files of namespaces under one secret: a file has one namespace, and knows of no other.
///
/// While a process holds the file, its time does not go back.
/// ```
/// use randflake_lease::{AcquireRequest, Namespace, NodeIdSource, NodeIds, StaticStore, Token};
/// use randflake_core::Randflake;
///
/// # let folder = tempfile::tempdir()?;
/// let namespace = Namespace::new("orders", Randflake)?;
/// let path = folder.path().join("node");
/// let mut store = StaticStore::open(path, NodeIdSource::Given(7), &namespace)?;
/// store.administration().end_quarantine()?; // The file is new.
/// let token = Token::random()?;
/// let acquired = store.acquire(&AcquireRequest { token, holder: "example", nodes: NodeIds::Any(1), ttl: 60 })?;
/// assert_eq!(acquired.grants[0].node_id, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StaticStore;

/// The file of one assigned node id.
pub(in crate::store) struct StaticFile {
    path: PathBuf,
    node_id: u32,
    /// Name of the namespace.
    namespace: String,
    clock: Arc<dyn Clock + Send + Sync>,
    /// From the first look at the node id on: a caller that looks at it is about to lease it.
    file: Option<LockedFile>,
    /// It has had the lock: from then on it makes no file, since only who begins does.
    has_begun: bool,
    fork_guard: ForkGuard,
}

impl StaticStore {
    /// Opens the store of the node id that a source names, with its file at a path. Nothing is
    /// locked or written before the first acquire.
    ///
    /// It blocks: see [how long](crate#how-long-calls-block).
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] when the source names no node id, or one that the layout does not
    /// have; [`StoreError::FailedPrecondition`] when the directory is missing or the file is
    /// another one's.
    pub fn open(
        path: impl AsRef<Path>,
        source: NodeIdSource,
        namespace: &Namespace,
    ) -> Result<LeaseStore, StoreError> {
        Self::open_with_clock(path, source, namespace, Arc::new(SteadyClock::new()))
    }

    /// [`open`](StaticStore::open) with another clock than the operating system's, for tests and
    /// simulations.
    ///
    /// # Errors
    ///
    /// As for [`open`](StaticStore::open).
    pub fn open_with_clock(
        path: impl AsRef<Path>,
        source: NodeIdSource,
        namespace: &Namespace,
        clock: Arc<impl Clock + Send + Sync + 'static>,
    ) -> Result<LeaseStore, StoreError> {
        let file = StaticFile::at(path.as_ref(), source, namespace, clock)?;
        LeaseStore::opened(file, namespace.clone())
    }
}

impl StaticFile {
    /// Makes the engine of a file. Nothing is read yet.
    pub(in crate::store) fn at(
        path: &Path,
        source: NodeIdSource,
        namespace: &Namespace,
        clock: Arc<dyn Clock + Send + Sync>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            path: locked::resolve(path)?,
            node_id: source.node_id(namespace)?,
            namespace: namespace.name().to_owned(),
            clock,
            file: None,
            has_begun: false,
            fork_guard: ForkGuard::new(),
        })
    }

    /// How often the file was written, and what it says, without the lock.
    fn read_unlocked(&self) -> Result<(u64, Content), EngineError> {
        let (writes, text) = locked::look(&self.path, &FILE)?;
        Ok((writes, self.content(&text)?))
    }

    /// What a text says. What was written for something else is refused.
    fn content(&self, text: &str) -> Result<Content, EngineError> {
        let content = Content::read(text, &self.namespace, self.node_id);
        content.map_err(|why| self.refused(why))
    }

    fn refused(&self, why: impl Display) -> EngineError {
        EngineError::of_file(&self.path, why)
    }

    fn has_no_such_key(&self) -> EngineError {
        self.refused("it keeps one node id and no counter: take another store")
    }

    /// What the file says, under the lock, which this process keeps.
    fn locked(&mut self) -> Result<(&mut LockedFile, Content), EngineError> {
        // The lock is the parent's, and holds for its children too.
        if self.fork_guard.is_in_child() {
            let why = "a forked child must not use its parent's store";
            return Err(EngineError::failed_precondition(why));
        }
        let kept = self.file.take();
        if kept.is_none() && self.has_begun && private_file::look(&self.path)?.is_none() {
            let why = "the file is gone, and this process makes no new one in its place: put it back (is its volume \
                       mounted?), or restart this process if a new file is meant, which waits as any new one does";
            return Err(self.refused(why));
        }
        let file = kept.map_or_else(
            || LockedFile::wait(&self.path, &FILE, GRACE),
            |file| Ok(Some(file)),
        )?;
        let why = match file {
            Some(file) if file.is_in_place() => {
                let content = self.content(file.text().1)?;
                self.has_begun = true;
                return Ok((self.file.insert(file), content));
            }
            // Not kept: the next call locks the file that is there then.
            Some(_) => {
                "the file was deleted or replaced while this process held it: it issues nothing once its lease has ended, \
                 and then waits as with a new file. Leave the file in place while a process runs"
            }
            None => {
                "another process holds this node id: if that is one which is still shutting down, try again; else give \
                 each its own node id and file"
            }
        };
        Err(self.refused(why))
    }
}

impl Debug for StaticFile {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticFile")
            .field("path", &self.path)
            .field("node_id", &self.node_id)
            .finish_non_exhaustive()
    }
}

impl Engine for StaticFile {
    fn profile(&self) -> Profile {
        Profile {
            node_ids: (self.node_id, self.node_id),
            // There is room for one lease.
            history: 0,
            // Every user of the file comes with the same settings, so the longest TTL of a lost
            // file is known.
            assumed_max_ttl: Duration::ZERO,
            look_every: Some(LOOK_AT_FILES_EVERY),
            ..Profile::at(self.path.display().to_string())
        }
    }

    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        if ask.keys.contains(&Keys::One(Key::Counter)) {
            return Err(self.has_no_such_key());
        }
        // Who asks for the namespace alone may look without the lock.
        let content = if ask.with_state
            && ask
                .keys
                .iter()
                .any(|keys: &Keys| *keys != Keys::One(Key::Namespace))
        {
            self.locked()?.1
        } else {
            self.read_unlocked()?.1
        };
        let mut texts = BTreeMap::new();
        for (first, last) in ask.keys.iter().map(Keys::bounds) {
            let there = content.texts.range(first..=last);
            texts.extend(there.map(|(key, text)| (*key, text.clone())));
        }
        Ok(Reading {
            // Only now: to lock may take long.
            now: read_clock(&*self.clock)?,
            continuity: Continuity {
                fingerprint: fingerprint(&self.path)?,
                // A file that is not there may have been lost with its volume, so its absence is
                // not certain.
                ..Continuity::default()
            },
            texts,
        })
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        let (path, clock, node_id) = (self.path.clone(), Arc::clone(&self.clock), self.node_id);
        let (file, mut content) = self.locked()?;
        // Under the lock, which may have made the file: what was decided without one does not hold
        // for it.
        if write.fingerprint != fingerprint(&path)? {
            return Ok(WriteOutcome::Stale);
        }
        // No window is compared: a renewal of this engine reads before.
        for entry in &write.entries {
            match entry.key {
                Key::Namespace => {}
                Key::Node(node) if node == node_id => {}
                // Nobody looks for free node ids here, and there is room for one lease. A file has
                // one namespace, and knows of no other: it gets every secret.
                Key::Hint(_) | Key::History(..) | Key::Claim(_) => continue,
                Key::Node(_) | Key::Counter | Key::Device(_) => {
                    return Err(self.has_no_such_key());
                }
            }
            let there = content.texts.get(&entry.key).map(String::as_str);
            if !entry.before.allows(there) {
                return Ok(WriteOutcome::Stale);
            }
            if let Some(after) = &entry.after {
                content.texts.insert(entry.key, after.clone());
            }
        }
        // On the disk before the answer: this file is the store, not a mark beside it.
        file.write(content.to_text(), true)?;
        Ok(WriteOutcome::Written {
            now: read_clock(&*clock)?,
        })
    }

    fn look(&mut self) -> Result<Look, EngineError> {
        // Without the lock nothing was leased.
        let Some(file) = self
            .file
            .as_ref()
            .filter(|_| !self.fork_guard.is_in_child())
        else {
            return Ok(Look::Same);
        };
        let what = if !file.is_in_place() {
            "deleted or replaced"
        } else if file.is_overwritten()? {
            "overwritten"
        } else {
            return Ok(Look::Same);
        };
        let why = format!(
            "{}: the file was {what} while this process held it",
            self.path.display()
        );
        Ok(Look::Lost(why))
    }

    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        // Without the lock, so that a list works while a process holds it.
        let (_, text) = locked::look(&self.path, &FILE)?;
        if text.is_empty() {
            return Ok(None);
        }
        let content = Content::parse(&text).map_err(|why| self.refused(why))?;
        let Content {
            name, mut texts, ..
        } = content;
        let record = texts
            .remove(&Key::Namespace)
            .filter(|_| only.is_none_or(|only| only == name));
        Ok(Some(BTreeMap::from_iter(record.map(|text| (name, text)))))
    }

    fn remove(&mut self, removal: &Removal<'_>) -> Result<(), EngineError> {
        // It keeps no history.
        let Removal::Contents(guard) = removal else {
            return Ok(());
        };
        let (file, mut content) = self.locked()?;
        let there = content.texts.get(&Key::Namespace);
        if there.is_some_and(|there| there == guard) {
            content.texts.retain(|key, _| *key == Key::Namespace);
            file.write(content.to_text(), true)?;
        }
        Ok(())
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        let (writes, _) = self.read_unlocked()?;
        let shown = format!("node id {}, {writes} writes", self.node_id);
        let sentence = "no two processes may have this node id on different files: nothing here \
                        can see that";
        Ok(vec![
            Finding::fine("schema", format!("version {VERSION}")),
            Finding::fine("fingerprint", shown),
            volume::finding(&self.path, VANISHES),
            Finding::caution("assignment", self.node_id.to_string(), sentence),
        ])
    }
}

/// What tells a file from a copy of it: when it was made, and its number in the file system.
fn fingerprint(path: &Path) -> Result<String, EngineError> {
    let found = private_file::look(path)?;
    let identity = found.map(|found| found.identity).unwrap_or_default();
    let born_ns = identity.born_ns.unwrap_or_default().cast_unsigned();
    let inode = identity.inode.unwrap_or_default();
    // One word, because all texts have to fit into one sector. Numbers are small, so one is turned
    // to where times of the same day do not differ.
    Ok(format!("{:x}", born_ns ^ inode.rotate_right(16)))
}

const FORM: &str = "static:PATH?node=N";

/// The static file as URLs lead to it.
pub static ENGINE: Registration = Registration {
    name: "static",
    schemes: &[Scheme::of_file("static", &["node"], FORM)],
    has_counters: false,
    check: |location| source(location).map(drop),
    open: |location, namespace| StaticStore::open(location.path(), source(location)?, namespace),
    open_existing: |location, namespace| {
        let clock = Arc::new(SteadyClock::new());
        let (path, source) = (location.path(), source(location)?);
        Ok(Some(Box::new(StaticFile::at(
            path, source, namespace, clock,
        )?)))
    },
};

fn source(location: &Location) -> Result<NodeIdSource, StoreError> {
    let node = location.option("node");
    let node = node.ok_or_else(|| location.refused("has no `node`"))?;
    node.parse()
}
