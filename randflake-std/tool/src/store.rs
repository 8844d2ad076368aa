//! Where leases and counters are kept.

use core::fmt::{self, Debug, Formatter};
use core::time::Duration;
use std::io::Read;
use std::path::PathBuf;

use randflake_std::lease::{
    self, LeaseStore, Namespace, NamespaceList, SqliteStore, StoreError, StoreUrl,
};
use randflake_std::randflake_core::LayoutSpec;
use randflake_std::segment;
use randflake_std::{Randflake, private_file};

use crate::failure::Failure;
use crate::layout::{Chosen, LayoutArgs};
use crate::max_ttl::{self, NamedTtl};
use crate::state_directory;
use crate::wait::WaitArgs;

/// Longest URL in a file, in bytes.
const LONGEST_URL: u64 = 64 << 10;

#[derive(Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// Where leases and counters are kept: sqlite:PATH, or a URL such as redis://HOST [default: leases.db in the state directory]
    ///
    /// The state directory is $XDG_STATE_HOME/randflake or ~/.local/state/randflake. Every user of the machine can list the
    /// arguments of processes: a URL with a password belongs to --store-file, or to the environment, which only the
    /// process's own user and root can read.
    #[arg(
        long,
        value_name = "URL",
        env = "RANDFLAKE_STORE",
        hide_env_values = true
    )]
    store: Option<WrittenUrl>,
    /// Read the URL of the store from this file, which others must not be able to read
    #[arg(
        long,
        value_name = "FILE",
        env = "RANDFLAKE_STORE_FILE",
        conflicts_with = "store"
    )]
    store_file: Option<PathBuf>,
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
    /// The longest TTL of any lease of the namespace, fixed when it is created [default: 1m]
    ///
    /// Every command and program that leases in it must say the same. The variable RANDFLAKE_MAX_TTL and the option max_ttl
    /// of the store's URL, redis://HOST?max_ttl=15m, say it too; two that differ are refused. After a loss of data the store
    /// grants nothing for this long and 20 s.
    #[arg(long, value_name = "TIME", value_parser = max_ttl::time)]
    max_ttl: Option<Duration>,
    /// Let the namespace take a secret that another namespace of the store has: ids of both may be equal
    ///
    /// For a secret that was given to two namespaces on purpose, or moves from one to another. Otherwise derive a secret
    /// for each: randflake keygen --derive NAME.
    #[arg(long)]
    shared_secret: bool,
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

    pub(crate) fn open(&self) -> Result<LeaseStore, Failure> {
        let namespace = self.store.namespace_of(self.layout())?;
        Ok(self.store.place()?.open(&namespace)?)
    }

    pub(crate) fn namespace(&self) -> Result<Namespace, Failure> {
        self.store.namespace_of(self.layout())
    }

    /// What opens the store of a namespace, for a command that may have to try more than once.
    pub(crate) fn opener(
        &self,
        namespace: Namespace,
    ) -> Result<impl Fn() -> Result<LeaseStore, StoreError> + Send + Sync + use<>, Failure> {
        self.store.opener(namespace)
    }

    /// The store of a command that takes a lease. One that is waited for is opened by its first use.
    pub(crate) fn open_within(&self, wait: &WaitArgs) -> Result<LeaseStore, Failure> {
        if wait.limit().is_zero() {
            return self.open();
        }
        let namespace = self.store.namespace_of(self.layout())?;
        let place = self.store.place()?;
        let open = move |namespace: &Namespace| place.open(namespace);
        Ok(lease::deferred(&namespace, open))
    }

    /// The store of a namespace that is there.
    pub(crate) fn open_existing(&self) -> Result<LeaseStore, Failure> {
        let namespace = self.namespace()?;
        match self.store.find(namespace.name())? {
            Some(_) => self.open(),
            None => Err(self.store.missing(namespace.name())),
        }
    }

    pub(crate) fn shown_url(&self) -> Result<String, Failure> {
        self.store.shown_url()
    }

    pub(crate) fn store(&self) -> &StoreArgs {
        &self.store
    }

    /// Whether the namespace is there; `None` if there is no store.
    pub(crate) fn is_there(&self) -> Result<Option<bool>, Failure> {
        let name = self.store.namespace_of(self.layout())?;
        let url = self.store.url()?;
        if lease::find(&url, name.name())?.is_some() {
            return Ok(Some(true));
        }
        Ok(lease::namespaces(&url)?.map(|_| false))
    }
}

/// The namespaces that are there; nothing is created.
impl StoreArgs {
    /// Whether several machines may use the store.
    pub(crate) fn is_shared(&self) -> Result<bool, Failure> {
        Ok(!self.shown_url()?.starts_with("sqlite:"))
    }

    /// Whether it has one node id.
    pub(crate) fn is_assigned(&self) -> Result<bool, Failure> {
        Ok(self.shown_url()?.starts_with("static:"))
    }

    pub(crate) fn find(&self, name: &str) -> Result<Option<Namespace>, Failure> {
        Ok(lease::find(&self.url()?, name)?)
    }

    /// Those that can be read.
    pub(crate) fn stored(&self) -> Result<Vec<Namespace>, Failure> {
        Ok(lease::stored(&self.url()?)?)
    }

    pub(crate) fn names(&self) -> Result<NamespaceList, Failure> {
        Ok(lease::namespaces(&self.url()?)?.unwrap_or_default())
    }

    pub(crate) fn open(&self, namespace: &Namespace) -> Result<LeaseStore, Failure> {
        Ok(self.place()?.open(namespace)?)
    }

    /// The leases of the namespace, with the layout that is stored.
    pub(crate) fn open_stored(&self) -> Result<LeaseStore, Failure> {
        self.open_named(self.namespace.as_deref().unwrap_or("default"))
    }

    /// The same, of a name that stands elsewhere.
    pub(crate) fn open_named(&self, name: &str) -> Result<LeaseStore, Failure> {
        match self.find(name)? {
            Some(namespace) => self.open(&namespace),
            None => Err(self.missing(name)),
        }
    }

    fn missing(&self, name: &str) -> Failure {
        let place = self.shown_url().unwrap_or_default();
        let names = self.names().map(|list| some(&list.names));
        let others = match names {
            Ok(names) if names.is_empty() => {
                "it has none; the first `randflake generate` or `randflake lease acquire` makes one"
                    .to_owned()
            }
            Ok(names) => format!("it has {names}; choose one with --namespace"),
            Err(error) => format!("which others it has is not known: {error}"),
        };
        Failure::failed(format!(
            "there is no namespace {name:?} in {place}: {others}"
        ))
    }

    fn url(&self) -> Result<String, Failure> {
        if let Some(url) = self.written()? {
            return Ok(url);
        }
        let path = default_path()?;
        let path = path.to_str().ok_or_else(|| {
            Failure::failed(format!(
                "{}: give --store, this is not UTF-8",
                path.display()
            ))
        })?;
        Ok(format!("sqlite:{path}"))
    }
}

/// Lists the first of many names.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let shown = names.iter().take(SHOWN).map(|name| format!("{name:?}"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl StoreArgs {
    /// That of a counter, which has no layout.
    pub(crate) fn namespace(&self) -> Result<Namespace, Failure> {
        let name = self.namespace.as_deref().unwrap_or("default");
        Namespace::new(name, Randflake).map_err(Failure::usage)
    }

    fn namespace_of(&self, layout: &Chosen) -> Result<Namespace, Failure> {
        let name = self.namespace.clone().unwrap_or_else(|| layout.namespace());
        self.named(&name, layout.spec())
    }

    /// A namespace as the options say: whether its secret may be another one's.
    pub(crate) fn named(&self, name: &str, layout: LayoutSpec) -> Result<Namespace, Failure> {
        let namespace = Namespace::new(name, layout).map_err(Failure::usage)?;
        let namespace = match self.max_ttl()? {
            Some((_, longest)) => namespace.with_max_ttl(longest),
            None => namespace,
        };
        Ok(if self.shared_secret {
            namespace.with_shared_secret()
        } else {
            namespace
        })
    }

    /// The longest TTL of a namespace, and where it was said; refused if that is said twice in different ways.
    pub(crate) fn max_ttl(&self) -> Result<Option<NamedTtl>, Failure> {
        let url = self.written()?.map(|url| url.parse::<StoreUrl>());
        let url = url.transpose()?.and_then(|url| url.max_ttl());
        max_ttl::agreed([
            self.max_ttl.map(|time| ("--max-ttl", time)),
            max_ttl::variable()?,
            url.map(|time| ("the max_ttl of the store's URL", time)),
        ])
    }

    /// The URL that was given, or that is in the file.
    fn written(&self) -> Result<Option<String>, Failure> {
        let Some(path) = &self.store_file else {
            return Ok(self.store.clone().map(|WrittenUrl(url)| url));
        };
        let wrong = |problem: &str| Failure::failed(format!("{}: {problem}", path.display()));
        let opened = private_file::open_key(path);
        let (file, _) =
            opened.map_err(|refusal| Failure::failed(format!("the store, {refusal}")))?;
        let mut text = String::new();
        let read = file.take(LONGEST_URL).read_to_string(&mut text);
        read.map_err(|error| wrong(&error.to_string()))?;
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        match (lines.next(), lines.next()) {
            (Some(url), None) => Ok(Some(url.to_owned())),
            _ => Err(wrong(
                "it must have one line, the URL of a store such as postgres://USER:PASSWORD@HOST/DATABASE",
            )),
        }
    }

    fn place(&self) -> Result<StorePlace, Failure> {
        Ok(match self.written()? {
            Some(url) => StorePlace::Url(url),
            None => StorePlace::Default(prepared_path()?),
        })
    }

    /// The store, for the namespace's counter.
    pub(crate) fn open_counter(&self) -> Result<LeaseStore, Failure> {
        Ok(self.place()?.open_counter(&self.namespace()?)?)
    }

    /// What opens the store of a namespace, as often as it is called.
    pub(crate) fn opener(
        &self,
        namespace: Namespace,
    ) -> Result<impl Fn() -> Result<LeaseStore, StoreError> + Send + Sync + use<>, Failure> {
        let place = self.place()?;
        Ok(move || place.open(&namespace))
    }

    /// What opens the counter, for a command that may have to try more than once.
    pub(crate) fn counter_opener(
        &self,
    ) -> Result<impl Fn() -> Result<LeaseStore, StoreError>, Failure> {
        let (place, namespace) = (self.place()?, self.namespace()?);
        Ok(move || place.open_counter(&namespace))
    }

    /// The URL to show: without user, password and options.
    pub(crate) fn shown_url(&self) -> Result<String, Failure> {
        if let Some(url) = self.written()? {
            return Ok(url.parse::<StoreUrl>()?.to_string());
        }
        let path = default_path()?;
        Ok(format!("sqlite:{}", path.display()))
    }
}

/// A URL as it was written. Clap's errors would show it, so it is parsed later; and `Debug` does not show it.
#[derive(Clone)]
struct WrittenUrl(String);

impl From<String> for WrittenUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl Debug for WrittenUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Written")
    }
}

/// The place of a store: a URL, or a file in the default state directory.
enum StorePlace {
    Url(String),
    Default(PathBuf),
}

impl StorePlace {
    fn open(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        match self {
            Self::Url(url) => lease::open(url, namespace),
            Self::Default(path) => SqliteStore::open(path, namespace),
        }
    }

    fn open_counter(&self, namespace: &Namespace) -> Result<LeaseStore, StoreError> {
        match self {
            Self::Url(url) => segment::open(url, namespace),
            Self::Default(path) => SqliteStore::open(path, namespace),
        }
    }
}

/// The default path, in a directory that exists.
fn prepared_path() -> Result<PathBuf, Failure> {
    state_directory::create(&state_directory::path()?)?;
    default_path()
}

fn default_path() -> Result<PathBuf, Failure> {
    Ok(state_directory::path()?.join("leases.db"))
}
