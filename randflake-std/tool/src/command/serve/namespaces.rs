//! Which namespaces are served: the one of the usual options, or those of a file.

use std::path::{Path, PathBuf};

use randflake_common::settings::{self, KeyValues, lines};
use randflake_serve::ServedNamespace;
use randflake_std::lease::KeyCheck;

use crate::failure::Failure;
use crate::layout::LayoutChoice;
use crate::max_ttl;
use crate::secret::{self, SecretArgs};
use crate::store::{LeaseArgs, StoreArgs};

#[derive(Debug, clap::Args)]
pub(super) struct NamespaceArgs {
    /// Serve several namespaces: a file with a line for each
    ///
    /// A line has words with spaces between them: name=NAME, key-file=FILE for the namespace's own secret, and
    /// layout=LAYOUT unless that is randflake, and max-ttl=TIME if leases may be longer than 1m. A secret that another namespace has takes shared-secret=yes. FILE is looked for beside this file. Empty lines and those that begin
    /// with # are passed over.
    ///
    /// Without it, --namespace, --layout and --key-file describe the one that is served.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["namespace", "key_file", "layout"])]
    namespaces: Option<PathBuf>,
    #[command(flatten)]
    secret: SecretArgs,
    #[command(flatten)]
    store: LeaseArgs,
}

impl NamespaceArgs {
    pub(super) fn served(&self) -> Result<Vec<ServedNamespace>, Failure> {
        let Some(path) = &self.namespaces else {
            let layout = self.store.layout();
            // At the start, not at the first id: a layout past its last date never issues again.
            layout.has_time_left()?;
            // Before a secret is made: a name that is not allowed leaves nothing behind.
            let namespace = self.store.namespace()?;
            let cipher = layout.cipher_for_issuing(&self.secret, self.store.store())?;
            let open = Box::new(self.store.opener(namespace.clone())?);
            return Ok(vec![ServedNamespace::new(namespace, cipher, open)]);
        };
        let failed = |problem: String| Failure::failed(format!("{}: {problem}", path.display()));
        let is_there = path.exists();
        let (text, _) = settings::read(path, "the namespaces").map_err(|problem| {
            let advice = if is_there {
                ""
            } else {
                "; a file with a line for each, name=NAME key-file=FILE, is asked for: a single one is named by --namespace"
            };
            Failure::failed(problem + advice)
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut spaces: Vec<ServedNamespace> = Vec::new();
        for (number, line) in lines(&text) {
            let wrong = |problem: String| failed(format!("line {number}: {problem}"));
            let space = read(line, folder, self.store.store())
                .map_err(|failure| wrong(failure.to_string()))?;
            differs(&space, &spaces).map_err(wrong)?;
            spaces.push(space);
        }
        if spaces.is_empty() {
            return Err(failed(
                "it has no namespace: name=NAME key-file=FILE is a line of one".to_owned(),
            ));
        }
        Ok(spaces)
    }

    /// Whether all node ids are one, which this machine was given.
    pub(super) fn is_assigned(&self) -> Result<bool, Failure> {
        self.store.store().is_assigned()
    }

    /// Whether other machines cannot see the leases.
    pub(super) fn is_local(&self) -> Result<bool, Failure> {
        let url = self.shown_url()?;
        Ok(url.starts_with("sqlite:") || url.starts_with("static:"))
    }

    /// Where leases are kept, to show.
    pub(super) fn shown_url(&self) -> Result<String, Failure> {
        self.store.shown_url()
    }
}

fn read(line: &str, folder: &Path, store: &StoreArgs) -> Result<ServedNamespace, Failure> {
    let mut words = KeyValues::read(line).map_err(Failure::failed)?;
    let name = words.needed("name").map_err(Failure::failed)?;
    let layout = words.take("layout");
    let layout: LayoutChoice = layout
        .map_or_else(|| Ok(LayoutChoice::default()), |layout| layout.parse())
        .map_err(Failure::failed)?;
    let key = words.take("key-file");
    let longest = words.take("max-ttl");
    let longest = longest.map(|text| max_ttl::time(&text));
    let longest = longest
        .transpose()
        .map_err(|why| Failure::failed(format!("max-ttl: {why}")))?;
    let shares_secret = match words.take("shared-secret").as_deref() {
        None | Some("no") => false,
        Some("yes") => true,
        Some(other) => {
            let why = format!("shared-secret={other}: yes and no are allowed");
            return Err(Failure::failed(why));
        }
    };
    // Before the key is read: a word that is misspelt may be the one that says which.
    words.end().map_err(Failure::failed)?;
    layout.has_time_left()?;
    let cipher = match (key, layout.form().is_encrypted()) {
        (Some(file), true) => {
            let file = folder.join(file);
            let secret = secret::from_file(&file).map_err(|error| secret::unread(&file, &error))?;
            layout.form().cipher(&secret)
        }
        (None, false) => None,
        (None, true) => {
            return Err(Failure::failed(
                "key-file is missing: ids of this layout are encrypted; `randflake keygen --out FILE` makes a secret",
            ));
        }
        (Some(_), false) => {
            return Err(Failure::failed(
                "ids of this layout are plain and need no key-file; with layout=encrypted:... they are encrypted",
            ));
        }
    };
    let mut namespace = store.named(&name, layout.spec())?;
    let longest = longest.map(|time| ("max-ttl of this line", time));
    if let Some((_, longest)) = max_ttl::agreed([longest, store.max_ttl()?])? {
        namespace = namespace.with_max_ttl(longest);
    }
    if shares_secret {
        namespace = namespace.with_shared_secret();
    }
    let open = Box::new(store.opener(namespace.clone())?);
    Ok(ServedNamespace::new(namespace, cipher, open))
}

/// Two namespaces under one secret issue equal ids. The store refuses that, too, but only once both have leased.
fn differs(space: &ServedNamespace, others: &[ServedNamespace]) -> Result<(), String> {
    for other in others {
        // Whichever comes first has the secret's claim.
        let both_share = space.namespace().shares_secret() && other.namespace().shares_secret();
        if other.name() == space.name() {
            return Err(format!(
                "the namespace {:?} stands there twice",
                space.name()
            ));
        }
        if space.key_check() != KeyCheck::Plain
            && space.key_check() == other.key_check()
            && !both_share
        {
            return Err(format!(
                "the secret is that of namespace {:?}, and both would issue equal ids: make one for each with \
                 `randflake keygen --derive NAME`, or write shared-secret=yes in both lines if that is meant",
                other.name()
            ));
        }
    }
    Ok(())
}
