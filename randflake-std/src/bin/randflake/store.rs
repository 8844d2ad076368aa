//! Where leases and counters are kept.

use std::path::PathBuf;

use randflake_std::Randflake;
use randflake_std::lease::{self, LeaseStore, Namespace, SqliteStore};
use randflake_std::segment::{self, SegmentStore};

use crate::failure::Failure;
use crate::layout::{Chosen, LayoutArgs};
use crate::state_directory;

#[derive(Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// Where leases and counters are kept: sqlite:PATH, or a URL such as redis://HOST [default: leases.db in the state directory]
    ///
    /// The state directory is $XDG_STATE_HOME/randflake or ~/.local/state/randflake.
    #[arg(
        long,
        value_name = "URL",
        env = "RANDFLAKE_STORE",
        hide_env_values = true
    )]
    store: Option<String>,
    /// Whose leases or counter: ids are unique within a namespace [default: default, and with another
    /// layout one of its name]
    ///
    /// Take another one for another secret. 1 to 64 characters of a-z, 0-9, '-' and '_'.
    #[arg(
        long,
        value_name = "NAME",
        env = "RANDFLAKE_NAMESPACE",
        hide_env_values = true
    )]
    namespace: Option<String>,
}

/// The lease store of a layout.
#[derive(Debug, clap::Args)]
pub(crate) struct LeaseArgs {
    #[command(flatten)]
    layout: LayoutArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl LeaseArgs {
    pub(crate) fn layout(&self) -> &Chosen {
        &self.layout.layout
    }

    pub(crate) fn open(&self) -> Result<Box<dyn LeaseStore>, Failure> {
        self.store.open(self.layout())
    }

    pub(crate) fn shown_url(&self) -> Result<String, Failure> {
        self.store.shown_url()
    }
}

impl StoreArgs {
    /// That of a counter, which has no layout.
    pub(crate) fn namespace(&self) -> Result<Namespace, Failure> {
        let name = self.namespace.as_deref().unwrap_or("default");
        Namespace::of::<Randflake>(name).map_err(Failure::usage)
    }

    fn open(&self, layout: &Chosen) -> Result<Box<dyn LeaseStore>, Failure> {
        let name = self.namespace.clone().unwrap_or_else(|| layout.namespace());
        let namespace = Namespace::of_layout(&name, layout.layout()).map_err(Failure::usage)?;
        match &self.store {
            Some(url) => Ok(lease::open(url, &namespace)?),
            None => Ok(Box::new(open_default(&namespace)?)),
        }
    }

    /// The store, for the namespace's counter.
    pub(crate) fn open_counter(&self) -> Result<Box<dyn SegmentStore>, Failure> {
        let namespace = self.namespace()?;
        match &self.store {
            Some(url) => Ok(segment::open(url, &namespace)?),
            None => Ok(Box::new(open_default(&namespace)?)),
        }
    }

    /// The URL to show: without the password that it may have.
    pub(crate) fn shown_url(&self) -> Result<String, Failure> {
        if let Some(url) = &self.store {
            return Ok(without_password(url));
        }
        let path = default_path()?;
        Ok(format!("sqlite:{}", path.display()))
    }
}

fn open_default(namespace: &Namespace) -> Result<SqliteStore, Failure> {
    state_directory::create(&state_directory::path()?)?;
    Ok(SqliteStore::open(default_path()?, namespace)?)
}

fn default_path() -> Result<PathBuf, Failure> {
    Ok(state_directory::path()?.join("leases.db"))
}

/// Hides where passwords may be: what stands before the last `@` of the host, and the parameters.
fn without_password(url: &str) -> String {
    let (url, parameters) = match url.split_once('?') {
        Some((url, _)) => (url, "?***"),
        None => (url, ""),
    };
    let Some((scheme, rest)) = url.split_once("://") else {
        return format!("{url}{parameters}");
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = match authority.rsplit_once('@') {
        Some((_, host)) => format!("***@{host}"),
        None => authority.to_owned(),
    };
    format!("{scheme}://{host}{path}{parameters}")
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn passwords_are_hidden() {
        for (url, shown) in [
            ("sqlite:leases.db", "sqlite:leases.db"),
            ("sqlite:///srv/a@b/leases.db", "sqlite:///srv/a@b/leases.db"),
            ("redis://host:6379/0", "redis://host:6379/0"),
            ("redis://:secret@host", "redis://***@host"),
            (
                "postgres://me:se@cret@host/ids?password=secret",
                "postgres://***@host/ids?***",
            ),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
