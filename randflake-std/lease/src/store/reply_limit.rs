//! How long a server's reply may be: clients keep it in memory until it is whole, and a server that is not what it seems
//! could send one without end.

/// The longest reply of a server that is read, in bytes: a list of 4,096 leases takes some 2 MB.
pub(super) const LARGEST_REPLY: usize = 64 << 20;

/// The error of a reply that is longer.
#[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
pub(super) fn too_long() -> std::io::Error {
    let most = LARGEST_REPLY >> 20;
    std::io::Error::other(format!(
        "its reply is longer than {most} MiB: is it the server that the URL means?"
    ))
}
