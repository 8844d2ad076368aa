//! Options that name a lease store, and the default state directory.

use core::fmt::{self, Debug, Formatter};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{env, path};

use randflake_common::date;
use randflake_std::date::span;
use randflake_std::lease::{
    LeaseStore, MAX_TTL_LIMIT, Namespace, NamespaceList, StoreError, StoreUrl,
};
use randflake_std::randflake_core::LayoutSpec;
use randflake_std::segment::{CounterError, CounterPlace};
use randflake_std::unstable::url::quoted;
use randflake_std::{Randflake, lease, private_file, segment};

use crate::failure::{Failure, say};
use crate::layout::{LayoutArgs, LayoutChoice};
use crate::wait::WaitArgs;

/// Longest URL in a file, in bytes: a file that was named by mistake is not read whole.
const LONGEST_URL: u64 = 64 << 10;

#[derive(Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// Where leases and counters are kept: sqlite:PATH, or a URL such as redis://HOST [default:
    /// leases.db in the state directory]
    ///
    /// The state directory is $XDG_STATE_HOME/randflake or ~/.local/state/randflake. Every user of
    /// the machine can list the arguments of processes: a URL with a password belongs to
    /// --store-file, or to the environment, which only the process's own user and root can read.
    #[arg(
        long,
        value_name = "URL",
        env = "RANDFLAKE_STORE",
        hide_env_values = true
    )]
    store: Option<GivenUrl>,
    /// Read the URL of the store from this file, which others must not be able to read
    #[arg(
        long,
        value_name = "FILE",
        env = "RANDFLAKE_STORE_FILE",
        conflicts_with = "store"
    )]
    store_file: Option<PathBuf>,
    /// Namespace of the ids or the counter: ids are unique within one [default: default, and with
    /// another layout one of its name]
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
    /// Every command and program that leases in it must say the same. The variable
    /// RANDFLAKE_MAX_TTL and the option max_ttl of the store's URL, redis://HOST?max_ttl=15m, say
    /// it too; two that differ are refused. After a loss of data the store grants nothing for this
    /// long and 20 s.
    #[arg(long, value_name = "TIME", value_parser = longest_ttl)]
    max_ttl: Option<Duration>,
    /// Let the namespace take a secret that another namespace of the store has: ids of both may be
    /// equal
    ///
    /// For a secret that was given to two namespaces on purpose, or moves from one to another.
    /// Otherwise derive a secret for each: randflake keygen --derive NAME.
    #[arg(long)]
    shared_secret: bool,
}

/// The store and namespace of a command whose layout is given, not read from the store.
#[derive(Debug, clap::Args)]
pub(crate) struct LeaseArgs {
    #[command(flatten)]
    layout: LayoutArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// Leases of the namespace that the layout and the options name.
impl LeaseArgs {
    pub(crate) fn layout(&self) -> &LayoutChoice {
        &self.layout.layout
    }

    pub(crate) fn store(&self) -> &StoreArgs {
        &self.store
    }

    pub(crate) fn shown_url(&self) -> Result<String, Failure> {
        self.store.shown_url()
    }

    pub(crate) fn namespace(&self) -> Result<Namespace, Failure> {
        let layout = self.layout();
        let name = self.store.namespace.clone();
        // A layout has a namespace of its own: two layouts in one are refused by the store.
        let name = name.unwrap_or_else(|| layout.namespace());
        self.store.named(&name, layout.spec())
    }

    /// The namespace of a command for which the name has a meaning of its own, so that none is
    /// assumed.
    pub(crate) fn named_namespace(&self) -> Result<Namespace, Failure> {
        if self.store.namespace.is_none() {
            return Err(Failure::usage(
                "--namespace NAME is needed: the tags of UUIDs depend on it",
            ));
        }
        self.namespace()
    }

    /// Opens the store, which makes the namespace if it is not there.
    pub(crate) fn open(&self) -> Result<LeaseStore, Failure> {
        Ok(self.opener(self.namespace()?)?()?)
    }

    /// What opens the store of a namespace, for a command that may have to try more than once.
    pub(crate) fn opener(
        &self,
        namespace: Namespace,
    ) -> Result<impl Fn() -> Result<LeaseStore, StoreError> + Send + Sync + use<>, Failure> {
        self.store.opener(namespace)
    }

    /// The store of a command that takes a lease. One that is waited for is opened by its first
    /// use.
    pub(crate) fn open_within(&self, wait: &WaitArgs) -> Result<LeaseStore, Failure> {
        // Opening asks the server, so with `--wait` it belongs to the part that is tried again.
        if wait.limit().is_zero() {
            return self.open();
        }
        let namespace = self.namespace()?;
        let open = self.opener(namespace.clone())?;
        Ok(lease::deferred(&namespace, move |_| open()))
    }

    /// The store of a namespace that is there.
    pub(crate) fn open_existing(&self) -> Result<LeaseStore, Failure> {
        // The terms that the options say, not the stored ones: the store refuses a layout that
        // differs.
        let namespace = self.namespace()?;
        match self.store.find(namespace.name())? {
            Some(_) => self.open(),
            None => Err(self.store.missing(namespace.name())),
        }
    }

    /// Whether the namespace is there; `None` if there is no store.
    pub(crate) fn is_there(&self) -> Result<Option<bool>, Failure> {
        // `find` returns `None` for a missing namespace and for a missing store alike; the list of
        // names tells them apart.
        let found = self.store.find(self.namespace()?.name())?;
        if found.is_some() {
            return Ok(Some(true));
        }
        Ok(self.store.names()?.map(|_| false))
    }
}

/// Where the store is.
impl StoreArgs {
    /// Whether several machines may use the store.
    pub(crate) fn is_shared(&self) -> Result<bool, Failure> {
        // `static:` counts as shared: its file is this machine's, but other machines have the other
        // node ids.
        Ok(!self.shown_url()?.starts_with("sqlite:"))
    }

    /// Note for a user with a secret whose leases are on this machine alone; `None` of a store on a
    /// server.
    pub(crate) fn local_leases(&self) -> Result<Option<String>, Failure> {
        if self.is_shared()? {
            return Ok(None);
        }
        Ok(Some(format!(
            "the leases of this secret are on this machine alone, in {}: another machine or container that has the secret, and a \
             store of its own, may issue equal ids. If there is one, give all of them one store on a server, such as --store \
             postgres://HOST/DATABASE",
            self.shown_url()?
        )))
    }

    /// The same as a line to say before the namespace has the secret, once for each store: a line
    /// at every run would soon be read by nobody. `doctor` says it whenever it is asked.
    pub(crate) fn note_of_local_leases(
        &self,
        namespace: &Namespace,
    ) -> Result<Option<String>, Failure> {
        let Some(sentence) = self.local_leases()? else {
            return Ok(None);
        };
        // What is wrong with the store, its opening says.
        let stored = self.find(namespace.name()).ok().flatten();
        let has_secret = stored.is_some_and(|stored| stored.key_check().is_some());
        Ok((!has_secret).then(|| format!("note: {sentence}")))
    }

    /// Whether it has one node id, which this machine was given.
    pub(crate) fn is_assigned(&self) -> Result<bool, Failure> {
        Ok(self.shown_url()?.starts_with("static:"))
    }

    /// The URL to show: without user, password and options.
    pub(crate) fn shown_url(&self) -> Result<String, Failure> {
        shown(&self.url()?)
    }

    /// Why others on the network can read what is sent to the store; `None` if they cannot.
    pub(crate) fn exposure(&self) -> Result<Option<String>, Failure> {
        match self.url()?.parse::<StoreUrl>()?.confined() {
            Err(StoreError::FailedPrecondition(why)) => Ok(Some(why.to_string())),
            // If a name leads nowhere, opening the store says so.
            _ => Ok(None),
        }
    }

    fn url(&self) -> Result<String, Failure> {
        match self.given_url()? {
            Some(url) => Ok(url),
            None => default_url(),
        }
    }

    /// What opens the store, as often as it is called. It says when that makes a file: at a
    /// mistyped path, or where a volume was forgotten, the store knows nothing of the leases of
    /// another.
    fn opening(
        &self,
        open: fn(&str, &Namespace) -> Result<LeaseStore, StoreError>,
    ) -> Result<impl Fn(&Namespace) -> Result<LeaseStore, StoreError> + Send + Sync + use<>, Failure>
    {
        // Read once: a file of the URL that is replaced while a command waits does not move it to
        // another store.
        let given = self.given_url()?;
        let url = given.map_or_else(made_default_url, Ok)?;
        let shown = shown(&url)?;
        let has_opened = AtomicBool::new(false);
        Ok(move |namespace: &Namespace| {
            let path = shown.strip_prefix("sqlite:");
            let made = path.filter(|path| !Path::new(path).exists());
            // A server that runs makes no store in the place of the one that its clients have
            // leases from.
            if let Some(path) = made.filter(|_| has_opened.load(Ordering::Relaxed)) {
                return Err(StoreError::failed_precondition(format!(
                    "{path}: the lease store that this process uses is gone: put it back (is its volume mounted?), or restart \
                     this process if a new store is meant"
                )));
            }
            let store = open(&url, namespace)?;
            has_opened.store(true, Ordering::Relaxed);
            if let Some(path) = made {
                let path = path::absolute(path).unwrap_or_else(|_| path.into());
                say(&format!(
                    "made a new lease store in {}; if there was one before, end this and put that back: is its volume mounted, \
                     and the path right?",
                    path.display()
                ));
            }
            Ok(store)
        })
    }

    /// The URL that was given, or that is in the file.
    fn given_url(&self) -> Result<Option<String>, Failure> {
        let Some(path) = &self.store_file else {
            let url = self.store.clone().map(|GivenUrl(url)| url);
            // Such as from a line `RANDFLAKE_STORE=$STORE` where nothing has set the latter.
            if url.as_deref() == Some("") {
                return Err(Failure::usage(
                    "--store or RANDFLAKE_STORE is given, and empty: give the URL of the store, or leave it out for the file in \
                     the state directory",
                ));
            }
            return Ok(url);
        };
        let wrong = |problem: &str| Failure::failed(format!("{}: {problem}", path.display()));
        let opened = private_file::open_key(path);
        let (file, _) =
            opened.map_err(|refusal| Failure::failed(format!("--store-file: {refusal}")))?;
        let mut text = String::new();
        let read = file.take(LONGEST_URL).read_to_string(&mut text);
        read.map_err(|error| wrong(&error.to_string()))?;
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        // The text itself is in no message: it may hold a password.
        match (lines.next(), lines.next()) {
            (Some(url), None) => Ok(Some(url.to_owned())),
            _ => Err(wrong(
                "it must have one line, the URL of a store such as postgres://USER:PASSWORD@HOST/DATABASE",
            )),
        }
    }
}

/// A URL without user, password and options.
fn shown(url: &str) -> Result<String, Failure> {
    Ok(url.parse::<StoreUrl>()?.to_string())
}

/// The URL of a default store that may be made by opening it: its directory is made here. Those of
/// other stores are not, as a mistyped path would make a second store that knows nothing of the
/// first one's leases.
fn made_default_url() -> Result<String, Failure> {
    create_state_directory(&state_directory()?)?;
    default_url()
}

fn default_url() -> Result<String, Failure> {
    let path = state_directory()?.join("leases.db");
    match path.to_str() {
        Some(path) => Ok(format!("sqlite:{path}")),
        None => Err(Failure::failed(format!(
            "{}: give --store, this is not UTF-8",
            path.display()
        ))),
    }
}

/// The namespaces that are there; nothing is created.
impl StoreArgs {
    pub(crate) fn find(&self, name: &str) -> Result<Option<Namespace>, Failure> {
        Ok(lease::find(&self.url()?, name)?)
    }

    /// The namespaces whose records can be read.
    pub(crate) fn stored(&self) -> Result<Vec<Namespace>, Failure> {
        Ok(lease::stored(&self.url()?)?)
    }

    /// The names of all namespaces; `None` if there is no store.
    pub(crate) fn names(&self) -> Result<Option<NamespaceList>, Failure> {
        Ok(lease::namespaces(&self.url()?)?)
    }

    /// Opens the store of the namespace that the options name, with the layout that is stored.
    pub(crate) fn open_stored(&self) -> Result<LeaseStore, Failure> {
        self.open_named(self.namespace_name())
    }

    /// Opens the store of a namespace that a document or an argument names.
    pub(crate) fn open_named(&self, name: &str) -> Result<LeaseStore, Failure> {
        match self.find(name)? {
            Some(namespace) => self.open(&namespace),
            None => Err(self.missing(name)),
        }
    }

    pub(crate) fn open(&self, namespace: &Namespace) -> Result<LeaseStore, Failure> {
        Ok(self.opening(lease::open)?(namespace)?)
    }

    fn missing(&self, name: &str) -> Failure {
        // Best effort: the message must not be replaced by a second failure.
        let place = self.shown_url().unwrap_or_default();
        let makes = "the first `randflake generate` or `randflake lease acquire` makes";
        let others = match self.names() {
            Ok(None) if is_of_file(&place) => {
                format!("the file is not there: is the path right? If it is new, {makes} it")
            }
            Ok(None) => format!(
                "this database has no tables of a lease store: is it the right one? If it is new, {makes} them"
            ),
            Ok(Some(list)) if list.names.is_empty() => format!("it has none; {makes} one"),
            Ok(Some(list)) => format!("it has {}; choose one with --namespace", some(&list.names)),
            Err(error) => format!("which others it has is not known: {error}"),
        };
        Failure::failed(format!(
            "there is no namespace {name:?} in {place}: {others}"
        ))
    }
}

/// Whether a store is in a file of this machine.
fn is_of_file(shown_url: &str) -> bool {
    ["sqlite:", "static:"]
        .iter()
        .any(|scheme| shown_url.starts_with(scheme))
}

/// Lists the first of many names: a store may have thousands of namespaces.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let shown = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("{name:?}"))
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Namespaces as the options describe them.
impl StoreArgs {
    pub(crate) fn namespace_name(&self) -> &str {
        // Commands that read the layout from the store cannot derive the name from it.
        self.namespace.as_deref().unwrap_or("default")
    }

    /// A namespace of a name and a layout, with the longest TTL that was said, and whether its
    /// secret may be another one's.
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

    /// The longest TTL of a namespace, and where it was said; refused if that is said twice in
    /// different ways.
    pub(crate) fn max_ttl(&self) -> Result<Option<NamedTtl>, Failure> {
        let url = self.given_url()?.map(|url| url.parse::<StoreUrl>());
        let url = url.transpose()?.and_then(|url| url.max_ttl());
        agreed_max_ttl([
            self.max_ttl.map(|time| ("--max-ttl", time)),
            max_ttl_variable()?,
            url.map(|time| ("the max_ttl of the store's URL", time)),
        ])
    }

    /// What opens the store of a namespace, as often as it is called: after a failure the server
    /// may be back.
    pub(crate) fn opener(
        &self,
        namespace: Namespace,
    ) -> Result<impl Fn() -> Result<LeaseStore, StoreError> + Send + Sync + use<>, Failure> {
        let open = self.opening(lease::open)?;
        Ok(move || open(&namespace))
    }
}

/// The counter of the namespace.
impl StoreArgs {
    /// The namespace of a counter, which has no layout: any will do.
    pub(crate) fn counter_namespace(&self) -> Result<Namespace, Failure> {
        Namespace::new(self.namespace_name(), Randflake).map_err(Failure::usage)
    }

    pub(crate) fn open_counter(&self) -> Result<LeaseStore, Failure> {
        Ok(self.counter_opener()?()?)
    }

    /// Whether the counter cannot be there, as there is no store: only what begins a counter makes
    /// one, so that nothing is left at a mistyped path.
    pub(crate) fn has_no_store(&self) -> Result<bool, Failure> {
        // The default directory is made, so that the command of the message finds it.
        let url = self.given_url()?.map_or_else(made_default_url, Ok)?;
        let url = shown(&url)?;
        let Some(path) = url.strip_prefix("sqlite:").map(Path::new) else {
            return Ok(false);
        };
        // Another directory that is missing is what an unmounted volume looks like, and opening
        // says so.
        let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
        Ok(directory.is_none_or(Path::exists) && !path.exists())
    }

    /// The error of a counter that is not there.
    pub(crate) fn missing_counter(&self) -> Result<CounterError, Failure> {
        let counter = CounterPlace {
            store: without_login(&self.url()?)?,
            namespace: self.counter_namespace()?.name().to_owned(),
            arguments: Some(self.counter_arguments()?),
        };
        let reached = 0;
        Ok(CounterError::Lost { reached, counter })
    }

    /// What opens the counter, for a command that may have to try more than once.
    pub(crate) fn counter_opener(
        &self,
    ) -> Result<impl Fn() -> Result<LeaseStore, StoreError> + use<>, Failure> {
        let (open, namespace) = (self.opening(segment::open)?, self.counter_namespace()?);
        let arguments = self.counter_arguments()?;
        Ok(move || Ok(open(&namespace)?.named_by(arguments.clone())))
    }

    /// The arguments that name this store and namespace to another command, also in another
    /// directory, by another user and without this one's environment. A user and a password stand
    /// for themselves.
    pub(crate) fn counter_arguments(&self) -> Result<String, Failure> {
        let store = match &self.store_file {
            Some(path) => {
                let path = path::absolute(path).unwrap_or_else(|_| path.clone());
                format!("--store-file {}", quoted(&path.to_string_lossy()))
            }
            None => format!("--store {}", quoted(&without_login(&self.url()?)?)),
        };
        Ok(match &self.namespace {
            Some(name) => format!("{store} --namespace {}", quoted(name)),
            None => store,
        })
    }
}

/// A URL with words in the place of user and password, and of a file with its absolute path.
fn without_login(url: &str) -> Result<String, Failure> {
    let shown = shown(url)?;
    if let Some(path) = shown.strip_prefix("sqlite:") {
        let path = path::absolute(path).unwrap_or_else(|_| path.into());
        return Ok(format!("sqlite:{}", path.display()));
    }
    // The last one ends the login: behind it, a URL that was parsed has none.
    let login = url.rsplit_once('@').and_then(|(before, rest)| {
        let (scheme, login) = before.split_once("://")?;
        Some((scheme, login, rest))
    });
    Ok(match login {
        None => url.to_owned(),
        Some((scheme, login, rest)) => {
            let login = match login.split_once(':') {
                None => "USER",
                Some(("", _)) => ":PASSWORD",
                Some(_) => "USER:PASSWORD",
            };
            format!("{scheme}://{login}@{rest}")
        }
    })
}

/// A URL as it was given. Clap's errors would show it, so it is parsed later; and `Debug` does not
/// show it.
#[derive(Clone)]
struct GivenUrl(String);

impl From<String> for GivenUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl Debug for GivenUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("GivenUrl(..)")
    }
}

const ALTERNATIVES: &str = "set XDG_STATE_HOME to the absolute path of a directory that may be written, or \
                            give both --key-file (or RANDFLAKE_KEY) and --store (or RANDFLAKE_STORE)";

/// `$XDG_STATE_HOME/randflake`, or `~/.local/state/randflake` when that variable is not an absolute
/// path (XDG Base Directory Specification 0.8).
pub(crate) fn state_directory() -> Result<PathBuf, Failure> {
    // The specification has relative paths ignored: with them the current directory would choose
    // the secret.
    let is_absolute = |path: &PathBuf| path.is_absolute();
    let state_home = env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(is_absolute);
    let home = || env::home_dir().filter(is_absolute);
    // Services often have no home directory, so the message says what to give instead.
    let Some(state_home) = state_home.or_else(|| Some(home()?.join(".local/state"))) else {
        return Err(Failure::failed(format!(
            "there is no home directory: {ALTERNATIVES}"
        )));
    };
    Ok(state_home.join("randflake"))
}

/// Makes the directory, for its owner alone, if it is not there, and checks whose it is.
pub(crate) fn create_state_directory(path: &Path) -> Result<(), Failure> {
    private_file::create_directory(path)
        .map_err(|refusal| Failure::failed(format!("state directory {refusal}: {ALTERNATIVES}")))
}

const MAX_TTL_VARIABLE: &str = "RANDFLAKE_MAX_TTL";

/// A longest TTL, after the place that says it.
pub(crate) type NamedTtl = (&'static str, Duration);

/// A longest TTL as people type it.
pub(crate) fn longest_ttl(text: &str) -> Result<Duration, String> {
    let time = date::duration(text)?;
    // Refused while the arguments are read, so the message names the option and not the store.
    if time.is_zero() || time > MAX_TTL_LIMIT {
        return Err(
            "a time above 0 and up to 14610 days is allowed, such as 90s, 15m or 1h".to_owned(),
        );
    }
    Ok(time)
}

/// The longest TTL that the environment says.
fn max_ttl_variable() -> Result<Option<NamedTtl>, Failure> {
    // Not by clap: it would let the option win over a variable that differs.
    let Some(text) = env::var_os(MAX_TTL_VARIABLE) else {
        return Ok(None);
    };
    let time = longest_ttl(&text.to_string_lossy())
        .map_err(|why| Failure::usage(format!("{MAX_TTL_VARIABLE}: {why}")))?;
    Ok(Some((MAX_TTL_VARIABLE, time)))
}

/// The longest TTL of a namespace by the first of several places that say it, if all that do say
/// the same.
///
/// It is a term of the namespace: a process that waited out a shorter one after a loss of data
/// would repeat ids. So two places that differ are refused; a precedence would hide which of them
/// counts.
pub(crate) fn agreed_max_ttl(
    places: impl IntoIterator<Item = Option<NamedTtl>>,
) -> Result<Option<NamedTtl>, Failure> {
    let mut places = places.into_iter().flatten();
    let Some(first) = places.next() else {
        return Ok(None);
    };
    // Times are compared and not texts: 15m and 900s agree.
    let Some(other) = places.find(|(_, time)| *time != first.1) else {
        return Ok(Some(first));
    };
    let named = |(place, time): NamedTtl| format!("{} by {place}", span(time));
    Err(Failure::usage(format!(
        "the longest TTL is {} and {}: it is fixed when the namespace is created, so say it in one place, or the same in \
         all",
        named(first),
        named(other)
    )))
}

#[cfg(test)]
mod tests {
    use super::without_login;

    #[test]
    fn a_shown_url_has_all_but_user_and_password() {
        for (url, shown) in [
            ("redis://h:1/2", "redis://h:1/2"),
            ("redis://:secret@h", "redis://:PASSWORD@h"),
            ("postgres://me@h/d?owner=o", "postgres://USER@h/d?owner=o"),
            ("postgres://me:a@b@g,h/d", "postgres://USER:PASSWORD@g,h/d"),
            ("sqlite:/srv/a@b/ids.db", "sqlite:/srv/a@b/ids.db"),
            ("sqlite:///srv/ids.db?max_ttl=2m", "sqlite:/srv/ids.db"),
        ] {
            assert_eq!(without_login(url).unwrap(), shown);
        }
    }
}
