//! One request of HTTP: its client, its parameters, its answer and its place in the log; and
//! requests of other web pages.
//!
//! Without tokens, a server that listens on this machine only trusts the programs there. A browser
//! is one of them, and runs the code of any web page: a page may send requests here, and with a
//! name of its own that leads to 127.0.0.1 it may read the answers, too. A browser tells both by
//! headers that a page cannot set. A token is protection enough: no browser adds one by itself.

use core::net::{IpAddr, SocketAddr};
use core::ops::RangeInclusive;
use core::time::Duration;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{FromRequestParts, Query as Pairs, Request};
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Method, StatusCode, Version};
use axum::response::Response;
use randflake_std::Secret;

use super::dashboard::Dashboards;
use crate::access::{Principal, Scope, Weight};
use crate::budget::{Account, MemoryBudget};
use crate::log::{self, LogEntry};
use crate::refusal::{Refusal, RefusalKind};
use crate::service::{Service, digits};

/// State shared by all handlers.
pub(super) struct App {
    pub(super) service: Arc<Service>,
    pub(super) memory: Arc<MemoryBudget>,
    pub(super) dashboards: Dashboards,
    /// Where leases are kept, to show.
    pub(super) store: String,
    pub(super) ticket_key: Option<Arc<Secret>>,
}

/// What every handler of the interface is given.
pub(super) struct ApiRequest {
    pub(super) app: Arc<App>,
    pub(super) principal: Arc<Principal>,
    pub(super) query: Parameters,
}

impl FromRequestParts<Arc<App>> for ApiRequest {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Refusal> {
        // Before the parameters are read: who may not ask learns nothing of what may be asked.
        let principal = identify(parts, app)?;
        Ok(Self {
            app: Arc::clone(app),
            principal,
            query: Parameters::read(parts)?,
        })
    }
}

impl ApiRequest {
    /// Counts the request, and refuses parameters other than these. It comes first: what is wrong,
    /// and what is not allowed, must not cost less than what is answered.
    pub(super) fn begin(&self, weight: Weight, parameters: &[&str]) -> Result<(), Refusal> {
        self.principal.take_request(weight)?;
        self.query.only(parameters)
    }

    /// The namespace that is asked for: where one is served, or seen, it need not be named.
    pub(super) fn namespace(&self) -> Result<&str, Refusal> {
        if let Some(name) = self.query.text("namespace") {
            return Ok(name);
        }
        let service = &self.app.service;
        let mut spaces = service.spaces_of(&self.principal);
        match (spaces.next(), spaces.next()) {
            (Some(only), None) => Ok(only.name()),
            _ => Err(Refusal::invalid(format!(
                "the parameter namespace is missing: {}",
                service.served(&self.principal)
            ))),
        }
    }

    /// Refuses clients that have a right in no namespace at all: before a body is read that names
    /// one, and where an answer about the whole server has the namespaces that its client sees.
    pub(super) fn must_have(&self, scope: Scope) -> Result<(), Refusal> {
        if self.principal.has(scope) {
            return Ok(());
        }
        let (name, right) = (self.principal.name(), scope.name());
        let message = format!("the token {name:?} has no right to {right}");
        Err(Refusal::new(RefusalKind::Forbidden, message))
    }
}

/// The owner of a request's bearer token, or anybody where none is needed. The connection becomes
/// theirs.
pub(super) fn identify(parts: &Parts, app: &App) -> Result<Arc<Principal>, Refusal> {
    let access = &app.service.access;
    let mut values = parts.headers.get_all(AUTHORIZATION).iter();
    let principal = match (values.next(), values.next()) {
        (None, _) => {
            let anybody = access.anonymous()?;
            // Without a token alone: no browser adds one by itself, so with one it is no foreign
            // page.
            check(parts)?;
            anybody
        }
        (Some(value), None) => access.authenticate(bearer(value.as_bytes())?)?,
        // What is before the server may have checked the other one.
        (Some(_), Some(_)) => {
            return Err(Refusal::invalid(
                "the header Authorization stands there twice: once is allowed",
            ));
        }
    };
    if let Some(seen) = parts.extensions.get::<LoggedPrincipal>() {
        seen.is(&principal);
    }
    if let Some(account) = parts.extensions.get::<Arc<Account>>() {
        // At each request, since a proxy sends those of several tokens on one connection.
        account.identify(&principal).inspect_err(|_| {
            app.service.counters.http.refused.add(1);
        })?;
    }
    Ok(principal)
}

/// The token of `Bearer TOKEN`; the scheme's name has no case.
fn bearer(value: &[u8]) -> Result<&[u8], Refusal> {
    let (scheme, rest) = value.split_at_checked("Bearer ".len()).unwrap_or_default();
    let token = rest.trim_ascii();
    if scheme.eq_ignore_ascii_case(b"Bearer ") && !token.is_empty() {
        return Ok(token);
    }
    let message = "the header Authorization is not what is allowed: Bearer TOKEN";
    Err(Refusal::new(RefusalKind::WrongToken, message))
}

/// The parameters of a URL, in their order.
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub(super) fn read(parts: &Parts) -> Result<Self, Refusal> {
        let Pairs(pairs) =
            Pairs::try_from_uri(&parts.uri).map_err(|error| Refusal::invalid(error.body_text()))?;
        Ok(Self(pairs))
    }

    /// Refuses all but these, and any that stands there twice: of two values, the other one might
    /// be meant.
    pub(super) fn only(&self, allowed: &[&str]) -> Result<(), Refusal> {
        for (index, (name, _)) in self.0.iter().enumerate() {
            if !allowed.contains(&&**name) {
                let allowed = match allowed {
                    [] => "none is allowed".to_owned(),
                    allowed => format!("{} are allowed", allowed.join(", ")),
                };
                let message = format!("the parameter {name:?} is unknown: {allowed}");
                return Err(Refusal::invalid(message));
            }
            if self.0[..index].iter().any(|(other, _)| other == name) {
                let message = format!("the parameter {name:?} stands there twice: once is allowed");
                return Err(Refusal::invalid(message));
            }
        }
        Ok(())
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let mut pairs = self.0.iter();
        let found = pairs.find(|(own, _)| own == name);
        found.map(|(_, value)| &**value)
    }

    pub(super) fn number(
        &self,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, Refusal> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let number = digits(text).filter(|number| range.contains(number));
        number.map(Some).ok_or_else(|| {
            Refusal::invalid(format!(
                "{name} is {text:?}: a number from {} to {} is allowed",
                range.start(),
                range.end()
            ))
        })
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(Refusal::invalid(format!(
                "{name} is {other:?}: true and false are allowed"
            ))),
        }
    }

    /// A time in milliseconds.
    pub(super) fn ms(&self, name: &str) -> Result<Option<Duration>, Refusal> {
        /// JavaScript's numbers are whole up to here.
        const MOST: u64 = (1 << 53) - 1;
        let ms = self.number(name, 0..=MOST)?;
        Ok(ms.map(Duration::from_millis))
    }
}

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

/// Whose page a request is of; `none` is the user.
const FETCH_SITE: &str = "Sec-Fetch-Site";

/// Refuses requests that do not say once which host they are for: what is before the server may
/// have read another one.
pub(super) fn check_host(request: &Request) -> Result<(), Refusal> {
    let found = request.headers().get_all(HOST).iter().count();
    // It came with HTTP/1.1.
    let least = usize::from(request.version() >= Version::HTTP_11);
    if (least..=1).contains(&found) {
        return Ok(());
    }
    Err(Refusal::invalid(format!(
        "the header Host stands there {found} times: once is allowed"
    )))
}

/// Refuses requests that a page of another site may have sent.
pub(super) fn check(parts: &Parts) -> Result<(), Refusal> {
    let text = |name: &str| parts.headers.get(name).map(HeaderValue::as_bytes);
    // Of a picture or a form there is no origin: it reads no answer, but takes ids.
    if let Some(site) = text(FETCH_SITE)
        && !matches!(site, b"same-origin" | b"none")
    {
        return Err(refusal(FETCH_SITE, site, "same-origin or none"));
    }
    // A target that is a whole URL names the host, whatever the header says: RFC 9112, 3.2.2.
    let of_target = parts.uri.authority().map(|named| named.as_str().as_bytes());
    // Browsers send the header always, other programs of HTTP/1.0 perhaps not.
    let Some(host) = of_target.or_else(|| text("Host")) else {
        return Ok(());
    };
    if !is_of_this_machine(host) {
        return Err(refusal("Host", host, "localhost or an IP address"));
    }
    match text("Origin") {
        Some(origin) if !is_same(origin, host) => {
            Err(refusal("Origin", origin, "this server's own, or none"))
        }
        _ => Ok(()),
    }
}

/// Whether a host is `localhost` or an address, and no name that somebody else may have set up.
fn is_of_this_machine(host: &[u8]) -> bool {
    let Ok(authority) = Authority::try_from(host) else {
        return false;
    };
    let name = authority.host();
    let address = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    name.eq_ignore_ascii_case("localhost") || address.unwrap_or(name).parse::<IpAddr>().is_ok()
}

fn is_same(origin: &[u8], host: &[u8]) -> bool {
    [&b"http://"[..], b"https://"]
        .into_iter()
        .filter_map(|scheme| origin.strip_prefix(scheme))
        .any(|rest| rest.eq_ignore_ascii_case(host))
}

fn refusal(header: &str, found: &[u8], allowed: &str) -> Refusal {
    let found = String::from_utf8_lossy(found);
    let message = format!(
        "without --tokens no web page of another site may send requests: the header {header} is {found:?}, allowed is \
         {allowed}"
    );
    Refusal::new(RefusalKind::Forbidden, message)
}
