//! State of the store as this process saw it last, and the look that compares it.

use std::path::Path;
use std::sync::Arc;

use super::continuity::Mark;
use super::directory_lock::DirectoryLock;
use super::glance;
use super::place::SqlitePath;
use randflake_lease::private_file;
use randflake_lease::private_file::{FileRefusal, Found};
use randflake_lease::unstable::engine::Look;
use randflake_lease::{EngineError, EngineErrorKind};

/// What this process saw of the store in its last operation.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) mark: Mark,
    /// How often the store may have forgotten something.
    pub(crate) breaks: u64,
    /// Its file; `None` before the store was opened.
    pub(crate) file: Option<Found>,
    directory: Option<Arc<DirectoryLock>>,
}

impl Seen {
    /// The lock on the directory that the database is in now.
    pub(crate) fn directory_lock(
        &mut self,
        database: &Path,
    ) -> Result<Arc<DirectoryLock>, FileRefusal> {
        let known = self.directory.take().filter(|lock| lock.is_of(database));
        let lock = known.map_or_else(|| DirectoryLock::of(database), Ok)?;
        self.directory = Some(Arc::clone(&lock));
        Ok(lock)
    }

    /// Compares the store with what was seen of it.
    pub(crate) fn look(&self, place: &SqlitePath) -> Result<Look, EngineError> {
        let Some(file) = &self.file else {
            return Ok(Look::Same);
        };
        let Some(found) = private_file::look(&place.database)? else {
            return Ok(Look::Lost(place.gone().to_string()));
        };
        let lost = |why: &str| Ok(Look::Lost(format!("{}: {why}", place.database.display())));
        // Also on another file system, as where a volume was mounted over it.
        if found.identity != file.identity
            || !private_file::is_same(&found.metadata, &file.metadata)
        {
            return lost(
                "another file stands in the place of the lease store that this process uses",
            );
        }
        let stored = match glance::stored(&place.database).map_err(EngineError::from) {
            Ok(Some(stored)) => stored,
            Ok(None) => return Ok(Look::Same),
            Err(error) if error.kind() == EngineErrorKind::Unavailable => return Err(error),
            // It is overwritten at this moment, or by something else.
            Err(error) => return lost(&format!("it is no lease store any more: {error}")),
        };
        if self.mark.contradicts(&stored) {
            return lost(
                "the lease store went back to before what this process has seen there: it was overwritten",
            );
        }
        if stored.breaks() > self.breaks {
            // Another process has noticed a loss.
            return Ok(Look::Changed);
        }
        Ok(Look::Same)
    }
}
