//! The parameters of a request's URL: each at most once, and none that is not known.

use core::ops::RangeInclusive;
use core::time::Duration;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Query as Pairs};
use axum::http::request::Parts;

use super::App;
use super::principal::Principal;
use super::problem::Problem;
use crate::serve::service::digits;

pub(super) struct Query(Vec<(String, String)>);

impl FromRequestParts<Arc<App>> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let read = Pairs::from_request_parts(parts, app).await;
        let Pairs(pairs) = read.map_err(|error| Problem::invalid(error.body_text()))?;
        Ok(Self(pairs))
    }
}

impl Query {
    /// Refuses all but these.
    pub(super) fn only(self, allowed: &[&str]) -> Result<Self, Problem> {
        for (index, (name, _)) in self.0.iter().enumerate() {
            let allows = || match allowed {
                [] => "none is allowed".to_owned(),
                allowed => format!("{} are allowed", allowed.join(", ")),
            };
            if !allowed.contains(&&**name) {
                let allows = allows();
                return Err(Problem::invalid(format!(
                    "the parameter {name:?} is unknown: {allows}"
                )));
            }
            if self.0[..index].iter().any(|(other, _)| other == name) {
                return Err(Problem::invalid(format!(
                    "the parameter {name:?} stands there twice: once is allowed"
                )));
            }
        }
        Ok(self)
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
    ) -> Result<Option<u64>, Problem> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let number = digits(text).filter(|number| range.contains(number));
        number.map(Some).ok_or_else(|| {
            Problem::invalid(format!(
                "{name} is {text:?}: a number from {} to {} is allowed",
                range.start(),
                range.end()
            ))
        })
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(Problem::invalid(format!(
                "{name} is {other:?}: true and false are allowed"
            ))),
        }
    }

    /// A time in milliseconds.
    pub(super) fn ms(&self, name: &str) -> Result<Option<Duration>, Problem> {
        /// JavaScript's numbers are whole up to here.
        const MOST: u64 = (1 << 53) - 1;
        let ms = self.number(name, 0..=MOST)?;
        Ok(ms.map(Duration::from_millis))
    }

    /// The namespace that is asked for: where one is served, or seen, it need not be named.
    pub(super) fn namespace<'a>(
        &'a self,
        app: &'a App,
        principal: &Principal,
    ) -> Result<&'a str, Problem> {
        if let Some(name) = self.text("namespace") {
            return Ok(name);
        }
        let spaces = app.service.spaces().map(|space| space.name());
        let seen: Vec<_> = spaces.filter(|name| principal.0.sees(name)).collect();
        match seen[..] {
            [only] => Ok(only),
            _ => Err(Problem::invalid(format!(
                "the parameter namespace is missing: served: {}",
                seen.join(", ")
            ))),
        }
    }
}
