//! HTTP.

use core::net::SocketAddr;
use core::time::Duration;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;

use super::listen::{Protocol, Stopping, Stream, stopped};
use super::service::Service;
use super::service::counters::Connections;

/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(10);
/// The longest head.
const MAX_HEAD: usize = 16 << 10;

/// What is answered.
pub(crate) fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .with_state(service)
}

/// HTTP/1.1 on the connections of a listener.
#[derive(Clone)]
pub(crate) struct Http {
    service: Arc<Service>,
    router: Router,
}

impl Http {
    pub(crate) fn new(service: Arc<Service>) -> Self {
        let router = router(Arc::clone(&service));
        Self { service, router }
    }
}

impl Protocol for Http {
    const TOO_MANY: &'static [u8] =
        b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

    fn connections(&self) -> &Connections {
        &self.service.counters.http
    }

    async fn speak(self, stream: Stream, _peer: SocketAddr, mut stopping: Stopping) {
        let service = TowerToHyperService::new(self.router);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = core::pin::pin!(connection);
        // What the client did wrong, or that it has gone, is its own affair.
        tokio::select! {
            _ = connection.as_mut() => return,
            () = stopped(&mut stopping) => connection.as_mut().graceful_shutdown(),
        }
        _ = connection.await;
    }
}
