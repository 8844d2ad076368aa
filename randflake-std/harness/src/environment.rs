//! Environment variables that start and share servers.

use core::net::Ipv4Addr;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use std::{env, process};

/// One server for the tests of a program that run at a time.
pub struct Shared<S>(Mutex<Weak<S>>);

impl<S> Shared<S> {
    pub const fn new() -> Self {
        Self(Mutex::new(Weak::new()))
    }

    pub fn get(&self, start: impl FnOnce() -> S) -> Arc<S> {
        let mut shared = self.0.lock().unwrap();
        shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(start());
            *shared = Arc::downgrade(&server);
            server
        })
    }
}

/// The program, or folder of programs, that an environment variable names.
pub fn program(variable: &str) -> PathBuf {
    let path = env::var_os(variable).map(PathBuf::from);
    let path = path.unwrap_or_else(|| panic!("{variable} is not set: `cargo xtask` sets it"));
    assert!(path.exists(), "{variable}: there is no {}", path.display());
    path
}

/// Below what Linux gives to outgoing connections: one of these would take the port of a server
/// that is down for a moment.
const PORTS: Range<u16> = 10_240..32_768;

/// A port of the loopback interface that nobody listens on, and that this process was not given
/// before.
pub fn free_port() -> u16 {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    loop {
        // Processes that run at once have near numbers, and begin far from each other.
        let begin = process::id().wrapping_mul(40_503);
        let offset = begin.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed))
            % u32::from(PORTS.end - PORTS.start);
        let port = PORTS.start + u16::try_from(offset).unwrap();
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}
