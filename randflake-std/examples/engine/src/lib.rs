//! An engine of lease stores, by the public interface of `randflake-lease` alone: all texts in one
//! file, under a lock.
//!
//! It shows the whole contract in little code, and is slow: each write writes the file anew.
//! `tests/contract.rs` runs the contract's tests on it. The guide is `docs/engines.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use randflake_core::Clock;
use randflake_lease::unstable::engine::{
    Ask, Continuity, Engine, Key, Keys, Profile, Reading, Removal, Write, WriteOutcome, read_clock,
};
use randflake_lease::{
    EngineError, ExactSystemClock, Finding, LeaseStore, Namespace, StoreError, Token,
};

/// A store in one file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FileStore;

impl FileStore {
    /// Opens the store of a namespace in a file. The file is made by the first use.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] if the file cannot be read or written;
    /// [`StoreError::FailedPrecondition`] if it is no such store, or has the namespace with other
    /// terms.
    pub fn open(path: impl AsRef<Path>, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        Self::open_with_clock(path, namespace, Arc::new(ExactSystemClock))
    }

    /// The same with another clock, for tests.
    ///
    /// # Errors
    ///
    /// As for [`open`](FileStore::open).
    pub fn open_with_clock(
        path: impl AsRef<Path>,
        namespace: &Namespace,
        clock: Arc<dyn Clock + Send + Sync>,
    ) -> Result<LeaseStore, StoreError> {
        let engine = FileEngine {
            path: path.as_ref().to_owned(),
            namespace: namespace.name().to_owned(),
            clock,
        };
        LeaseStore::opened(engine, namespace.clone())
    }

    /// An engine on the file, for a list of what is there: it has no namespace of its own.
    #[must_use]
    pub fn engine(path: impl AsRef<Path>) -> impl Engine {
        FileEngine {
            path: path.as_ref().to_owned(),
            namespace: String::new(),
            clock: Arc::new(ExactSystemClock),
        }
    }
}

struct FileEngine {
    path: PathBuf,
    namespace: String,
    clock: Arc<dyn Clock + Send + Sync>,
}

/// The file, parsed: a number of the store, and its texts by the name that they are kept under.
struct Content {
    /// Drawn when the file was made. A file that was deleted comes back with another one, so that
    /// its loss is noticed.
    store: String,
    texts: BTreeMap<(String, Key), String>,
}

impl FileEngine {
    /// Waits until no other process works on the file. The lock ends with the returned value.
    fn lock(&self) -> Result<File, EngineError> {
        // Beside the file, which is replaced by each write.
        let path = self.path.with_extension("lock");
        let mut options = File::options();
        let file = options
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(|error| self.failed(error))?;
        file.lock().map_err(|error| self.failed(error))?;
        Ok(file)
    }

    /// What is in the file; `None` if it is not there.
    fn load(&self) -> Result<Option<Content>, EngineError> {
        match fs::read_to_string(&self.path) {
            Ok(text) => match Content::parse(&text) {
                Some(content) => Ok(Some(content)),
                None => Err(
                    EngineError::failed_precondition("the file is no lease store")
                        .at(&self.place()),
                ),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Replaces the file: all of a write or nothing survives a crash.
    fn save(&self, content: &Content) -> Result<(), EngineError> {
        let new = self.path.with_extension("new");
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(content.to_text().as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.path)?;
            // The name too must be on the disk before the write counts as done.
            File::open(self.path.parent().unwrap_or(Path::new(".")))?.sync_all()
        };
        write().map_err(|error| self.failed(error))
    }

    fn key(&self, key: Key) -> (String, Key) {
        (key.scope(&self.namespace).to_owned(), key)
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn failed(&self, error: std::io::Error) -> EngineError {
        EngineError::unavailable(error).at(&self.place())
    }
}

impl Engine for FileEngine {
    fn profile(&self) -> Profile {
        Profile::at(self.place())
    }

    fn read(&mut self, ask: &Ask<'_>) -> Result<Reading, EngineError> {
        let _lock = self.lock()?;
        let content = if let Some(content) = self.load()? {
            content
        } else {
            let content = Content::new()?;
            self.save(&content)?;
            content
        };
        let mut texts = BTreeMap::new();
        for (first, last) in ask.keys.iter().map(Keys::bounds) {
            let found = content
                .texts
                .range(self.key(first)..=self.key(last))
                .take(ask.limit.unwrap_or(usize::MAX));
            texts.extend(found.map(|((_, key), text)| (*key, text.clone())));
        }
        Ok(Reading {
            now: read_clock(&*self.clock)?,
            continuity: Continuity {
                fingerprint: content.store,
                // Nothing outside of the file tells a new store from one whose file was deleted: a
                // person does.
                is_absence_certain: false,
                ..Continuity::default()
            },
            texts,
        })
    }

    fn write(&mut self, write: &Write) -> Result<WriteOutcome, EngineError> {
        let _lock = self.lock()?;
        let now = read_clock(&*self.clock)?;
        let Some(mut content) = self.load()? else {
            return Ok(WriteOutcome::Stale);
        };
        let holds = write.entries.iter().all(|entry| {
            let there = content.texts.get(&self.key(entry.key));
            entry.before.allows(there.map(String::as_str))
        });
        if !holds || !write.is_in_window(now) || write.fingerprint != content.store {
            return Ok(WriteOutcome::Stale);
        }
        for entry in &write.entries {
            if let Some(after) = &entry.after {
                content.texts.insert(self.key(entry.key), after.clone());
            }
        }
        self.save(&content)?;
        Ok(WriteOutcome::Written { now })
    }

    fn namespaces(
        &mut self,
        only: Option<&str>,
    ) -> Result<Option<BTreeMap<String, String>>, EngineError> {
        let content = self.load()?;
        let is_asked_for = |name: &str| only.is_none_or(|only| only == name);
        Ok(content.map(|content| {
            let texts = content.texts.into_iter();
            let records = texts
                .filter(|((_, key), _)| *key == Key::Namespace)
                .map(|((name, _), text)| (name, text));
            records.filter(|(name, _)| is_asked_for(name)).collect()
        }))
    }

    fn remove(&mut self, removal: &Removal<'_>) -> Result<(), EngineError> {
        let _lock = self.lock()?;
        let Some(mut content) = self.load()? else {
            return Ok(());
        };
        let there = content.texts.get(&self.key(Key::Namespace));
        if removal
            .guard()
            .is_some_and(|guard| there.is_none_or(|there| there != guard))
        {
            return Ok(());
        }
        let (first, last) = removal.bounds();
        let range = self.key(first)..=self.key(last);
        content.texts.retain(|key, _| !range.contains(key));
        self.save(&content)
    }

    fn diagnose(&mut self) -> Result<Vec<Finding>, EngineError> {
        let store = self
            .load()?
            .map_or("none".to_owned(), |content| content.store);
        let server = format!("file {}", self.place());
        Ok(Finding::of_a_store(server, 1, [], store, None))
    }
}

impl Content {
    fn new() -> Result<Self, EngineError> {
        let store = Token::random()
            .map_err(EngineError::unavailable)?
            .to_string();
        Ok(Self {
            store,
            texts: BTreeMap::new(),
        })
    }

    /// The number of the store, then a line for each text: name, kind and number of the key, text.
    fn to_text(&self) -> String {
        let mut text = format!("{}\n", self.store);
        for ((name, key), record) in &self.texts {
            let (kind, number) = key.numbers();
            _ = writeln!(text, "{name}\t{kind}\t{number}\t{record}");
        }
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let store = lines.next()?.to_owned();
        let texts = lines.map(|line| {
            let mut parts = line.splitn(4, '\t');
            let (name, kind, number) = (parts.next()?, parts.next()?, parts.next()?);
            let key = Key::of_numbers(kind.parse().ok()?, number.parse().ok()?)?;
            Some(((name.to_owned(), key), parts.next()?.to_owned()))
        });
        let texts = texts.collect::<Option<_>>()?;
        Some(Self { store, texts })
    }
}

impl std::fmt::Debug for FileEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileEngine")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
