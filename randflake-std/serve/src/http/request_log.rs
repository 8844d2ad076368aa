//! HTTP requests in the request log.

use core::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::Response;

use crate::access::Principal;
use crate::budget::Account;
use crate::log::{self, LogEntry};
use crate::service::Service;
use crate::service::refusal::RefusalKind;

/// Methods that are logged; any other word may be a misplaced secret.
const KNOWN: [Method; 9] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::DELETE,
    Method::CONNECT,
    Method::OPTIONS,
    Method::TRACE,
    Method::PATCH,
];

/// Owner of the token, set once it was looked up.
#[derive(Clone, Default)]
pub(super) struct LoggedPrincipal(Arc<OnceLock<Arc<Principal>>>);

impl LoggedPrincipal {
    pub(super) fn is(&self, principal: &Arc<Principal>) {
        // A request has one token.
        _ = self.0.set(Arc::clone(principal));
    }
}

/// A request that is logged once it is answered.
pub(super) struct LoggedRequest {
    begun: Instant,
    peer: SocketAddr,
    method: Method,
    path: String,
    seen: LoggedPrincipal,
}

impl LoggedRequest {
    /// `None` without a log.
    pub(super) fn begin(service: &Service, request: &mut Request) -> Option<Self> {
        let begun = service.log.begin()?;
        let peer = request.extensions().get::<Arc<Account>>()?.peer();
        let seen = LoggedPrincipal::default();
        request.extensions_mut().insert(seen.clone());
        Some(Self {
            begun,
            peer,
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            seen,
        })
    }

    pub(super) fn end(self, service: &Service, response: &Response) {
        // Whatever stands in a path that is none of the server's may be anything.
        let is_known = response.status() != StatusCode::NOT_FOUND;
        let path = if is_known { &*self.path } else { "?" };
        let is_known = KNOWN.contains(&self.method);
        let method = if is_known { self.method.as_str() } else { "?" };
        let refused = response.extensions().get::<RefusalKind>();
        let entry = LogEntry {
            protocol: "http",
            peer: self.peer,
            token: self.seen.0.get().map(|principal| principal.name()),
            request: &format!("{method} {path}"),
            // It stands in the query or the body, of which nothing is logged.
            namespace: None,
            answer: log::answer(refused.copied()),
        };
        service.log.end(Some(self.begun), &entry);
    }
}
