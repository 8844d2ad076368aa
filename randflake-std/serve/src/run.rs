//! The life of the server: start, reloads, end.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use randflake_common::failure::{Failure, say, say_times};
use randflake_common::layout::IdEncryption;
use randflake_std::date::span;
use randflake_std::lease::{KeyCheck, StoreError};
use randflake_std::{DEFAULT_TTL, Secret};
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use crate::access::Access;
use crate::budget::{MemoryBudget, MemoryLimits};
use crate::http::Http;
use crate::incidents;
use crate::listen::address::{ListenAddress, Passed, is_local};
use crate::listen::tls::{Tls, TlsFiles};
use crate::listen::{Listener, Stopping};
use crate::log::RequestLog;
use crate::places::ConnectionLimits;
use crate::resp::Resp;
use crate::service::Service;
use crate::service::served_namespace::{Leasing, ServedNamespace};
use crate::system::{self, ServiceSignal, Signals};

/// How often files are looked at. Polled, since what is mounted into a container is replaced by
/// renamed links, which events of one file do not tell.
const LOOK: Duration = Duration::from_secs(2);

/// What a release has of the grace at least, also where requests have taken all of it.
const SHORTEST_RELEASE: Duration = Duration::from_secs(2);

/// Status that the service manager shows.
const ISSUING: &str = "issuing ids";

/// What follows from a file without tokens, and what to do.
const NO_TOKENS: &str = "every client is refused, and /readyz is 503: see `randflake token new`";

type Sockets = [Option<std::net::TcpListener>; 2];

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it speaks the Redis protocol.
    pub resp: Option<ListenAddress>,
    /// Where it speaks HTTP.
    pub http: Option<ListenAddress>,
    /// File of the tokens. Without it, everybody may do everything, on this machine's own addresses
    /// alone.
    pub tokens: Option<PathBuf>,
    /// Files of the certificate. Without them, connections are not encrypted.
    pub tls: Option<TlsFiles>,
    /// Memory that clients may make the server hold.
    pub memory: MemoryLimits,
    /// Connections that may be open.
    pub connections: ConnectionLimits,
    /// How long a connection may be idle.
    pub idle: Duration,
    /// Whether each request is noted on standard error.
    pub request_log: bool,
    /// How long the requests that were received, and the release of the leases, may take once the
    /// server is to stop.
    pub grace: Duration,
}

/// Namespaces of a store that a server serves, and the way it leases their node ids.
#[derive(Debug)]
pub struct ServedStore {
    /// The namespaces.
    pub namespaces: Vec<ServedNamespace>,
    /// Number of node ids of each, and their TTL.
    pub leasing: Leasing,
    /// URL of the store, to show: without password.
    pub store: String,
    /// Whether other machines cannot see the leases.
    pub is_local: bool,
    /// Key of devices' tickets.
    pub ticket_key: Option<Secret>,
}

/// A server that listens, and answers nothing yet.
pub struct Server {
    options: Options,
    sockets: Sockets,
    access: Access,
    tls: Option<Arc<Tls>>,
    log: RequestLog,
}

impl Debug for Server {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Binds the addresses and reads the files, so that whatever a typing error breaks fails before
    /// anything is leased.
    ///
    /// It takes the sockets of a service manager from the environment: call it before the process
    /// has other threads.
    ///
    /// # Errors
    ///
    /// [`Failure`] if an address or a file cannot be used, or if other machines reach a server
    /// without tokens.
    pub fn bind(options: Options) -> Result<Self, Failure> {
        if !system::is_journaled() {
            say_times();
        }
        if options.resp.is_none() && options.http.is_none() {
            return Err(Failure::usage(
                "no address: give --resp ADDRESS for the Redis protocol, --http ADDRESS for HTTP, or both",
            ));
        }
        let mut passed = Passed::from_env();
        let mut bind = |address: &Option<_>, name| {
            address
                .as_ref()
                .map(|address| passed.bind(address, name))
                .transpose()
        };
        let sockets = [bind(&options.resp, "resp")?, bind(&options.http, "http")?];
        let access = match &options.tokens {
            Some(path) => Access::from_file(path.clone())?,
            None => Access::open(),
        };
        let tls = options.tls.as_ref().map(Tls::read).transpose()?;
        if access.is_required() && access.count() == 0 {
            say(&format!(
                "warning: the file of tokens has none: {NO_TOKENS}"
            ));
        }
        check_reach(&sockets, access.is_required(), tls.is_some())?;
        let log = if options.request_log {
            RequestLog::start()?
        } else {
            RequestLog::default()
        };
        Ok(Self {
            options,
            sockets,
            access,
            tls,
            log,
        })
    }

    /// Serves until a signal ends it: SIGTERM or Ctrl-C.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the first leases cannot be had, and waiting does not help.
    pub fn run(self, served: ServedStore) -> Result<(), Failure> {
        let Self {
            options,
            sockets,
            access,
            tls,
            log,
        } = self;
        let ServedStore {
            namespaces,
            leasing,
            store,
            is_local,
            ticket_key,
        } = served;
        let service = Arc::new(Service::new(namespaces, access, log));
        if let Some(key) = &ticket_key {
            check_ticket_key(&service, key)?;
        }
        if is_local {
            // Of two servers on two machines neither would see the other's leases.
            say(&format!(
                "the leases are kept on this machine, in {store}: a server on another machine under the same secret would \
                 issue equal ids, unless both are given one --store such as redis://HOST, or different node ids with static:"
            ));
        } else {
            warn_of_short_ttl(&service, leasing.ttl.unwrap_or(DEFAULT_TTL));
        }
        let memory = Arc::new(MemoryBudget::new(options.memory));
        let http = options.http.is_some().then(|| {
            let (service, memory) = (Arc::clone(&service), Arc::clone(&memory));
            Http::new(service, memory, store, ticket_key, options.idle)
        });
        let running = Running {
            resp: Resp::new(Arc::clone(&service), options.idle),
            http,
            tls,
            service,
            memory,
            options,
        };
        system::allow_many_files();
        let runtime = Runtime::new().map_err(Failure::failed)?;
        let ended = runtime.block_on(running.serve(sockets, &leasing));
        // A thread that still waits for a store would keep the process.
        runtime.shutdown_background();
        ended
    }
}

/// Refuses a key of tickets with which ids could be made and read.
fn check_ticket_key(service: &Service, key: &Secret) -> Result<(), Failure> {
    // Each device has the key of tickets; with the namespace's it could make and read every id.
    // That is the secret, or the key of 53-bit ids, which follows from it.
    let key_checks = [
        IdEncryption::Bits64.key_check(key),
        IdEncryption::Bits53.key_check(key),
        KeyCheck::of(&key.feistel53()),
    ];
    let mut spaces = service.spaces();
    match spaces.find(|space| key_checks.contains(&space.key_check())) {
        None => Ok(()),
        Some(space) => Err(Failure::failed(format!(
            "the key of tickets is the secret of namespace {:?}: take another one for tickets, made with \
             `randflake keygen`",
            space.name()
        ))),
    }
}

/// A server at work.
struct Running {
    options: Options,
    service: Arc<Service>,
    memory: Arc<MemoryBudget>,
    tls: Option<Arc<Tls>>,
    resp: Resp,
    http: Option<Http>,
}

impl Running {
    async fn serve(self, sockets: Sockets, leasing: &Leasing) -> Result<(), Failure> {
        let (service, tls, grace) = (&self.service, self.tls.as_deref(), self.options.grace);
        // Before anything is acquired: a signal during the start must not end the process before it
        // has released its leases.
        let mut signals = Signals::watch()
            .map_err(|error| Failure::failed(format!("signals cannot be watched: {error}")))?;
        let (stop, stopping) = watch::channel(false);
        // Before the leases are there: health checks are answered while the store is waited for.
        let mut listening = self.listen(sockets, &stopping)?;
        let mut starting = start(service, leasing);
        tokio::spawn(system::watchdog());
        tokio::spawn(incidents::watch(Arc::clone(service)));
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let failed = loop {
            tokio::select! {
                signal = signals.next() => match signal {
                    ServiceSignal::Stop => break None,
                    // Who is told that it reloads must be told that it is ready.
                    ServiceSignal::Reload if starting.is_empty() => {
                        system::reloading();
                        reload(service, tls, true);
                        system::ready(ISSUING);
                    }
                    ServiceSignal::Reload => reload(service, tls, true),
                },
                _ = looks.tick() => reload(service, tls, false),
                Some(started) = starting.join_next() => match started {
                    Ok(Err(failure)) => break Some(failure),
                    Err(panic) => break Some(Failure::failed(panic)),
                    _ if starting.is_empty() => {
                        // After the last one: the service manager starts what depends on this
                        // server when it is told.
                        system::ready(ISSUING);
                        say("ready");
                    }
                    _ => {}
                },
            }
        };
        system::stopping();
        // A build that is dropped releases what the store still grants it.
        starting.abort_all();
        // Received: tasks of the runtime hold receivers for as long as they live. Answers come
        // first, then the leases, which requests that were received still need.
        _ = stop.send(true);
        let answered = async { while listening.join_next().await.is_some() {} };
        let ends = Instant::now() + grace;
        tokio::select! {
            ended = timeout_at(ends, answered) => if ended.is_err() {
                say(&format!("warning: requests were left after {}", span(grace)));
            },
            () = asked_to_stop(&mut signals) => say("warning: asked twice to stop, requests were left"),
        }
        say("releasing the leases");
        // A store that does not answer must not keep the process: what stops it would kill it then.
        let released_until = ends.max(Instant::now() + SHORTEST_RELEASE);
        tokio::select! {
            ended = timeout_at(released_until, close(service)) => if ended.is_err() {
                say("warning: the store does not answer: leases that are not released yet end by themselves");
            },
            () = asked_to_stop(&mut signals) => say(
                "warning: asked again to stop: leases that are not released yet end by themselves",
            ),
        }
        failed.map_or(Ok(()), Err)
    }

    /// Listens from now on.
    fn listen(&self, [resp, http]: Sockets, stopping: &Stopping) -> Result<JoinSet<()>, Failure> {
        let mut listening = JoinSet::new();
        tokio::spawn(incidents::watch_memory(Arc::clone(&self.memory)));
        let listener = |socket, name| {
            let (tls, memory) = (self.tls.clone(), Arc::clone(&self.memory));
            let listener = Listener::new(socket, tls, self.options.connections, memory)
                .map_err(Failure::failed)?;
            let address = listener.address().map_err(Failure::failed)?;
            say(&format!("{name} at {address}"));
            Ok::<_, Failure>(listener)
        };
        if let Some(socket) = resp {
            listening.spawn(listener(socket, "resp")?.run(self.resp.clone(), stopping.clone()));
        }
        if let Some((socket, protocol)) = http.zip(self.http.clone()) {
            listening.spawn(listener(socket, "http")?.run(protocol, stopping.clone()));
        }
        Ok(listening)
    }
}

/// Nothing but this machine is trusted without tokens.
fn check_reach(sockets: &Sockets, has_tokens: bool, has_tls: bool) -> Result<(), Failure> {
    for socket in sockets.iter().flatten() {
        let address = socket.local_addr().map_err(Failure::failed)?;
        if is_local(address) {
            continue;
        }
        if !has_tokens {
            return Err(Failure::usage(format!(
                "{address} is reached from other machines, and everybody there could take ids and leases: give \
                 --tokens FILE, with a line of `randflake token new` for each client, or listen to 127.0.0.1"
            )));
        }
        if !has_tls {
            say(&format!(
                "warning: tokens cross the network to {address} unencrypted: give --tls-cert and --tls-key, unless \
                 something before this server does"
            ));
        }
    }
    Ok(())
}

/// Says where a restart of the lease store alone would stop ids for the whole quarantine.
fn warn_of_short_ttl(service: &Service, ttl: Duration) {
    for space in service.spaces() {
        let least = space.namespace().min_lasting_ttl();
        if ttl < least {
            say(&format!(
                "warning: namespace {:?}: with --ttl={} no ids are issued for the whole quarantine after a restart of the \
                 lease store, also if it has lost nothing: from {} on, leases outlast it",
                space.name(),
                span(ttl),
                span(least)
            ));
        }
    }
}

/// Acquires the first leases of each namespace.
fn start(service: &Service, leasing: &Leasing) -> JoinSet<Result<(), Failure>> {
    let mut starting = JoinSet::new();
    for space in service.spaces() {
        let (space, leasing) = (Arc::clone(space), leasing.clone());
        starting.spawn(async move {
            let name = space.name().to_owned();
            let started = space.start(&leasing, move |error: &StoreError, _| {
                let what = incidents::with_remedy(error);
                let message = format!("namespace {name:?} waits for its store: {what}");
                system::status(&message);
                say(&message);
            });
            started.await.map_err(|error| {
                Failure::from(error).behind(format_args!("namespace {:?}", space.name()))
            })
        });
    }
    starting
}

/// Reads what has changed, or all. What is wrong is said, and what was in use stays in use.
fn reload(service: &Service, tls: Option<&Tls>, always: bool) {
    let before = service.access.count();
    match service.access.reload(always) {
        Ok(true) => say(&match service.access.count() {
            // Emptied on purpose or by accident: revoked tokens must not count, so they are not
            // kept.
            0 => format!(
                "warning: the file of tokens has none any more, and had {before}: {NO_TOKENS}"
            ),
            now => format!("the tokens were read again: {now}, before {before}"),
        }),
        Ok(false) => {}
        Err(failure) => say(&format!(
            "warning: the tokens stay as they were, revoked ones too, until their file is right: {failure}"
        )),
    }
    match tls.map(|tls| tls.reload(always)) {
        Some(Ok(true)) => say("new connections use the certificates that were read now"),
        None | Some(Ok(false)) => {}
        Some(Err(failure)) => {
            say(&format!(
                "warning: the certificates stay as they were: {failure}"
            ));
        }
    }
}

/// Returns at the next signal to stop.
async fn asked_to_stop(signals: &mut Signals) {
    while signals.next().await != ServiceSignal::Stop {}
}

/// Releases the leases of all namespaces at the same time.
async fn close(service: &Service) {
    let mut closing = JoinSet::new();
    for space in service.spaces() {
        let space = Arc::clone(space);
        closing.spawn(async move {
            let closed = space.close().await;
            if let Err(error) = closed {
                say(&format!(
                    "warning: the leases of namespace {:?} were not released and end by themselves: {error}",
                    space.name()
                ));
            }
        });
    }
    while closing.join_next().await.is_some() {}
}
