//! Connection to a Redis server, made when it is needed.

use core::error::Error as _;
use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::{io, process};

use redis::io::tcp::TcpSettings;
use redis::{
    ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, Pipeline, RedisConnectionInfo,
    RedisError, RedisResult, ServerErrorKind, Value,
};

use super::process::{is_sentinel, takes_sections};
use super::refusal;
use super::transport::{Encryption, Socket, Transport};
use randflake_lease::date::span;
use randflake_lease::unstable::engine::Key;
use randflake_lease::unstable::net::{Addresses, Attempt, ExpectedPeer, Peer};
use randflake_lease::unstable::tls::{self, Files};
use randflake_lease::unstable::url::{Address, Host, Location, number};
use randflake_lease::{EngineError, StoreError};

/// Time limit of a connection and of a reply, unless an operation's TTL asks for less.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// A connection is made, and a reply read, in this part of the TTL, so that a renewal can be
/// repeated.
// Connecting and two tries: together a quarter of the TTL.
const TRIES_PER_TTL: u32 = 12;
const SHORTEST_LIMIT: Duration = Duration::from_millis(100);

pub(crate) struct Connection {
    settings: ConnectionInfo,
    encryption: Option<Encryption>,
    /// None for a socket of this machine.
    addresses: Addresses,
    time_limit: Duration,
    open: Option<RedisSession>,
    /// The server that is to answer there, until one has.
    expected: Option<ExpectedPeer>,
}

/// A connection that is open.
pub(crate) struct RedisSession {
    pub(crate) redis: Transport,
    /// Whether the server takes several sections in one `INFO`.
    pub(crate) takes_sections: bool,
    time_limit: Duration,
    /// A forked child must not speak on its parent's connection.
    process: u32,
}

impl Connection {
    /// Connection to the server of a URL, which is not made yet.
    pub(crate) fn new(location: &Location) -> Result<Self, StoreError> {
        let files = Files::asked_by(location)?;
        let expected = ExpectedPeer::all_of(location, Peer::Redis, "Redis", files.is_some()).pop();
        Ok(Self {
            settings: settings(location)?,
            encryption: files.as_ref().map(Encryption::new).transpose()?,
            addresses: Addresses::of(location.hosts()),
            time_limit: TIME_LIMIT,
            open: None,
            expected,
        })
    }

    /// Number of the database that the URL names.
    pub(crate) fn database(&self) -> u32 {
        let database = self.settings.redis_settings().db();
        database.try_into().unwrap_or_default()
    }

    /// Connection to database 0 of the same server, as the same user. It needs no `SELECT`: every
    /// connection begins there.
    pub(crate) fn to_database_0(&self) -> Self {
        let login = self.settings.redis_settings().clone().set_db(0);
        let settings = self.settings.clone().set_redis_settings(login);
        self.with(settings, self.addresses.anew())
    }

    /// Connection with other settings, of which nothing is asked yet.
    fn with(&self, settings: ConnectionInfo, addresses: Addresses) -> Self {
        Self {
            settings,
            encryption: self.encryption.clone(),
            addresses,
            time_limit: self.time_limit,
            open: None,
            // It may be another host than the URL's.
            expected: None,
        }
    }

    /// Connection to another node of the cluster, as `HOST:PORT`, in the same way.
    fn elsewhere(&self, address: &str) -> Result<Self, EngineError> {
        let mut to = self.settings.addr().clone();
        let place = address
            .rsplit_once(':')
            .and_then(|(name, number)| Some((name, number.parse().ok()?)));
        let (
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. },
            Some((name, number)),
        ) = (&mut to, place)
        else {
            let why = format!(
                "{}: node {address} of its cluster has no address",
                self.place()
            );
            return Err(EngineError::failed_precondition(why));
        };
        // The rest stays as the URL says: encryption, verification, user and password.
        name.clone_into(host);
        *port = number;
        let addresses = Addresses::of(&[Host {
            name: name.to_owned(),
            port: number,
        }]);
        Ok(self.with(self.settings.clone().set_addr(to), addresses))
    }

    /// Runs something here, or for a claim on the node of a cluster that has it: two namespaces on
    /// two nodes meet only there. All else is of the namespace, whose node the URL names.
    pub(crate) fn on_node_of<T>(
        &mut self,
        key: Option<&Key>,
        run: impl Fn(&mut Self) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let outcome = run(self);
        let error = outcome
            .as_ref()
            .err()
            .filter(|_| matches!(key, Some(Key::Claim(_))));
        match error.and_then(moved_to) {
            // Not kept: a claim is asked for when a namespace takes a secret, and not again.
            Some(node) => run(&mut self.elsewhere(&node)?),
            None => outcome,
        }
    }

    /// Fits the time limits to a TTL.
    pub(crate) fn limit_for(&mut self, ttl: Duration) {
        self.time_limit = (ttl / TRIES_PER_TTL).clamp(SHORTEST_LIMIT, TIME_LIMIT);
    }

    /// Whether the server has closed the connection that is open, which is then dropped. Nothing is
    /// sent.
    pub(crate) fn has_ended(&mut self) -> bool {
        let has_ended = self
            .open
            .as_mut()
            .filter(|open: &&mut RedisSession| open.process == process::id())
            .is_some_and(|open| open.redis.has_ended());
        if has_ended {
            self.open = None;
        }
        has_ended
    }

    /// Runs commands that may be run twice.
    pub(crate) fn run<T>(
        &mut self,
        commands: impl Fn(&mut RedisSession) -> RedisResult<T>,
    ) -> Result<T, EngineError> {
        self.run_noting(commands).map(|(answer, _)| answer)
    }

    /// Runs commands, and says whether they may have been run before. A connection that was open
    /// before may have been closed meanwhile, so then they are tried again on a new one.
    pub(crate) fn run_noting<T>(
        &mut self,
        commands: impl Fn(&mut RedisSession) -> RedisResult<T>,
    ) -> Result<(T, bool), EngineError> {
        // Of a connection that was made for these commands, the error is the answer.
        let was_open = self.open.is_some();
        let mut is_again = false;
        // A server or a firewall closes idle connections without a word.
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
        commands: impl Fn(&mut RedisSession) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let mut open = match self.open.take() {
            // The parent's connection is dropped, which closes this process's copy of the socket
            // and no more.
            Some(open) if open.process == process::id() => open,
            _ => self.connect()?,
        };
        open.limit(self.time_limit)?;
        let outcome = commands(&mut open);
        if outcome.as_ref().is_err_and(RedisError::is_timeout) {
            self.addresses.is_silent();
        }
        // After a failure, a late reply would be taken for the next one's; and after a failover
        // another server may be behind the address.
        if outcome
            .as_ref()
            .err()
            .is_none_or(|error| error.code().is_some() && !is_unfit(error))
        {
            self.open = Some(open);
        }
        outcome
    }

    /// Connects to the first address that answers.
    fn connect(&mut self) -> RedisResult<RedisSession> {
        let session = self.first_that_answers()?;
        // A server that has been there was the right one.
        self.expected = None;
        Ok(session)
    }

    fn first_that_answers(&mut self) -> RedisResult<RedisSession> {
        let Self {
            settings,
            encryption,
            addresses,
            ..
        } = self;
        if let ConnectionAddr::Unix(path) = settings.addr() {
            return RedisSession::begin(
                Socket::local(path, self.time_limit)?,
                settings,
                encryption.as_ref(),
            );
        }
        let begin = |address, attempt: &Attempt| {
            let socket = Socket::connect(&address, attempt.limit)?;
            RedisSession::begin(socket, settings, encryption.as_ref())
        };
        let outcome = addresses.first_that_answers(self.time_limit, begin);
        outcome.map_err(|mut failures: Vec<RedisError>| {
            // Another address that is down must not make a wrong password look like an outage.
            let chosen = failures.iter().position(is_answer);
            match chosen.or(failures.len().checked_sub(1)) {
                Some(chosen) => failures.swap_remove(chosen),
                None => io::Error::other("the URL has no host").into(),
            }
        })
    }

    /// The error as the rules see it.
    fn failure(&self, error: RedisError) -> EngineError {
        let place = self.place();
        // First: the client wraps it in an error of I/O, which would look as if it could pass.
        if let Some(why) = tls::refusal(&error) {
            return EngineError::failed_precondition(format!("{place}: {why}")).because(error);
        }
        // Not followed: after a failover or a move of the key, an operator is to look first.
        if let Some((other, _)) = error.redirect_node()
            && error.kind() == ErrorKind::Server(ServerErrorKind::Moved)
        {
            let sentence = format!(
                "{place} is of a cluster, in which {other} has this namespace: name that one in the URL"
            );
            return EngineError::failed_precondition(sentence).because(error);
        }
        if let Some(refused) = refusal::refused(&error) {
            return refused.because(error);
        }
        if let Some(why) = refusal::mistake(&error, self.database()) {
            return EngineError::failed_precondition(format!("{place}: {why}")).because(error);
        }
        if is_lasting(&error) {
            return EngineError::failed_precondition(format!("{place} refuses: {error}"))
                .because(error);
        }
        self.outage(error).at(&place)
    }

    /// What has no answer that can be understood. It may pass, unless another server is there than
    /// the URL says.
    fn outage(&self, error: RedisError) -> EngineError {
        let is_answered = error.code().is_some();
        let mistake = self.expected.as_ref().filter(|_| !is_answered);
        // Nothing listens where a connection is refused.
        let mistake = mistake.filter(|_| !error.is_connection_refusal());
        if let Some(why) = mistake.and_then(ExpectedPeer::mistake) {
            return EngineError::failed_precondition(why).because(error);
        }
        let is_ended = error.is_connection_dropped() && !error.is_connection_refusal();
        let sentence = if error.is_timeout() {
            format!("no answer within {}", span(self.time_limit))
        } else if is_ended && self.expected.is_some() {
            format!("the server ends the connection at once: {error}")
        } else {
            error.to_string()
        };
        EngineError::unavailable(sentence).because(error)
    }

    pub(crate) fn place(&self) -> String {
        // Not all settings: they have the password.
        format!("the Redis server at {}", self.settings.addr())
    }
}

impl RedisSession {
    /// Logs in over a socket, and asks for what the server takes.
    fn begin(
        socket: Socket,
        settings: &ConnectionInfo,
        encryption: Option<&Encryption>,
    ) -> RedisResult<Self> {
        let mut open = Self {
            redis: Transport::over(socket, settings, encryption)?,
            takes_sections: false,
            // No operation asks for so long, so `limit` sets its time the first time.
            time_limit: Duration::MAX,
            process: process::id(),
        };
        // The first words of a connection without a password, so that encryption fails here.
        let info: String = redis::cmd("INFO").arg("server").query(&mut open.redis)?;
        if is_sentinel(&info) {
            let sentence = "it is a Sentinel, which keeps no leases: name the master that it watches in the URL \
                            (`SENTINEL get-master-addr-by-name NAME` says which)";
            let kind = ErrorKind::InvalidClientConfig;
            return Err((kind, "unfit server", sentence.to_owned()).into());
        }
        open.takes_sections = takes_sections(&info);
        Ok(open)
    }

    /// The answers to commands that are sent together; each may be an error of its own. The
    /// client's own way waits for each answer, also for the others once one has not come in time:
    /// five times the limit while a server hangs.
    pub(crate) fn ask_all(&mut self, commands: &Pipeline) -> RedisResult<Vec<RedisResult<Value>>> {
        self.redis.ask_all(commands)
    }

    fn limit(&mut self, time_limit: Duration) -> RedisResult<()> {
        if self.time_limit != time_limit {
            self.redis.limit(time_limit)?;
            self.time_limit = time_limit;
        }
        Ok(())
    }
}

/// Whether the server has answered, or something has in its place.
fn is_answer(error: &RedisError) -> bool {
    error.code().is_some() || refusal::mistake(error, 0).is_some() || tls::refusal(error).is_some()
}

/// The node of a cluster that has what was asked for, if that is what an answer says.
fn moved_to(error: &EngineError) -> Option<String> {
    // `failure` has kept it as the source.
    let error: &RedisError = error.source()?.downcast_ref()?;
    let is_moved = error.kind() == ErrorKind::Server(ServerErrorKind::Moved);
    let (node, _) = error.redirect_node().filter(|_| is_moved)?;
    Some(node.to_owned())
}

/// The server has answered that another one is to be asked.
fn is_unfit(error: &RedisError) -> bool {
    use ServerErrorKind as Kind;
    matches!(
        error.kind(),
        ErrorKind::Server(Kind::ReadOnly | Kind::Moved | Kind::MasterDown | Kind::ClusterDown)
    )
}

/// Whether trying again cannot help.
fn is_lasting(error: &RedisError) -> bool {
    use ServerErrorKind as Kind;
    let kinds = [Kind::NoPerm, Kind::CrossSlot].map(ErrorKind::Server);
    kinds.contains(&error.kind())
        // The second one: protected mode.
        || matches!(error.code(), Some("WRONGTYPE" | "DENIED"))
}

impl Debug for Connection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place())
    }
}

/// Field by field: the client's own parser takes options that switch verification off.
fn settings(location: &Location) -> Result<ConnectionInfo, StoreError> {
    let address = match (&location.address, location.hosts()) {
        (Address::Socket(path), _) => ConnectionAddr::Unix(path.into()),
        (_, [Host { name, port }]) if location.scheme.is_encrypted => ConnectionAddr::TcpTls {
            host: name.clone(),
            port: *port,
            // Another value would take any certificate.
            insecure: false,
            tls_params: None,
        },
        (_, [Host { name, port }]) => ConnectionAddr::Tcp(name.clone(), *port),
        _ => return Err(location.refused("does not have one host")),
    };
    // The client's name and version would be two more replies to wait for when a server hangs.
    let mut login = RedisConnectionInfo::default().set_skip_set_lib_name();
    if let Some(password) = &location.password {
        login = login.set_password(password.as_str());
    }
    if let Some(user) = &location.user {
        login = login.set_username(user);
    }
    if let Some(database) = &location.database {
        let database = number::<u32>(database);
        let database =
            database.ok_or_else(|| location.refused("has a database that is no number"))?;
        login = login.set_db(database.into());
    }
    let settings = address.into_connection_info();
    Ok(settings
        .map_err(StoreError::unavailable)?
        // Or what is too long for one packet waits for an acknowledgement.
        .set_tcp_settings(TcpSettings::default().set_nodelay(true))
        .set_redis_settings(login))
}
