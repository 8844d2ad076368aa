//! Web pages of others, when no token is needed.
//!
//! Who listens on this machine only trusts its programs. A browser is one of them, and runs what any web page sends it:
//! a page may send requests here, and with a name of its own that leads to 127.0.0.1 it may read the answers, too. A
//! browser tells both by headers that a page cannot set. A token is protection enough: no browser adds one by itself.

use core::net::IpAddr;

use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Version};

use crate::refusal::{Refusal, RefusalKind};

/// Whose page a request is of; `none` is the user.
const FETCH_SITE: &str = "Sec-Fetch-Site";

/// Refuses requests that do not say once which host they are for: what is before the server may have read another one.
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
