//! HTTP: ids, leases and tickets as JSON, for machines; health and metrics, for operators' tools;
//! and a page for operators.

mod body;
mod dashboard;
mod files;
#[cfg(any(fuzzing, test))]
#[cfg_attr(
    test,
    expect(
        clippy::pedantic,
        clippy::unwrap_used,
        clippy::panic,
        reason = "a fuzz target fails by panicking"
    )
)]
pub(crate) mod fuzz;
mod ids;
mod leases;
mod metrics;
mod request;
mod status;

use core::future::poll_fn;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONNECTION, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue, Version};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use randflake_std::Secret;
use tokio::io::{AsyncWriteExt as _, copy, sink};
use tokio::time::timeout;

use self::body::{BodyMemory, IdleLimit, StallLimit};
use self::dashboard::Dashboards;
use self::files::FILES;
use self::metrics::Recorded;
use self::request::{App, LoggedRequest};
use super::access::Access;
use super::budget::{Account, MemoryBudget};
use super::listen::{Protocol, Stopping, Stream, stopped};
use super::service::Service;
use crate::counters::{AnswerStatus, Connections};
use crate::refusal::{Refusal, RefusalKind};

/// Longest head of a request in bytes.
const MAX_HEAD: usize = 16 << 10;
/// What a connection holds: a head that is read, one that is written, and its state.
const COST: usize = 2 * MAX_HEAD + (4 << 10);
/// Time limit of an answer, including receiving the body of the request. It is beyond every wait
/// inside: 5 s for a turn, for ids and for memory, 10 s for a body.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a client that was answered may go on sending, which is not looked at.
const LINGER: Duration = Duration::from_secs(1);

/// Characters that are shown of a path that is not there.
const SHOWN: usize = 1 << 10;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// Whether the connection stays open after the answer, as far as the client wants it.
fn keeps_alive(request: &hyper::Request<Incoming>) -> bool {
    let values = request.headers().get_all(CONNECTION).iter();
    let mut words = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','));
    request.version() == Version::HTTP_11
        && !words.any(|word| word.trim().eq_ignore_ascii_case("close"))
}

/// Ends so that the client gets the whole answer: one that is refused may still be sending, and a
/// socket that is closed with something unread breaks its connection.
async fn close(mut stream: Stream, may_send: bool) -> io::Result<()> {
    stream.shutdown().await?;
    if may_send {
        copy(&mut stream, &mut sink()).await?;
    }
    Ok(())
}

/// Routes of all paths.
fn router(app: Arc<App>) -> Router {
    let mut router = Router::new()
        .route("/healthz", get(status::alive))
        .route("/readyz", get(status::ready))
        .route("/metrics", get(metrics::metrics))
        .route("/v1/ids", get(ids::ids))
        .route("/v1/numbers", get(ids::numbers))
        .route("/v1/leases", get(leases::list).post(leases::acquire))
        .route("/v1/leases/renew", post(leases::renew))
        .route("/v1/leases/release", post(leases::release))
        .route("/v1/tickets", post(leases::tickets))
        .route("/v1/devices", get(leases::look).post(leases::register))
        .route("/v1/inspect", get(ids::one).post(ids::many))
        .route("/v1/explain", get(ids::explain))
        .route("/v1/status", get(status::status));
    for file in &FILES {
        router = router.route(file.path, file.route());
    }
    router
        .fallback(no_path)
        .method_not_allowed_fallback(no_method)
        // The last layer is the outermost: paths that are not there are checked, counted and
        // logged, too.
        .layer(from_fn_with_state(Arc::clone(&app), middleware))
        .with_state(app)
}

async fn no_path(request: Request) -> Refusal {
    let path = request.uri().path();
    // An answer must not be as long as the longest head.
    let path: String = path.chars().take(SHOWN).collect();
    let message = format!("there is nothing at {path:?}: see /openapi.json");
    Refusal::new(RefusalKind::NotFound, message)
}

async fn no_method(request: Request) -> Refusal {
    let method = request.method();
    let message = format!("{method} is not allowed here: see the header Allow");
    Refusal::new(RefusalKind::MethodNotAllowed, message)
}

/// Middleware of every request: checks, quotas and the log.
async fn middleware(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let counters = &app.service.counters;
    let begun = Instant::now();
    let noted = LoggedRequest::begin(&app.service, &mut request);
    let holding = BodyMemory::of(&request);
    let answering = async {
        match request::check_host(&request) {
            Ok(()) => next.run(request).await,
            Err(refusal) => refusal.into_response(),
        }
    };
    // Cancels the handler, not the work with the store, which goes on in its thread and may
    // succeed.
    let answered = timeout(PATIENCE, answering).await;
    let mut response = answered.unwrap_or_else(|_| {
        let message = format!(
            "the lease store did not answer within {} s: whether it did what was asked is unknown",
            PATIENCE.as_secs()
        );
        Refusal::new(RefusalKind::Unavailable, message).into_response()
    });
    // Before the answer is counted: there may be no memory for it, and then it is another answer.
    response = holding.keep(response).await;
    if let Some(kind) = response.extensions().get::<RefusalKind>() {
        counters.refused(*kind);
    }
    let status = AnswerStatus::of_http(response.status().as_u16());
    counters.http_answers.add(status, 1);
    counters.http_answers.times.add(begun.elapsed());
    if let Some(noted) = noted {
        noted.end(&app.service, &response);
    }
    let headers = response.headers_mut();
    // A browser must not take ids or a refusal for a page, nor show yesterday's.
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let fresh = HeaderValue::from_static("no-store");
    headers.entry(CACHE_CONTROL).or_insert(fresh);
    response
}

/// HTTP/1.1 on the connections of a listener.
#[derive(Clone)]
pub(crate) struct Http {
    service: Arc<Service>,
    router: Router,
    idle: Duration,
}

impl Http {
    pub(crate) fn new(
        service: Arc<Service>,
        memory: Arc<MemoryBudget>,
        store: String,
        ticket_key: Option<Secret>,
        idle: Duration,
    ) -> Self {
        // Before the handles are built that report to it.
        Recorded::global();
        let router = router(Arc::new(App {
            service: Arc::clone(&service),
            memory,
            dashboards: Dashboards::of_all(&service),
            store,
            ticket_key: ticket_key.map(Arc::new),
        }));
        Self {
            service,
            router,
            idle,
        }
    }
}

impl Protocol for Http {
    const COST: usize = COST;

    fn connections(&self) -> &Connections {
        &self.service.counters.http
    }

    fn access(&self) -> &Access {
        &self.service.access
    }

    async fn speak(self, stream: Stream, account: Arc<Account>, mut stopping: Stopping) {
        let router = TowerToHyperService::new(self.router);
        let idle = Arc::new(IdleLimit::new(self.idle, account));
        let stream = StallLimit::new(stream, Arc::clone(&idle));
        let has_body = Arc::new(AtomicBool::new(false));
        let of_request = Arc::clone(&has_body);
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            // Relaxed: stream and service are polled by one task.
            of_request.store(!request.body().is_end_stream(), Ordering::Relaxed);
            // By it `identify` and `BodyMemory` find the connection that a request came on.
            request.extensions_mut().insert(Arc::clone(idle.account()));
            let is_kept = keeps_alive(&request);
            idle.next_turn();
            let answering = router.call(request);
            let idle = Arc::clone(&idle);
            Box::pin(async move {
                let mut answered = answering.await;
                idle.next_turn();
                if let Ok(response) = &mut answered
                    && is_kept
                {
                    // A client that knows when the connection is closed sends no request into its
                    // end.
                    let hint = format!("timeout={}", idle.time().as_secs());
                    let hint = HeaderValue::try_from(hint).ok();
                    response
                        .headers_mut()
                        .extend(hint.map(|hint| (KEEP_ALIVE, hint)));
                }
                answered
            })
        });
        let mut connection = http1::Builder::new()
            // A client that has sent its request may close its direction at once, as `nc -N` does.
            // Who has gone altogether is not told from it, and is noticed by the answer.
            .half_close(true)
            // The stream has both limits: a head may take less time than a connection may be idle.
            .header_read_timeout(None)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), service);
        // What the client did wrong, or that it has gone, is its own affair.
        let ended = tokio::select! {
            ended = poll_fn(|context| connection.poll_without_shutdown(context)) => Some(ended),
            () = stopped(&mut stopping) => None,
        };
        let ended = if let Some(ended) = ended {
            ended
        } else {
            // An answer that has begun is finished; an idle connection ends at once.
            Pin::new(&mut connection).graceful_shutdown();
            poll_fn(|context| connection.poll_without_shutdown(context)).await
        };
        // What is no request is answered as well.
        let is_no_request = ended.is_err_and(|error| error.is_parse());
        let may_send = is_no_request || has_body.load(Ordering::Relaxed);
        let stream = connection.into_parts().io.into_inner().into_stream();
        _ = timeout(LINGER, close(stream, may_send)).await;
    }
}
