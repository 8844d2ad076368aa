//! The document of leases on the command line: read from a file, and printed.

use std::fs::File;
use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::unix::process::parent_id as caller_id;
use std::path::{Path, PathBuf};
#[cfg(not(unix))]
use std::process::id as caller_id;

use randflake_common::leases::LeaseDocument;
use randflake_std::lease::{LeaseStore, RequestId, holder_of_process};

use crate::failure::Failure;
use crate::output::stdout;
use crate::store::StoreArgs;

/// Parses the name of a renewal or release.
pub(super) fn request_id(text: &str) -> Result<RequestId, String> {
    text.parse()
        .map_err(|_| format!("{} are allowed, such as from uuidgen", RequestId::ALLOWED))
}

/// The option that names a document.
#[derive(Debug, clap::Args)]
pub(super) struct GrantArgs {
    /// What `lease acquire --json` or `lease renew --json` has printed; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(super) grant: Option<PathBuf>,
}

impl GrantArgs {
    /// Reads the document from the file, or from standard input without one.
    pub(super) fn read(&self) -> Result<LeaseDocument, Failure> {
        /// Longest document in bytes: all 131,072 leases of a namespace take 26 MB.
        const MOST: u64 = 64 << 20;
        let stdin = Path::new("-");
        let path = self.grant.as_deref().unwrap_or(stdin);
        let mut text = String::new();
        let (shown, read) = if path == stdin {
            let read = io::stdin().lock().take(MOST).read_to_string(&mut text);
            ("standard input".to_owned(), read)
        } else {
            let read = File::open(path).and_then(|file| file.take(MOST).read_to_string(&mut text));
            (path.display().to_string(), read)
        };
        read.map_err(|error| Failure::failed(format!("{shown}: {error}")))?;
        // Unknown fields are ignored: a newer program may add some that an older one can do without. What it cannot do without
        // raises the version.
        let document: LeaseDocument = serde_json::from_str(&text).map_err(|error| {
            Failure::usage(format!(
                "{shown}: this is not what `randflake lease acquire --json` prints: {error}"
            ))
        })?;
        // Damaged leases are refused before anything is asked of a store.
        document.grants()?;
        Ok(document)
    }
}

/// Opens the store of the document's namespace, which must be there and have the same layout.
pub(super) fn open(document: &LeaseDocument, store: &StoreArgs) -> Result<LeaseStore, Failure> {
    // The document's namespace counts, whatever the options say: in another one its node ids
    // are somebody else's.
    let opened = store.open_named(&document.namespace)?;
    document.check_layout(opened.namespace())?;
    Ok(opened)
}

/// Prints the leases for programs or people.
pub(super) fn print(document: &LeaseDocument, json: bool) -> Result<(), Failure> {
    let mut out = stdout();
    if json {
        out.object(document)?;
    } else {
        write!(out, "{document}")?;
    }
    Ok(out.flush()?)
}

/// Names the program that runs this command as the holder: the command itself ends before the lease does.
pub(super) fn caller() -> Result<String, Failure> {
    // The parent is that program. Where the system cannot tell, the command's own number has to do.
    holder_of_process(caller_id()).map_err(Failure::failed)
}
