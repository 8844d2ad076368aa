//! The namespace whose ids a database is to read: its name and layout, and whether its ids are encrypted.

use randflake_std::lease::Namespace;
use randflake_std::randflake_core::LayoutSpec;

use crate::failure::Failure;
use crate::layout::LayoutChoice;
use crate::store::StoreArgs;
use randflake_common::layout::IdForm;

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
    pub(crate) contents: Contents,
}

#[derive(Debug)]
pub(crate) enum Contents {
    /// Ids of a layout, encrypted to 64 bits.
    Encrypted(LayoutSpec),
    /// Ids of a layout, encrypted to 53 bits.
    Encrypted53(LayoutSpec),
    /// Ids of a layout, in plain.
    Plain(LayoutSpec),
    /// An encrypted counter.
    Counter,
    /// Tagged UUIDs, whose ids are read elsewhere.
    Tagged,
}

impl Contents {
    const fn of(spec: LayoutSpec, form: IdForm) -> Self {
        match form {
            IdForm::Plain => Self::Plain(spec),
            IdForm::Bits64 => Self::Encrypted(spec),
            IdForm::Bits53 => Self::Encrypted53(spec),
        }
    }

    /// The layout, if there is one.
    pub(crate) fn spec(&self) -> Option<LayoutSpec> {
        match self {
            Self::Encrypted(spec) | Self::Encrypted53(spec) | Self::Plain(spec) => Some(*spec),
            Self::Counter | Self::Tagged => None,
        }
    }
}

impl TermsArgs {
    /// The namespace of a layout.
    pub(crate) fn read(&self) -> Result<Terms, Failure> {
        let name = self.store.namespace_name();
        if let Some(layout) = &self.layout {
            // Checks the name.
            Namespace::new(name, layout.spec()).map_err(Failure::usage)?;
            return Ok(Terms {
                namespace: name.to_owned(),
                contents: Contents::of(layout.spec(), layout.form()),
            });
        }
        // No default: SQL for another layout would read times that never were.
        let found = self.store.find(name)?.ok_or_else(|| {
            Failure::failed(format!(
                "the store has no namespace {name:?}: name the store that has it with --store, or give its layout, \
                 such as --layout randflake"
            ))
        })?;
        let form = IdForm::of(&found);
        Ok(Terms {
            namespace: name.to_owned(),
            contents: Contents::of(found.spec(), form),
        })
    }

    /// The namespace of what needs no layout.
    pub(crate) fn without_layout(&self, contents: Contents) -> Result<Terms, Failure> {
        // Checks the name.
        let namespace = self.store.counter_namespace()?;
        Ok(Terms {
            namespace: namespace.name().to_owned(),
            contents,
        })
    }
}
