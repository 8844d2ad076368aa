//! Access rights: bearer tokens from a file, stored as hashes.

mod file;
mod principal;
mod quota;
mod secret;

use core::fmt::{self, Debug, Formatter};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use self::file::Tokens;
pub use self::file::{TokensFile, name, node_ids};
pub(crate) use self::principal::Principal;
pub use self::principal::{Pattern, Scope, TokenLine};
pub use self::quota::{PerQuota, QuotaKind};
pub(crate) use self::quota::{Turns, Weight, Work};
pub use self::secret::{Hash, TokenSecret};
use super::watched::Watched;
use crate::refusal::{Refusal, RefusalKind};
use randflake_common::failure::Failure;

/// Current access rights. They change when the file does.
pub(crate) struct Access {
    /// File of tokens; `None` if no token is needed.
    file: Option<Watched>,
    // Watched by idle connections, which learn by it that their token may be gone: see `revoked`.
    tokens: watch::Sender<Arc<Tokens>>,
    /// Version of the file; connections look up their token again when it changes.
    version: AtomicU64,
    /// The file could not be read when it had changed: tokens that were removed from it still
    /// count.
    is_stale: AtomicBool,
    /// Principal of clients without a token, where none is needed.
    anybody: Arc<Principal>,
}

impl Access {
    /// Grants everything to everybody, without tokens.
    pub(crate) fn open() -> Self {
        Self {
            file: None,
            tokens: watch::Sender::default(),
            version: AtomicU64::new(0),
            is_stale: AtomicBool::new(false),
            anybody: Arc::new(Principal::anybody()),
        }
    }

    /// Reads the tokens of a file.
    pub(crate) fn from_file(path: PathBuf) -> Result<Self, Failure> {
        // A common mistake, and the message must not repeat it.
        if path.to_str().is_some_and(secret::is_token) {
            return Err(Failure::usage(
                "--tokens takes the name of a file, not a token: `randflake token new --file FILE` makes a token and its \
                 line; replace the one that was typed, which others may have seen",
            ));
        }
        let is_there = path.exists();
        let file = Watched::new(path);
        let text = file.read("the tokens").map_err(|problem| {
            let advice = if is_there {
                ""
            } else {
                "; `randflake token new --file FILE` makes it"
            };
            Failure::failed(problem + advice)
        })?;
        let tokens =
            Tokens::parse(&text, &Tokens::default()).map_err(|problem| file.wrong(&problem))?;
        Ok(Self {
            file: Some(file),
            tokens: watch::Sender::new(Arc::new(tokens)),
            ..Self::open()
        })
    }

    /// Whether requests need a token.
    pub(crate) fn is_required(&self) -> bool {
        self.file.is_some()
    }

    /// Which version of the file is in use: another one than before may have another token's
    /// rights, or not the token.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Principal of a client that sends no token.
    pub(crate) fn anonymous(&self) -> Result<Arc<Principal>, Refusal> {
        if self.is_required() {
            let message =
                "a token is required: send it with AUTH, or in the header Authorization: Bearer";
            return Err(Refusal::new(RefusalKind::Unauthenticated, message));
        }
        Ok(Arc::clone(&self.anybody))
    }

    /// Principal of a client that sends a token. Where none is required every token is refused: a
    /// client that sends one expects it to be checked.
    pub(crate) fn authenticate(&self, token: &[u8]) -> Result<Arc<Principal>, Refusal> {
        let principal = self.find(&Hash::of(token)).ok_or_else(|| {
            let message = if self.is_required() {
                "the token is unknown, or was revoked"
            } else {
                "the server has no tokens (--tokens): send none"
            };
            Refusal::new(RefusalKind::WrongToken, message)
        })?;
        principal.check_expiry()?;
        Ok(principal)
    }

    /// Principal of a token's hash. How long it takes may tell of the hash, from which nobody finds
    /// a token.
    pub(crate) fn find(&self, hash: &Hash) -> Option<Arc<Principal>> {
        self.tokens.borrow().find(hash).cloned()
    }

    /// Returns once the token of a connection is no longer valid, and has not become so again for a
    /// while. Such a connection would keep its place and its memory for as long as it is idle, or
    /// asks for what needs no token.
    pub(crate) async fn revoked(&self, token: impl Fn() -> Option<Hash>) {
        /// As long as a new client may take to send its token. A file that was emptied by accident
        /// may be back.
        const GRACE: Duration = Duration::from_secs(10);
        /// A token also expires while the file stays as it is.
        const LOOK: Duration = Duration::from_secs(60);
        let is_valid = || {
            let found = token().map(|token| self.find(&token));
            found.is_none_or(|found| found.is_some_and(|principal| !principal.has_expired()))
        };
        let mut reads = self.tokens.subscribe();
        loop {
            if !is_valid() {
                sleep(GRACE).await;
                if !is_valid() {
                    return;
                }
            }
            // The sender is this one's own.
            _ = timeout(LOOK, reads.changed()).await;
        }
    }

    /// Reads the file again if it has changed, or in any case. What was in use stays in use if it
    /// is wrong.
    pub(crate) fn reload(&self, always: bool) -> Result<bool, Failure> {
        let Some(file) = &self.file else {
            return Ok(false);
        };
        if !file.has_changed() && !always {
            return Ok(false);
        }
        let before = Arc::clone(&self.tokens.borrow());
        let read = file.read("the tokens").map_err(Failure::failed);
        let parsed = read
            .and_then(|text| Tokens::parse(&text, &before).map_err(|problem| file.wrong(&problem)));
        self.is_stale.store(parsed.is_err(), Ordering::Relaxed);
        // A file that is half written is wrong in most cases: it must not lock everybody out.
        let parsed = Arc::new(parsed?);
        // Both under the lock of the tokens: once one client was refused by the new ones, no other
        // uses the old version.
        self.tokens.send_modify(|tokens| {
            *tokens = parsed;
            self.version.fetch_add(1, Ordering::Release);
        });
        Ok(true)
    }

    /// Whether the file has changed and cannot be used, so that tokens count which may have been
    /// removed.
    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Relaxed)
    }

    /// Number of tokens in the file, also expired ones.
    pub(crate) fn count(&self) -> usize {
        self.tokens.borrow().all().len()
    }

    /// Number of tokens that have not expired.
    pub(crate) fn valid(&self) -> usize {
        let tokens = Arc::clone(&self.tokens.borrow());
        tokens.all().filter(|known| !known.has_expired()).count()
    }

    /// Whether every client is refused, because no token is valid: the file was emptied, or all in
    /// it have expired.
    pub(crate) fn refuses_all(&self) -> bool {
        self.is_required() && self.valid() == 0
    }
}

impl Debug for Access {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("tokens", &self.count())
            .finish_non_exhaustive()
    }
}
