//! Places that a secret may be sent to: nobody on the network can read the connection.

use core::net::{IpAddr, SocketAddr};
use std::io;
use std::net::ToSocketAddrs as _;

use randflake_lease::unstable::url::{Address, AddressKind, Host, Location};

use super::StoreUrl;
use randflake_lease::{EngineError, StoreError};

impl StoreUrl {
    /// The same place, if nobody on the network can read what is sent there: its connection is
    /// encrypted, a Unix socket, or to a loopback address. Names that lead to loopback addresses
    /// are replaced by these, so that no later answer of a name server leads elsewhere.
    ///
    /// # Errors
    ///
    /// [`StoreError::FailedPrecondition`] where the connection would be plain and leave the
    /// machine; [`StoreError::Unavailable`] if a name has no address.
    pub fn confined(self) -> Result<Self, StoreError> {
        self.confined_by(|host| {
            // The same ones that a client would try.
            (&*host.name, host.port)
                .to_socket_addrs()
                .map(Iterator::collect)
        })
    }

    fn confined_by(
        mut self,
        resolve: impl Fn(&Host) -> io::Result<Vec<SocketAddr>>,
    ) -> Result<Self, StoreError> {
        let location = &mut self.location;
        let Address::Hosts(hosts) = &location.address else {
            return Ok(self);
        };
        if location.is_encrypted() {
            return Ok(self);
        }
        let mut confined = Vec::new();
        for host in hosts {
            // The directory of a socket.
            if host.name.starts_with('/') {
                confined.push(host.clone());
                continue;
            }
            let addresses = resolve(host).map_err(|error| {
                StoreError::Unavailable(EngineError::unavailable(error).at(&host.to_string()))
            })?;
            confined.extend(loopback(location, host, &addresses)?);
        }
        if let AddressKind::Host { .. } = location.scheme.place {
            confined.truncate(1);
        }
        location.address = Address::Hosts(confined);
        Ok(self)
    }
}

/// The addresses of a host, all of which must be this machine's own.
fn loopback(
    location: &Location,
    host: &Host,
    addresses: &[SocketAddr],
) -> Result<Vec<Host>, StoreError> {
    let mut addresses: Vec<_> = addresses.iter().map(SocketAddr::ip).collect();
    // `::ffff:127.0.0.1` is this machine as well.
    let is_remote = |address: &&IpAddr| !address.to_canonical().is_loopback();
    if let Some(remote) = addresses.iter().find(is_remote) {
        let of_name = match host.name.parse::<IpAddr>() {
            Ok(_) => String::new(),
            Err(_) => format!(" ({remote})"),
        };
        return Err(StoreError::failed_precondition(format!(
            "the connection to {}{of_name} is not encrypted, so others on the network could read what is sent: encrypt it ({})",
            host.name, location.scheme.encrypts_by
        )));
    }
    // Of one address alone this is the one that servers listen to.
    addresses.sort_unstable_by_key(IpAddr::is_ipv6);
    let hosts = addresses.into_iter().map(|address| Host {
        name: address.to_string(),
        port: host.port,
    });
    Ok(hosts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The place of a URL, of which `db` is a name with these addresses.
    fn confined(url: &str, addresses: &[&str]) -> Result<String, String> {
        let url: StoreUrl = url.parse().unwrap();
        let resolve = |host: &Host| {
            let literal = [&*host.name];
            let of_name = if host.name == "db" {
                addresses
            } else {
                &literal
            };
            let of_name = of_name.iter().map(|text| text.parse::<IpAddr>().unwrap());
            Ok(of_name.map(|address| (address, host.port).into()).collect())
        };
        url.confined_by(resolve)
            .map(|url| url.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    #[cfg(feature = "postgres")]
    fn plain_connection_stays_on_this_machine() {
        for (url, addresses, place) in [
            (
                "postgres://me@db/ids",
                &["::1", "127.0.0.1"][..],
                "postgres://127.0.0.1:5432,[::1]:5432/ids",
            ),
            (
                "postgres://db,127.0.0.2:9/ids",
                &["127.0.0.1"],
                "postgres://127.0.0.1:5432,127.0.0.2:9/ids",
            ),
            (
                "postgres://[::ffff:127.0.0.1]/ids",
                &[],
                "postgres://[::ffff:127.0.0.1]:5432/ids",
            ),
            (
                "postgres://%2Frun%2Fpostgresql/ids",
                &[],
                "postgres://%2Frun%2Fpostgresql:5432/ids",
            ),
            // Encrypted, and verified by its name.
            (
                "postgres://db/ids?sslmode=verify-full",
                &["192.0.2.1"],
                "postgres://db:5432/ids",
            ),
            (
                "postgres://db/ids?sslmode=require",
                &["192.0.2.1"],
                "postgres://db:5432/ids",
            ),
        ] {
            assert_eq!(confined(url, addresses).as_deref(), Ok(place), "{url}");
        }
        for (url, addresses, host) in [
            (
                "postgres://db/ids",
                &["127.0.0.1", "192.0.2.1"][..],
                "db (192.0.2.1)",
            ),
            (
                "postgres://db/ids?sslmode=disable",
                &["192.0.2.1"],
                "db (192.0.2.1)",
            ),
            ("postgres://127.0.0.1,192.0.2.1/ids", &[], "192.0.2.1"),
            ("postgres://0.0.0.0/ids", &[], "0.0.0.0"),
            ("postgres://[::]/ids", &[], "::"),
        ] {
            let said = format!(
                "the connection to {host} is not encrypted, so others on the network could read what is sent: encrypt it \
                 (sslmode=verify-full)"
            );
            assert_eq!(confined(url, addresses), Err(said), "{url}");
        }
    }

    #[test]
    #[cfg(feature = "mysql")]
    fn one_host_has_one_address() {
        let place = confined("mysql://db/ids", &["::1", "127.0.0.1"]);
        assert_eq!(place.as_deref(), Ok("mysql://127.0.0.1:3306/ids"));
        assert!(confined("mysql://db/ids", &["::1", "192.0.2.1"]).is_err());
    }
}
