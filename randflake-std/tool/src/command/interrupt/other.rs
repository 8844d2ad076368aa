//! Where there are no signals: leases end by themselves.

use std::io;

pub(super) fn watch(_: impl Fn(u8) + Send + 'static) -> io::Result<()> {
    Ok(())
}
