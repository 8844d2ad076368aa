//! Client of the members of a cluster, through their JSON gateways.

use core::fmt::{self, Debug, Display, Formatter};
use core::mem;
use core::time::Duration;
use std::io::ErrorKind;
use std::process;

use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::StatusCode;
use zeroize::Zeroizing;

use super::clock::MemberClock;
use super::presence::Presence;
use super::tls;
use super::transaction::{
    Header, Kv, Range, Transaction, TransactionOutcome, read_answer, read_request,
};
use randflake_lease::date::span;
use randflake_lease::unstable::net::LARGEST_REPLY;
use randflake_lease::unstable::net::{ExpectedPeer, Peer};
use randflake_lease::unstable::tls::Files;
use randflake_lease::unstable::url::Location;
use randflake_lease::{EngineError, StoreError};

const TIME_LIMIT: Duration = Duration::from_secs(5);
/// A request has this part of the TTL, so that a renewal can be repeated with another member.
const TRIES_PER_TTL: u32 = 12;
const SHORTEST_LIMIT: Duration = Duration::from_millis(100);
/// A connection that was idle for this long is not used again: it may have ended without a sign,
/// and a renewal that fails because of it would count as an outage.
const IDLE: Duration = Duration::from_secs(1);
/// A token that lasts for a second may have expired once it is there.
const LOGINS: usize = 3;
/// gRPC's code for a token that is not valid any more, or missing.
const UNAUTHENTICATED: u64 = 16;
/// Message about a signed token that was made before the last change of users and roles.
const OLD_TOKEN: &str = "etcdserver: revision of auth store is old";
/// The alarm NOSPACE: a database has reached `--quota-backend-bytes`.
const FULL: &str = "etcdserver: mvcc: database space exceeded";

pub(crate) struct EtcdClient {
    agent: Agent,
    scheme: &'static str,
    members: Vec<String>,
    /// The members as the URL describes them, until one has answered.
    expected: Vec<ExpectedPeer>,
    /// The one that is asked first: it answered last time.
    at: usize,
    user: Option<User>,
    time_limit: Duration,
    pub(crate) clock: MemberClock,
    presence: Presence,
    /// Which process the agent's connections are for.
    process: u32,
}

struct User {
    name: String,
    password: Zeroizing<String>,
    /// Token of the last login.
    token: Option<String>,
}

/// Why a member has not done what it was asked for.
enum MemberRefusal {
    /// Another may do it.
    Member(EngineError),
    Login,
    All(EngineError),
}

impl EtcdClient {
    pub(crate) fn new(location: &Location) -> Result<Self, StoreError> {
        let config = Agent::config_builder()
            // The body of an error has the gRPC code that says what to do.
            .http_status_as_error(false)
            // Nobody is to lead a password to another host.
            .max_redirects(0)
            .max_idle_age(IDLE)
            // `HTTPS_PROXY` is for the outside; members are not there.
            .proxy(None);
        let files = Files::asked_by(location)?;
        let expected = ExpectedPeer::all_of(location, Peer::Http, "etcd", files.is_some());
        let (scheme, config) = match files {
            Some(files) => ("https", tls::encrypted(config, &files)?),
            None => ("http", config),
        };
        let user = location
            .user
            .clone()
            .zip(location.password.clone())
            .map(|(name, password)| User {
                name,
                password,
                token: None,
            });
        Ok(Self {
            agent: config.build().into(),
            scheme,
            members: location.hosts().iter().map(ToString::to_string).collect(),
            expected,
            at: 0,
            user,
            time_limit: TIME_LIMIT,
            clock: MemberClock::default(),
            presence: Presence::of(location.hosts()),
            process: process::id(),
        })
    }

    /// Fits the time limit to a TTL.
    pub(crate) fn limit_for(&mut self, ttl: Duration) {
        // Before the lease that is asked for: the member may go at any time after that.
        self.presence.watch(self.at);
        self.time_limit = (ttl / TRIES_PER_TTL).clamp(SHORTEST_LIMIT, TIME_LIMIT);
    }

    /// Whether the member that answered last has gone since a lease was asked for.
    pub(crate) fn has_disconnected(&mut self) -> bool {
        self.presence.has_gone(self.at)
    }

    /// Reads all of it at one moment, in the order of the ranges.
    pub(crate) fn read(&mut self, ranges: &[Range]) -> Result<(Header, Vec<Kv>), EngineError> {
        let answer = self.call("kv/txn", &read_request(ranges))?;
        read_answer(&answer, ranges.len()).ok_or_else(not_understood)
    }

    /// Writes all of it, or nothing.
    pub(crate) fn write(
        &mut self,
        write: &Transaction,
    ) -> Result<(Header, TransactionOutcome), EngineError> {
        let answer = self.call("kv/txn", &write.request())?;
        write.outcome(&answer).ok_or_else(not_understood)
    }

    /// Asks one member after another, until one answers.
    pub(crate) fn call(&mut self, path: &str, body: &Value) -> Result<Value, EngineError> {
        if self.process != process::id() {
            // A forked child must not touch its parent's connections, not even to close them.
            let own = self.agent.config().clone().new_agent();
            mem::forget(mem::replace(&mut self.agent, own));
            self.process = process::id();
        }
        let mut last = None;
        // Each member once: the time limit is for one of them.
        for _ in 0..self.members.len() {
            let mut outcome = self.ask(path, body);
            for _ in 0..LOGINS {
                if matches!(outcome, Err(MemberRefusal::Login)) {
                    outcome = self.log_in().and_then(|()| self.ask(path, body));
                }
            }
            match outcome {
                Ok(answer) => return Ok(answer),
                // All members decide this alike.
                Err(MemberRefusal::All(error)) => return Err(error),
                Err(MemberRefusal::Login) => return Err(failed_precondition("user and password")),
                Err(MemberRefusal::Member(error)) => last = Some(error),
            }
            self.at = (self.at + 1) % self.members.len();
        }
        Err(last.unwrap_or_else(not_understood))
    }

    fn ask(&mut self, path: &str, body: &Value) -> Result<Value, MemberRefusal> {
        let token = match &self.user {
            // No token yet: the caller logs in, and asks again.
            Some(user) => Some(user.token.as_deref().ok_or(MemberRefusal::Login)?),
            None => None,
        };
        let url = format!("{}://{}/v3/{path}", self.scheme, self.members[self.at]);
        let mut request = self
            .agent
            .post(url)
            .config()
            .timeout_global(Some(self.time_limit))
            .build()
            .header("Content-Type", "application/json");
        if let Some(token) = token {
            request = request.header("Authorization", token);
        }
        let member = |error: ureq::Error| {
            let at = &self.members[self.at];
            let mistake = tls::refusal(&error).or_else(|| self.mistake(&error));
            let refused = mistake.map_or_else(
                || {
                    let why = match &error {
                        ureq::Error::Timeout(_) => {
                            format!("no answer within {}", span(self.time_limit))
                        }
                        error => format!("{error}{}", self.hint(error)),
                    };
                    EngineError::unavailable(format!("the etcd member {at}: {why}"))
                },
                |why| EngineError::failed_precondition(format!("the etcd member {at}: {why}")),
            );
            MemberRefusal::Member(refused.because(error))
        };
        let mut response = request.send(body.to_string()).map_err(member)?;
        // Read before the body is consumed.
        let date = response
            .headers()
            .get("date")
            .and_then(|date| date.to_str().ok())
            .map(str::to_owned);
        let text = response
            .body_mut()
            .with_config()
            .limit(LARGEST_REPLY as u64)
            .read_to_string()
            .map_err(member)?;
        let status = response.status();
        let answer = serde_json::from_str(&text).ok().filter(is_of_a_gateway);
        let Some(answer) = answer else {
            return Err(MemberRefusal::Member(self.foreign(status, &text)));
        };
        if !status.is_success() {
            return Err(refusal(&answer));
        }
        self.expected.clear();
        // Only from members that were able to answer: a proxy in front of them has a clock of its
        // own.
        self.clock.saw(date.as_deref());
        Ok(answer)
    }

    /// Why no try can succeed, if another server is there than the URL says.
    fn mistake(&self, error: &ureq::Error) -> Option<String> {
        let is_cut = match error {
            ureq::Error::Io(error) => error.kind() != ErrorKind::ConnectionRefused,
            // The name may have an address later.
            ureq::Error::HostNotFound => false,
            _ => true,
        };
        self.expected.get(self.at).filter(|_| is_cut)?.mistake()
    }

    /// Error of a reply that no gateway of etcd gives.
    fn foreign(&self, status: StatusCode, text: &str) -> EngineError {
        let at = &self.members[self.at];
        // A proxy answers so while it has no member behind it.
        if status.is_server_error() {
            return EngineError::unavailable(format!("the etcd member {at}: {status}"));
        }
        // Go's words to a client that should encrypt.
        let is_plain = text.contains("HTTP request to an HTTPS server");
        EngineError::failed_precondition(if is_plain {
            format!("the etcd member {at} takes encrypted connections only: write etcds://")
        } else {
            format!(
                "{at} answers {status}, as no etcd does: correct the host and port of the URL (etcd 3.4 or later is needed, \
                 with its JSON gateway)"
            )
        })
    }

    /// Where one side encrypts and the other does not, neither is told so.
    fn hint(&self, error: &ureq::Error) -> &'static str {
        use ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
        let is_ended = matches!(
            error,
            ureq::Error::Io(error)
                if matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
        );
        match self.scheme {
            _ if !is_ended => "",
            "http" => ": if it takes encrypted connections only, take etcds://",
            _ => {
                ": it may ask for a certificate, sslcert=FILE and sslkey=FILE, or take no encrypted \
                 connections"
            }
        }
    }

    fn log_in(&mut self) -> Result<(), MemberRefusal> {
        // So that `ask` finds no user, and sends no token.
        let Some(mut user) = self.user.take() else {
            return Err(MemberRefusal::All(failed_precondition(
                "requests without a user",
            )));
        };
        // Without a user: the request for a token has none yet.
        let login = json!({"name": user.name, "password": user.password.as_str()});
        let answer = self.ask("auth/authenticate", &login);
        user.token = answer
            .as_ref()
            .ok()
            .and_then(|answer| Some(answer.get("token")?.as_str()?.to_owned()));
        let known = user.token.is_some();
        self.user = Some(user);
        match answer {
            Ok(_) if known => Ok(()),
            Ok(_) => Err(MemberRefusal::All(not_understood())),
            Err(refusal) => Err(refusal),
        }
    }
}

/// Whether a reply is one of etcd: it has a header, or the code of an error.
fn is_of_a_gateway(answer: &Value) -> bool {
    /// The highest code of gRPC. Other servers put the status of HTTP there.
    const HIGHEST_CODE: u64 = 16;
    let code = answer.get("code").and_then(Value::as_u64);
    let has_code = code.is_some_and(|code| code <= HIGHEST_CODE);
    has_code || answer.get("header").is_some_and(Value::is_object)
}

/// What an error of the gateway means.
fn refusal(answer: &Value) -> MemberRefusal {
    /// gRPC's codes for a wrong argument, a missing permission, a failed precondition and an
    /// unknown method.
    const LASTING: [u64; 4] = [3, 7, 9, 12];
    let code = answer.get("code").and_then(Value::as_u64).unwrap_or(0);
    let message = ["message", "error"]
        .iter()
        .find_map(|name| answer.get(name)?.as_str())
        .unwrap_or("no reason given");
    match code {
        UNAUTHENTICATED => MemberRefusal::Login,
        // A code of its own would be better; etcd has none for it.
        _ if message == OLD_TOKEN => MemberRefusal::Login,
        _ if message == FULL => MemberRefusal::Member(failed_precondition(
            "its database is full: compact and defragment it, or raise --quota-backend-bytes, then run \
             `etcdctl alarm disarm`",
        )),
        _ if LASTING.contains(&code) => MemberRefusal::All(failed_precondition(message)),
        _ => MemberRefusal::Member(EngineError::unavailable(message)),
    }
}

fn failed_precondition(what: &str) -> EngineError {
    EngineError::failed_precondition(format!("the etcd cluster refuses: {what}"))
}

pub(crate) fn not_understood() -> EngineError {
    EngineError::unavailable("the etcd cluster's reply is not understood")
}

impl Display for EtcdClient {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.members.join(", "))
    }
}

impl Debug for EtcdClient {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.members).finish()
    }
}
