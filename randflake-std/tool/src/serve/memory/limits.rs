//! How much memory clients may make the server hold: all of them, those of one token, and those of one address.

use core::net::IpAddr;

/// The largest command or answer needs less.
const LEAST: usize = 16 << 20;
const MOST: usize = 1 << 40;

// Limits of memory in bytes. A doc comment would be the help text of the command that takes them.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct MemoryLimits {
    /// How much memory clients may make the server hold, in bytes or as 128MiB: requests, answers, and TLS handshakes
    ///
    /// An eighth of it is for clients that have not sent a token yet: when that is full, the oldest connection of the
    /// address that has most of them is closed. The program itself needs up to 64 MiB more, and the C library keeps some
    /// of what was freed: give a container twice as much.
    #[arg(long, value_name = "SIZE", default_value = "128MiB", value_parser = size)]
    pub(super) memory: usize,
    /// How much of it the connections of one token may hold [default: a quarter]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory_per_token: Option<usize>,
    /// How much of it the connections of one client's address may hold; of IPv6 its network of 64 bits [default: a
    /// quarter, and no limit for this machine's own 127.0.0.1 and ::1]
    ///
    /// Where clients come through a proxy or a translation of addresses, all have its address: give it as much as
    /// --memory.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory_per_address: Option<usize>,
}

impl MemoryLimits {
    pub(super) fn per_token(self) -> usize {
        self.memory_per_token.unwrap_or(self.memory / 4)
    }

    /// `None`: no limit but that of all.
    pub(super) fn of_address(self, client: IpAddr) -> Option<usize> {
        match self.memory_per_address {
            Some(limit) => Some(limit),
            None if client.to_canonical().is_loopback() => None,
            None => Some(self.memory / 4),
        }
    }
}

/// Bytes: digits, and a unit of 1,024 or none.
fn size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit: usize = match &text[digits.len()..] {
        "" => 1,
        "KiB" | "Ki" => 1 << 10,
        "MiB" | "Mi" => 1 << 20,
        "GiB" | "Gi" => 1 << 30,
        _ => {
            return Err(
                "bytes are allowed, and units of 1,024: 16777216, 128MiB or 1GiB".to_owned(),
            );
        }
    };
    let bytes = digits.parse().ok();
    let bytes = bytes.and_then(|number: usize| number.checked_mul(unit));
    let bytes = bytes.filter(|bytes| (LEAST..=MOST).contains(bytes));
    bytes.ok_or_else(|| "16MiB to 1024GiB are allowed".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;

    fn default_memory() -> usize {
        let command = MemoryLimits::augment_args(Command::new("serve"));
        let matches = command.get_matches_from(["serve"]);
        MemoryLimits::from_arg_matches(&matches).unwrap().memory
    }

    #[test]
    fn sizes_are_bytes_or_have_a_unit() {
        assert_eq!(size("16777216"), Ok(16 << 20));
        assert_eq!(size("128MiB"), Ok(default_memory()));
        assert_eq!(size("1Gi"), Ok(1 << 30));
        for wrong in [
            "",
            "MiB",
            "128",
            "128MB",
            "1e9",
            "-1MiB",
            "99999999999999999999GiB",
            "ÿ",
        ] {
            size(wrong).unwrap_err();
        }
    }

    /// A container has room for the budget, and as much again for the program and what the C library keeps.
    #[test]
    fn the_manifests_have_room_for_the_budget() {
        for manifest in [
            include_str!("../../../../../docs/deploy/kubernetes/deployment.yaml"),
            include_str!("../../../../../docs/deploy/kubernetes/statefulset.yaml"),
        ] {
            let (_, rest) = manifest.split_once("limits: { memory: ").unwrap();
            let (limit, _) = rest.split_once(" }").unwrap();
            assert!(size(limit).unwrap() >= 2 * default_memory(), "{limit}");
        }
    }
}
