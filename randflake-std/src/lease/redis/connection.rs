//! The connection to the server, made when it is needed.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::process;

use redis::{Client, ConnectionAddr, ErrorKind, RedisError, RedisResult, ServerErrorKind};

use super::url::settings;
use super::{rights, tls};
use crate::lease::StoreError;
use crate::lease::encryption::Files;
use crate::lease::url::Server;

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
    pub(super) fn new(server: &Server) -> Result<Self, StoreError> {
        let settings = settings(server)?;
        let client = match Files::asked_by(server)? {
            Some(files) => tls::client(settings, &files)?,
            None => Client::open(settings).map_err(StoreError::unavailable)?,
        };
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

    /// Runs commands that may be run twice.
    pub(super) fn run<T>(
        &mut self,
        commands: impl Fn(&mut redis::Connection) -> RedisResult<T>,
    ) -> Result<T, StoreError> {
        self.run_noting(commands).map(|(answer, _)| answer)
    }

    /// Runs commands, and says whether they may have been run before. A connection that was open before may have been
    /// closed meanwhile, so then they are tried again on a new one.
    pub(super) fn run_noting<T>(
        &mut self,
        commands: impl Fn(&mut redis::Connection) -> RedisResult<T>,
    ) -> Result<(T, bool), StoreError> {
        let was_open = self.open.is_some();
        let mut is_again = false;
        let mut outcome = self.run_once(&commands);
        if outcome
            .as_ref()
            .is_err_and(|error| was_open && error.is_connection_dropped())
        {
            is_again = true;
            outcome = self.run_once(&commands);
        }
        let answer = outcome.map_err(|error| self.failure(error))?;
        Ok((answer, is_again))
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
        // After a failure, a late reply would be taken for the next one's; after a failover another server
        // may be behind the address; and a transaction that the user may not end stays open.
        if outcome
            .as_ref()
            .err()
            .is_none_or(|error| error.code().is_some() && !is_unfit(error))
        {
            self.open = Some(open);
        }
        outcome
    }

    fn connect(&self) -> RedisResult<Open> {
        let redis = self.client.get_connection_with_timeout(self.time_limit);
        Ok(Open {
            redis: redis.map_err(|error| self.hint(error))?,
            time_limit: Duration::MAX,
            process: process::id(),
        })
    }

    /// Where one side encrypts and the other does not, neither is told so.
    fn hint(&self, error: RedisError) -> RedisError {
        let sentence = match self.client.get_connection_info().addr() {
            ConnectionAddr::Tcp(..)
                if error.is_connection_dropped() && !error.is_connection_refusal() =>
            {
                "the server ends the connection at once: if it takes encrypted ones only, take rediss://"
            }
            ConnectionAddr::TcpTls { .. } if error.is_timeout() => {
                "no answer in time: the server may be busy, or take no encrypted connections there"
            }
            _ => return error,
        };
        RedisError::from((ErrorKind::Io, sentence, error.to_string()))
    }

    /// The error as a caller of the store sees it.
    fn failure(&self, error: RedisError) -> StoreError {
        if let Some(why) = tls::refusal(&error) {
            return StoreError::Unusable(format!("the Redis server at {self:?}: {why}"));
        }
        if let Some((other, _)) = error.redirect_node()
            && error.kind() == ErrorKind::Server(ServerErrorKind::Moved)
        {
            return StoreError::Unusable(format!(
                "the Redis server at {self:?} is of a cluster, in which {other} has this namespace: name that \
                 one in the URL"
            ));
        }
        if let Some(refused) = rights::refused(&error) {
            return refused;
        }
        if is_lasting(&error) {
            return StoreError::Unusable(format!("the Redis server refuses: {error}"));
        }
        StoreError::unavailable(error)
    }
}

/// The server has answered that another one is to be asked, or that the user has lost a right.
fn is_unfit(error: &RedisError) -> bool {
    use ServerErrorKind as Kind;
    matches!(
        error.kind(),
        ErrorKind::Server(
            Kind::ReadOnly | Kind::Moved | Kind::MasterDown | Kind::ClusterDown | Kind::NoPerm
        )
    )
}

/// Whether trying again cannot help.
fn is_lasting(error: &RedisError) -> bool {
    use ServerErrorKind as Kind;
    matches!(
        error.kind(),
        ErrorKind::AuthenticationFailed
            | ErrorKind::InvalidClientConfig
            | ErrorKind::Server(Kind::NoPerm | Kind::CrossSlot)
    ) || matches!(error.code(), Some("NOAUTH" | "WRONGPASS" | "WRONGTYPE"))
}

impl Debug for Connection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // Not the client: it knows the password.
        write!(f, "{}", self.client.get_connection_info().addr())
    }
}
