//! IPv6 addresses that are written so that their last group looks like a port.

use core::net::Ipv6Addr;

/// What is wrong with a `HOST` or `HOST:PORT` whose host is an IPv6 address: no brackets, or a zone id. `None` if nothing is.
///
/// Nothing of a text that is no such address is shown: it may be a password in the wrong place.
#[must_use]
pub fn mistake_in_ipv6(text: &str) -> Option<String> {
    let is_bracketed = text.starts_with('[');
    let inner = text.strip_prefix('[').unwrap_or(text);
    // The zone stands behind the address: `fe80::1%eth0`, in a URL `fe80::1%25eth0`.
    if let Some((address, _)) = inner.split_once('%')
        && address.parse::<Ipv6Addr>().is_ok()
    {
        return Some(format!(
            "has a zone id behind the IPv6 address {address}: zone ids are not allowed, since each machine has its \
             own; take another address, or a name"
        ));
    }
    if is_bracketed {
        return None;
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Some(format!(
            "has an IPv6 address without brackets: write [{address}]{}",
            as_port(text)
        ));
    }
    // An address of all eight groups, and a port behind it.
    let (address, port) = text.rsplit_once(':')?;
    let address: Ipv6Addr = address.parse().ok()?;
    let port: u16 = port.parse().ok()?;
    Some(format!(
        "has an IPv6 address without brackets: write [{address}]:{port}"
    ))
}

/// The other meaning of an address whose last group may be a port.
fn as_port(text: &str) -> String {
    let other = text.rsplit_once(':').and_then(|(address, port)| {
        let address: Ipv6Addr = address.parse().ok()?;
        Some((address, port.parse::<u16>().ok()?))
    });
    other.map_or_else(String::new, |(address, port)| {
        format!(", or [{address}]:{port} if {port} is the port")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_brackets_is_named_with_each_meaning_that_it_may_have() {
        for (text, form) in [
            (
                "2001:db8::10:20",
                "write [2001:db8::10:20], or [2001:db8::10]:20 if 20 is the port",
            ),
            ("::1", "write [::1]"),
            (
                "::1:6380",
                "write [::1:6380], or [::1]:6380 if 6380 is the port",
            ),
            ("2001:db8::beef", "write [2001:db8::beef]"),
            ("1:2:3:4:5:6:7:8:6379", "write [1:2:3:4:5:6:7:8]:6379"),
            ("::ffff:10.0.0.1", "write [::ffff:10.0.0.1]"),
            ("::ffff:10.0.0.1:6379", "write [::ffff:10.0.0.1]:6379"),
        ] {
            let mistake = mistake_in_ipv6(text).unwrap_or_default();
            assert!(mistake.ends_with(form), "{text}: {mistake}");
        }
    }

    #[test]
    fn a_zone_id_is_named() {
        for text in [
            "fe80::1%eth0",
            "fe80::1%25eth0:6379",
            "[fe80::1%eth0]:6379",
            "[fe80::1%25eth0]",
            "[fe80::1%1",
        ] {
            let mistake = mistake_in_ipv6(text).unwrap_or_default();
            assert!(
                mistake.contains("zone id") && mistake.contains("fe80::1:"),
                "{text}: {mistake}"
            );
        }
    }

    #[test]
    fn names_and_right_addresses_are_left_alone() {
        for text in [
            "",
            ":",
            "host",
            "host:1",
            "10.0.0.1:5",
            "[::1]",
            "[::1]:6379",
            "ids:hunter2",
            "a:b:c",
            "::hunter2",
            "%2Frun%2Fpg:5432",
        ] {
            assert_eq!(mistake_in_ipv6(text), None, "{text}");
        }
    }
}
