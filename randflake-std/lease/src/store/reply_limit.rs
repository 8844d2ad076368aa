//! How long a server's reply may be: clients keep it in memory until it is whole, and a server that is not what it seems
//! could send one without end.

/// The longest reply of a server that is read, in bytes: a list of 4,096 leases takes some 2 MB.
pub const LARGEST_REPLY: usize = 64 << 20;

/// The error of a reply that is longer.
#[must_use]
pub fn too_long() -> std::io::Error {
    let most = LARGEST_REPLY >> 20;
    std::io::Error::other(format!(
        "its reply is longer than {most} MiB: is it the server that the URL means?"
    ))
}

/// Bytes as text. Those that are none are shown by a sign of their own, so that whoever reads them finds them damaged.
#[must_use]
pub fn shown(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
