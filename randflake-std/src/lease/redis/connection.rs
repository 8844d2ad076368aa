//! The connection to the server, made when it is needed.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::process;

use redis::{Client, ErrorKind, RedisError, RedisResult, ServerErrorKind};

use super::tls;
use crate::lease::StoreError;

/// Unless an operation's TTL asks for less.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// A connection is made, and a reply read, in this part of the TTL, so that a renewal can be repeated.
const TRIES_PER_TTL: u32 = 12;
const SHORTEST_LIMIT: Duration = Duration::from_millis(100);

pub(super) struct Connection {
    client: Client,
    time_limit: Duration,
    open: Option<Open>,
}

struct Open {
    redis: redis::Connection,
    time_limit: Duration,
    /// A forked child must not speak on its parent's connection.
    process: u32,
}

impl Connection {
    /// To the server of a URL, which is not connected to yet.
    pub(super) fn new(url: &str) -> Result<Self, StoreError> {
        let refused = |why: &str| {
            // The URL may hold a password.
            StoreError::Invalid(format!(
                "the lease store's URL is not one of Redis ({why}): take \
                 redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE], or rediss:// for TLS"
            ))
        };
        if url.contains('#') {
            return Err(refused("it has a fragment"));
        }
        if url.starts_with("rediss:") || url.starts_with("valkeys:") {
            tls::prepare()?;
        }
        let client = Client::open(url).map_err(|error| refused(error.category()))?;
        Ok(Self {
            client,
            time_limit: TIME_LIMIT,
            open: None,
        })
    }

    /// Fits the time limits to a TTL.
    pub(super) fn limit_for(&mut self, ttl: Duration) {
        self.time_limit = (ttl / TRIES_PER_TTL).clamp(SHORTEST_LIMIT, TIME_LIMIT);
    }

    /// Runs commands that may be run twice. A connection that was open before may have been closed
    /// meanwhile, so then they are tried again on a new one.
    pub(super) fn run<T>(
        &mut self,
        commands: impl Fn(&mut redis::Connection) -> RedisResult<T>,
    ) -> Result<T, StoreError> {
        let was_open = self.open.is_some();
        match self.run_once(&commands) {
            Err(error) if was_open && error.is_connection_dropped() => self.run_once(&commands),
            outcome => outcome,
        }
        .map_err(failure)
    }

    fn run_once<T>(
        &mut self,
        commands: impl Fn(&mut redis::Connection) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let mut open = match self.open.take() {
            Some(open) if open.process == process::id() => open,
            _ => self.connect()?,
        };
        if open.time_limit != self.time_limit {
            open.redis.set_read_timeout(Some(self.time_limit))?;
            open.redis.set_write_timeout(Some(self.time_limit))?;
            open.time_limit = self.time_limit;
        }
        let outcome = commands(&mut open.redis);
        // After a failure, a late reply would be taken for the next one's; and after a failover
        // another server may be behind the address.
        if outcome
            .as_ref()
            .err()
            .is_none_or(|error| error.code().is_some() && !leads_elsewhere(error))
        {
            self.open = Some(open);
        }
        outcome
    }

    fn connect(&self) -> RedisResult<Open> {
        Ok(Open {
            redis: self.client.get_connection_with_timeout(self.time_limit)?,
            time_limit: Duration::MAX,
            process: process::id(),
        })
    }
}

/// The server has answered that another one is to be asked.
fn leads_elsewhere(error: &RedisError) -> bool {
    use ServerErrorKind as Kind;
    matches!(
        error.kind(),
        ErrorKind::Server(Kind::ReadOnly | Kind::Moved | Kind::MasterDown | Kind::ClusterDown)
    )
}

/// The error as a caller of the store sees it.
fn failure(error: RedisError) -> StoreError {
    use ServerErrorKind as Kind;
    let lasting = matches!(
        error.kind(),
        ErrorKind::AuthenticationFailed
            | ErrorKind::InvalidClientConfig
            | ErrorKind::Server(Kind::NoPerm | Kind::CrossSlot)
    ) || matches!(error.code(), Some("NOAUTH" | "WRONGPASS" | "WRONGTYPE"));
    if lasting {
        StoreError::Unusable(format!("the Redis server refuses: {error}"))
    } else {
        StoreError::unavailable(error)
    }
}

impl Debug for Connection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // Not the client: it knows the password.
        write!(f, "{}", self.client.get_connection_info().addr())
    }
}
