//! A network between the tool and a server, on which everything is read.

use core::mem;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

pub(crate) struct Wiretap {
    pub(crate) port: u16,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Wiretap {
    /// To a server on a port of this machine.
    pub(crate) fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let bytes = Arc::default();
        let shared = Arc::clone(&bytes);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (
                    client.unwrap(),
                    TcpStream::connect(("127.0.0.1", server)).unwrap(),
                );
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let bytes = Arc::clone(&shared);
                    thread::spawn(move || carry(from, to, &bytes));
                }
            }
        });
        Self { port, bytes }
    }

    /// What was sent since the last call, in both directions.
    pub(crate) fn take(&self) -> Vec<u8> {
        mem::take(&mut self.bytes.lock().unwrap())
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, bytes: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 16_384];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        // Before it is sent: a reader that has an answer finds the question here.
        bytes.lock().unwrap().extend_from_slice(&buffer[..read]);
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _gone_already = to.shutdown(Shutdown::Write);
}
