//! Stores by URL.

mod confined;
mod engines;
mod open;
#[cfg(test)]
mod tests;

use core::fmt::{self, Debug, Display, Formatter};
use core::str::FromStr;
use core::time::Duration;

use randflake_lease::StoreError;
use randflake_lease::unstable::url::{Location, refused};

pub use self::engines::*;
use self::engines::{KnownEngine, forms};
pub use self::open::{find, namespaces, stored};
pub use self::open::{open, open_counter};

/// A store's URL, parsed, as [`open`] takes it.
///
/// It is shown, by `Debug` too, with scheme, hosts, ports and database or path: never with user,
/// password or options.
///
/// ```
/// use randflake_std::lease::StoreUrl;
///
/// let url: StoreUrl = "postgres://me:pa%2Fss@db.internal/ids?sslmode=verify-full".parse()?;
/// assert_eq!(url.to_string(), "postgres://db.internal:5432/ids");
///
/// let error = "postgres://me:pa/ss@db.internal/ids".parse::<StoreUrl>().unwrap_err();
/// assert!(error.to_string().contains("%2F") && !error.to_string().contains("ss@"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct StoreUrl {
    location: Location,
    max_ttl: Option<Duration>,
}

/// # Errors
///
/// [`StoreError::Invalid`] says what is wrong, which options are allowed, and which form the URL
/// must have. Of the URL it shows an unknown scheme, or the name of an unknown option.
impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(url: &str) -> Result<Self, StoreError> {
        // Errors and logs show hosts and paths: a line break would look like another entry there.
        if url.contains(char::is_control) {
            return Err(refused("has control characters", &forms()));
        }
        let (url, max_ttl) = open::split(url)?;
        let Some((name, rest)) = url.split_once(':') else {
            return Err(refused("has no scheme", &forms()));
        };
        let Some(engine) = KnownEngine::of_scheme(name) else {
            // Without `//` it may be a user's name.
            if !is_scheme(name) || !rest.starts_with("//") {
                return Err(refused("has no scheme", &forms()));
            }
            return Err(StoreError::Invalid(format!(
                "lease stores of scheme {name:?} are not known: take {}",
                forms()
            )));
        };
        let location = engine.registration()?.location(&url)?;
        Ok(Self { location, max_ttl })
    }
}

impl StoreUrl {
    /// Where it leads, for the functions of an engine.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] if it has `max_ttl`, which only [`open`] takes.
    pub fn into_location(self) -> Result<Location, StoreError> {
        match self.max_ttl {
            None => Ok(self.location),
            // Here it would not come to the namespace.
            Some(_) => Err(StoreError::Invalid(
                "the lease store's URL has max_ttl, which only `lease::open` takes: use Namespace::with_max_ttl".to_owned(),
            )),
        }
    }
}

fn is_scheme(scheme: &str) -> bool {
    // The characters of RFC 3986, section 3.1.
    !scheme.is_empty()
        && scheme
            .chars()
            .all(|c: char| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

impl Display for StoreUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.location, f)
    }
}

impl Debug for StoreUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}
