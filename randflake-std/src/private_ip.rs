//! A node id from the machine's private address.

use core::net::{IpAddr, Ipv4Addr};
use std::io;

/// The low 16 bits of this machine's private IPv4 address, Sonyflake's default for its machine id:
/// 10.0.18.103 gives 18 * 256 + 103.
///
/// The address is the first, in the order in which the system lists its interfaces, of 10.0.0.0/8,
/// 172.16.0.0/12, 192.168.0.0/16 or 169.254.0.0/16. Machines of different networks may have the same
/// low bits, so lease the node id that is [chosen](crate::Builder::choose):
///
/// ```no_run
/// use randflake_std::lease::{self, Namespace};
/// use randflake_std::{Builder, Plain, Sonyflake};
///
/// let namespace = Namespace::new("orders", Sonyflake)?;
/// let node_id = randflake_std::private_ip_node_id()?;
/// let store = lease::open("redis://leases.example", &namespace)?;
/// let ids = Builder::new(Sonyflake, Plain, store).choose([node_id]).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The system's error if it does not list its addresses, and [`io::ErrorKind::NotFound`] if none of them is private.
pub fn private_ip_node_id() -> Result<u32, io::Error> {
    let interfaces = if_addrs::get_if_addrs()?;
    let addresses = interfaces.iter().map(if_addrs::Interface::ip);
    first_private(addresses).map(low_16_bits).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            "no interface has a private IPv4 address: choose a node id",
        )
    })
}

fn first_private(mut addresses: impl Iterator<Item = IpAddr>) -> Option<Ipv4Addr> {
    addresses.find_map(|address| match address {
        IpAddr::V4(address) if address.is_private() || address.is_link_local() => Some(address),
        _ => None,
    })
}

fn low_16_bits(address: Ipv4Addr) -> u32 {
    address.to_bits() & 0xFFFF
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node_id(addresses: &[&str]) -> Option<u32> {
        let addresses = addresses.iter().map(|address| address.parse().unwrap());
        first_private(addresses).map(low_16_bits)
    }

    /// The cases of `isPrivateIPv4` in Sonyflake's `v2/sonyflake.go`.
    #[test]
    fn the_first_private_address_counts() {
        for (address, expected) in [
            ("10.0.18.103", Some(18 * 256 + 103)),
            ("172.15.255.255", None),
            ("172.16.0.1", Some(1)),
            ("172.31.255.255", Some(65_535)),
            ("172.32.0.0", None),
            ("192.167.1.1", None),
            ("192.168.1.2", Some(258)),
            ("169.254.3.4", Some(772)),
            ("8.8.8.8", None),
            ("fe80::1", None),
        ] {
            assert_eq!(node_id(&[address]), expected, "{address}");
            let among = ["127.0.0.1", "::1", "203.0.113.1", address, "10.9.9.9"];
            assert_eq!(node_id(&among), expected.or(Some(9 * 256 + 9)), "{address}");
        }
        assert_eq!(node_id(&[]), None);
    }

    #[test]
    fn this_machine_has_one_or_is_said_to_have_none() {
        match private_ip_node_id() {
            Ok(node_id) => assert!(node_id < 65_536),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::NotFound),
        }
    }
}
