//! Contents of a store, before any namespace of it is opened.

use super::StoreUrl;
use randflake_lease::unstable::{catalog, engine::Engine};
use randflake_lease::{Namespace, NamespaceList, StoreError};

/// The names of the namespaces in the store that a URL names; `None` if there is no store yet. Creates nothing: no file, no
/// tables, no namespace.
///
/// A dropped namespace is not listed, and neither is a counter that no lease was granted beside. A Redis user needs the
/// right `+scan`, and an etcd user read access to all keys that begin with `randflake/`.
///
/// # Errors
///
/// As for [`open`](super::open), of which [`StoreError::Terms`] does not occur.
pub fn namespaces(url: &str) -> Result<Option<NamespaceList>, StoreError> {
    // A name that is allowed and not used: the engine asks for one, a list is of all.
    let Some(mut engine) = open_existing(url, "-")? else {
        return Ok(None);
    };
    catalog::names(&mut *engine)
}

/// Namespaces of the store that a URL names, each with its stored terms. Leaves out those that cannot be read, and creates
/// nothing.
///
/// # Errors
///
/// As for [`namespaces`].
pub fn stored(url: &str) -> Result<Vec<Namespace>, StoreError> {
    let engine = open_existing(url, "-")?;
    let all = engine.map(|mut engine| catalog::all(&mut *engine));
    Ok(all.transpose()?.flatten().unwrap_or_default())
}

/// The namespace of a name in the store that a URL names, as it is stored: [`open`](super::open) takes it. `None` if it is
/// not there. Creates nothing.
///
/// ```
/// use randflake_std::lease::{find, namespaces};
///
/// # let folder = tempfile::tempdir()?;
/// let url = format!("sqlite:{}", folder.path().join("leases.db").display());
/// assert_eq!(find(&url, "orders")?, None);
/// assert_eq!(namespaces(&url)?, None);
/// # assert_eq!(folder.path().read_dir()?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As for [`open`](super::open), of which [`StoreError::Terms`] does not occur; [`StoreError::Invalid`] for a name that no
/// namespace may have.
pub fn find(url: &str, name: &str) -> Result<Option<Namespace>, StoreError> {
    let Some(mut engine) = open_existing(url, name)? else {
        return Ok(None);
    };
    catalog::find(&mut *engine, name)
}

/// The engine of a URL, unless it keeps its store in a file that is not there.
fn open_existing(url: &str, name: &str) -> Result<Option<Box<dyn Engine>>, StoreError> {
    let StoreUrl { location, .. } = url.parse()?;
    (location.engine().open_existing)(&location, &catalog::any(name)?)
}
