//! The principal of a request: the owner of its bearer token.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use super::App;
use super::problem::Problem;
use super::request_log::LoggedIdentity;
use super::site;
use crate::serve::access::{Identity, Scope};
use crate::serve::memory::Account;
use crate::serve::service::refusal::{Refusal, RefusalKind};

pub(super) struct Principal(pub(super) Arc<Identity>);

impl FromRequestParts<Arc<App>> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let access = &app.service.access;
        let mut values = parts.headers.get_all(AUTHORIZATION).iter();
        let identity = match (values.next(), values.next()) {
            (None, _) => {
                let anybody = access.anonymous()?;
                site::check(parts)?;
                anybody
            }
            (Some(value), None) => access.authenticate(bearer(value.as_bytes())?)?,
            (Some(_), Some(_)) => {
                return Err(Problem::invalid(
                    "the header Authorization stands there twice: once is allowed",
                ));
            }
        };
        if let Some(seen) = parts.extensions.get::<LoggedIdentity>() {
            seen.is(&identity);
        }
        if let Some(account) = parts.extensions.get::<Arc<Account>>() {
            account.identify(&identity).inspect_err(|_| {
                app.service.counters.http.refused.add(1);
            })?;
        }
        Ok(Self(identity))
    }
}

/// The token of `Bearer TOKEN`; the scheme's name has no case.
fn bearer(value: &[u8]) -> Result<&[u8], Refusal> {
    let (scheme, token) = value.split_at_checked("Bearer ".len()).unwrap_or_default();
    let token = token.trim_ascii();
    if scheme.eq_ignore_ascii_case(b"Bearer ") && !token.is_empty() {
        return Ok(token);
    }
    let told = "the header Authorization is not what is allowed: Bearer TOKEN";
    Err(Refusal::new(RefusalKind::WrongToken, told))
}

impl Principal {
    /// For what concerns the whole server; the answer has only the namespaces that this one sees.
    pub(super) fn must_be_admin(&self) -> Result<(), Refusal> {
        if self.0.has(Scope::Admin) {
            return Ok(());
        }
        let name = self.0.name();
        let told = format!("the token {name:?} has no right to {}", Scope::Admin.name());
        Err(Refusal::new(RefusalKind::Forbidden, told))
    }
}
