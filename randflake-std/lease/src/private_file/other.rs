//! Other systems: files without owner and mode in the sense of Unix.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use super::refusal::RefusalReason;
use super::{FileIdentity, Found, Readers};

pub(super) type Mount = ();

pub(super) fn private_file(_: &mut OpenOptions) {}

pub(super) fn without_wait(_: &mut OpenOptions) {}

pub(super) fn private_directory(_: &mut DirBuilder) {}

pub(super) fn found(file: &File) -> io::Result<(Found, Mount)> {
    // The path is looked at on Unix alone.
    Ok(found_at(file.metadata()?, Path::new("")))
}

pub(super) fn found_at(metadata: Metadata, _: &Path) -> (Found, Mount) {
    let identity = FileIdentity::default();
    (Found { metadata, identity }, ())
}

pub(super) fn is_mounted_alone((): Mount, _: &Path) -> bool {
    false
}

/// A file that is open cannot be deleted here.
pub(super) fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

pub(super) fn links(_: &Metadata) -> u64 {
    1
}

macro_rules! unchecked {
    ($($name:ident)*) => {
        $(
            #[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
            pub(super) fn $name(_: &Metadata) -> Result<(), RefusalReason> {
                Ok(())
            }
        )*
    };
}

unchecked! { check_owner check_directory_writers }

#[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
pub(super) fn check_writers(_: &Metadata, _: &Path) -> Result<(), RefusalReason> {
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
pub(super) fn check_readers(_: &File, _: &Metadata) -> Result<Readers, RefusalReason> {
    Ok(Readers::Few)
}

#[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
pub(super) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
