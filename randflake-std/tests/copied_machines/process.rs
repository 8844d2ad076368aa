//! The only process of an emulated machine: it issues ids, and writes them to a serial port.

use core::time::Duration;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{self, Command};
use std::{env, thread};

use randflake_std::lease::open;
use randflake_std::{Handle, Secret};

use crate::image::SERIAL_PORT;
use crate::namespace;
use crate::system::{self, HOST};

/// Where a process of this machine writes, which stands for the emulated one in the short form of the test.
const JOURNAL: &str = "COPIES_JOURNAL";

/// Words of the kernel's command line, which it hands on in the environment.
const STORE: &str = "STORE";
const TTL_SECONDS: &str = "TTL_SECONDS";
const CLOCK: &str = "CLOCK";

/// What tells it from where it has its leases, and whether somebody sets its wall clock.
pub(crate) fn parameters(port: u16, ttl: Duration, clock: Clock) -> String {
    let seconds = ttl.as_secs();
    format!(
        "hostname=machine {STORE}=redis://{HOST}:{port} {TTL_SECONDS}={seconds} {CLOCK}={clock:?}"
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// By the machine's clock, as a guest agent or NTP does.
    IsSet,
    /// Then it is late when the machine is resumed.
    IsLeft,
}

/// The same program as a process of this machine.
pub(crate) fn command(url: &str, ttl: Duration, journal: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .env(JOURNAL, journal)
        .env(STORE, url)
        .env(TTL_SECONDS, ttl.as_secs().to_string())
        .env(CLOCK, format!("{:?}", Clock::IsLeft));
    command
}

/// Whether this is the emulated machine's only process, or stands for it.
pub(crate) fn is_this() -> bool {
    process::id() == 1 || env::var_os(JOURNAL).is_some()
}

pub(crate) fn run() -> ! {
    let journal = env::var(JOURNAL);
    let path = journal.as_deref().unwrap_or(SERIAL_PORT);
    let mut port = File::options()
        .create(journal.is_ok())
        .append(journal.is_ok())
        .write(true)
        .open(path)
        .unwrap();
    if journal.is_err() {
        system::start();
    }
    let ttl = env::var(TTL_SECONDS).unwrap().parse().unwrap();
    let ttl = Duration::from_secs(ttl);
    let store = open(&env::var(STORE).unwrap(), &namespace(ttl)).unwrap();
    let secret = Secret::from_bytes([7; 16]);
    let ids = Handle::builder(&secret, store).ttl(ttl).build().unwrap();
    let is_set = env::var(CLOCK).unwrap() == format!("{:?}", Clock::IsSet);
    let (mut told, mut contested, mut is_over, mut trouble) = (None, 0, false, None);
    loop {
        if is_set {
            system::set_clock();
        }
        let status = ids.lease();
        if status.losses.contested != contested {
            contested = status.losses.contested;
            writeln!(port, "contested").unwrap();
        }
        if told != Some(status.leases[0]) {
            let lease = told.insert(status.leases[0]);
            let (node_id, start, end) = (lease.node_id(), lease.start(), lease.end());
            writeln!(port, "lease {node_id} {start} {end}").unwrap();
            if journal.is_err() {
                system::reseed();
            }
        }
        if status.remaining.is_zero() && !is_over {
            writeln!(port, "over").unwrap();
        }
        is_over = status.remaining.is_zero();
        let error = status.last_error.map(|error| error.to_string());
        if error != trouble {
            trouble = error;
            writeln!(port, "trouble {trouble:?}").unwrap();
        }
        if let Ok(id) = ids.generate() {
            let node_id = ids.inspect(id).node_id;
            writeln!(port, "id {node_id} {}", id.to_u64()).unwrap();
        }
        thread::sleep(Duration::from_millis(5));
    }
}
