//! The life of the server: start, reloads, end.

use core::time::Duration;
use std::sync::Arc;

use randflake_std::DEFAULT_TTL;
use randflake_std::date::span;
use randflake_std::lease::StoreError;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use super::ServeArgs;
use super::access::Access;
use super::http::Http;
use super::incidents;
use super::listen::address::{Passed, is_local};
use super::listen::tls::Tls;
use super::listen::{Listener, Stopping};
use super::log::RequestLog;
use super::memory::{self, MemoryBudget};
use super::resp::Resp;
use super::service::Service;
use super::service::served_namespace::Leasing;
use super::system::{self, ServiceSignal, Signals};
use crate::failure::{Failure, say, say_times};

/// How often files are looked at. Polled, since what is mounted into a container is replaced by renamed links, which events
/// of one file do not tell.
const LOOK: Duration = Duration::from_secs(2);

/// What a release has of the grace at least, also where requests have taken all of it.
const SHORTEST_RELEASE: Duration = Duration::from_secs(2);

/// Status that the service manager shows.
const ISSUING: &str = "issuing ids";

/// What follows from a file without tokens, and what to do.
const NO_TOKENS: &str = "every client is refused, and /readyz is 503: see `randflake token new`";

type Sockets = [Option<std::net::TcpListener>; 2];

impl ServeArgs {
    pub(super) fn run(&self) -> Result<(), Failure> {
        if !system::is_journaled() {
            say_times();
        }
        if self.resp.is_none() && self.http.is_none() {
            return Err(Failure::usage(
                "no address: give --resp ADDRESS for the Redis protocol, --http ADDRESS for HTTP, or both",
            ));
        }
        if self.http.is_none() && self.ticket_key.is_named() {
            return Err(Failure::usage(
                "--ticket-key-file: devices get their tickets by HTTP alone, so give --http ADDRESS too",
            ));
        }
        // First what a typing error breaks, and before there are threads: a service manager's sockets are taken from the
        // environment. The store comes last, because it may have to be waited for.
        let sockets = self.bind()?;
        let access = match &self.tokens {
            Some(path) => Access::from_file(path.clone())?,
            None => Access::open(),
        };
        let tls = self.tls.read()?;
        if access.is_required() && access.count() == 0 {
            say(&format!(
                "warning: the file of tokens has none: {NO_TOKENS}"
            ));
        }
        check_reach(&sockets, access.is_required(), tls.is_some())?;
        let log = if self.request_log {
            RequestLog::start()?
        } else {
            RequestLog::default()
        };
        let service = Arc::new(Service::new(self.spaces()?, access, log));
        let leasing = self.leasing()?;
        self.warn_of_local_leases()?;
        system::allow_many_files();
        let runtime = Runtime::new().map_err(Failure::failed)?;
        let ended = runtime.block_on(self.serve(sockets, tls, &service, leasing));
        // Whoever still waits for a store would keep the process.
        runtime.shutdown_background();
        ended
    }

    /// Of two servers on two machines neither would see the other's leases.
    fn warn_of_local_leases(&self) -> Result<(), Failure> {
        if self.namespaces.is_local()? {
            let url = self.namespaces.shown_url()?;
            say(&format!(
                "the leases are kept on this machine, in {url}: a server on another machine under the same secret would \
                 issue equal ids, unless both are given one --store such as redis://HOST, or different node ids with static:"
            ));
        }
        Ok(())
    }

    fn bind(&self) -> Result<Sockets, Failure> {
        let mut passed = Passed::from_env();
        let mut bind = |address: &Option<_>, name| {
            let address = address.as_ref();
            address
                .map(|address| passed.bind(address, name))
                .transpose()
        };
        Ok([bind(&self.resp, "resp")?, bind(&self.http, "http")?])
    }

    async fn serve(
        &self,
        sockets: Sockets,
        tls: Option<Arc<Tls>>,
        service: &Arc<Service>,
        leasing: Leasing,
    ) -> Result<(), Failure> {
        // Before anything is acquired: a signal during the start must not end the process before it
        // has released its leases.
        let mut signals = Signals::watch()
            .map_err(|error| Failure::failed(format!("signals cannot be watched: {error}")))?;
        let (stop, stopping) = watch::channel(false);
        // Before the leases are there: health checks are answered while the store is waited for.
        let mut listening = self.listen(sockets, tls.as_ref(), service, &stopping)?;
        if !self.namespaces.is_local()? {
            warn_of_short_ttl(service, leasing.ttl.unwrap_or(DEFAULT_TTL));
        }
        let mut starting = start(service, &leasing);
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
                        reload(service, tls.as_deref(), true);
                        system::ready(ISSUING);
                    }
                    ServiceSignal::Reload => reload(service, tls.as_deref(), true),
                },
                _ = looks.tick() => reload(service, tls.as_deref(), false),
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
        // Received: tasks of the runtime hold receivers for as long as they live. Answers come first, then the leases, which
        // requests that were received still need.
        _ = stop.send(true);
        let answered = async { while listening.join_next().await.is_some() {} };
        let ends = Instant::now() + self.grace;
        tokio::select! {
            ended = timeout_at(ends, answered) => if ended.is_err() {
                say(&format!("warning: requests were left after {}", span(self.grace)));
            },
            () = asked_to_stop(&mut signals) => say("warning: asked twice to stop, requests were left"),
        }
        say("releasing the leases");
        // A store that does not answer must not keep the process: what stops it would kill it then.
        let ends = ends.max(Instant::now() + SHORTEST_RELEASE);
        tokio::select! {
            ended = timeout_at(ends, close(service)) => if ended.is_err() {
                say("warning: the store does not answer: leases that are not released yet end by themselves");
            },
            () = asked_to_stop(&mut signals) => say(
                "warning: asked again to stop: leases that are not released yet end by themselves",
            ),
        }
        failed.map_or(Ok(()), Err)
    }

    /// Listens from now on.
    fn listen(
        &self,
        [resp, http]: Sockets,
        tls: Option<&Arc<Tls>>,
        service: &Arc<Service>,
        stopping: &Stopping,
    ) -> Result<JoinSet<()>, Failure> {
        let mut listening = JoinSet::new();
        let memory = Arc::new(MemoryBudget::new(self.memory));
        tokio::spawn(memory::watch(Arc::clone(&memory)));
        let listener = |socket, name| {
            let listener =
                Listener::new(socket, tls.cloned(), self.connections, Arc::clone(&memory));
            let listener = listener.map_err(Failure::failed)?;
            let address = listener.address().map_err(Failure::failed)?;
            say(&format!("{name} at {address}"));
            Ok::<_, Failure>(listener)
        };
        if let Some(socket) = resp {
            let protocol = Resp::new(Arc::clone(service), self.idle);
            listening.spawn(listener(socket, "resp")?.run(protocol, stopping.clone()));
        }
        if let Some(socket) = http {
            let store = self.namespaces.shown_url()?;
            let ticket_key = self.ticket_key(service)?;
            let protocol = Http::new(
                Arc::clone(service),
                Arc::clone(&memory),
                store,
                ticket_key,
                self.idle,
            );
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
            let tell = move |error: &StoreError, _| {
                let what = incidents::with_remedy(error);
                let message = format!("namespace {name:?} waits for its store: {what}");
                system::status(&message);
                say(&message);
            };
            let started = space.start(&leasing, tell).await;
            started.map_err(|error| {
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
            // Emptied on purpose or by accident: revoked tokens must not count, so they are not kept.
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
