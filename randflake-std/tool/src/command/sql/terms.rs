//! The namespace whose ids a database is to read: its name, its layout, and whether its ids are encrypted.

use randflake_std::lease::{KeyCheck, Namespace};
use randflake_std::randflake_core::LayoutSpec;

use crate::failure::Failure;
use crate::layout::LayoutChoice;
use crate::store::StoreArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct TermsArgs {
    /// Which bits mean what, as in `randflake inspect` [default: the layout that the store has for the namespace]
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<LayoutChoice>,
    #[command(flatten)]
    store: StoreArgs,
}

/// What the SQL of a namespace depends on.
#[derive(Debug)]
pub(crate) struct Terms {
    /// Letters, digits, `-` and `_`.
    pub(crate) namespace: String,
    pub(crate) spec: LayoutSpec,
    pub(crate) is_encrypted: bool,
}

impl TermsArgs {
    pub(crate) fn read(&self) -> Result<Terms, Failure> {
        let name = self.store.namespace_name();
        if let Some(layout) = &self.layout {
            // Checks the name.
            Namespace::new(name, layout.spec()).map_err(Failure::usage)?;
            return Ok(Terms {
                namespace: name.to_owned(),
                spec: layout.spec(),
                is_encrypted: layout.is_encrypted(),
            });
        }
        // Not the layout of most namespaces: SQL for another one would read times that never were.
        let found = self.store.find(name)?.ok_or_else(|| {
            Failure::failed(format!(
                "the store has no namespace {name:?}: name the store that has it with --store, or give its layout, \
                 such as --layout randflake"
            ))
        })?;
        Ok(Terms {
            namespace: name.to_owned(),
            spec: found.spec(),
            is_encrypted: found.key_check() != Some(KeyCheck::Plain),
        })
    }
}
