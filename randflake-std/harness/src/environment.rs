//! What servers are started with, and shared by.

use std::collections::BTreeSet;
use std::env;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

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

/// A port of the loopback interface that nobody listens on, and that was not given out before.
pub fn free_port() -> u16 {
    static GIVEN_OUT: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        if GIVEN_OUT.lock().unwrap().insert(port) {
            return port;
        }
    }
}
