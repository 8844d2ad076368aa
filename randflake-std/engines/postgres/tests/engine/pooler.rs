//! A connection pooler in transaction mode: each transaction may have another session.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use harness::postgres::PostgresServer;
use randflake_lease::StoreError;
use randflake_postgres::PostgresStore;

use crate::namespace;

/// A message without its kind: its length and the rest.
fn body(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut message = vec![0; 4];
    from.read_exact(&mut message).ok()?;
    let len = u32::from_be_bytes(message[..].try_into().unwrap());
    message.resize(len as usize, 0);
    from.read_exact(&mut message[4..]).ok()?;
    Some(message)
}

fn message(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut kind = [0];
    from.read_exact(&mut kind).ok()?;
    Some([&kind[..], &body(from)?].concat())
}

/// What a server answers until it is ready for more.
fn answer(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let message = message(from)?;
        all.extend_from_slice(&message);
        if message[0] == b'Z' {
            return Some(all);
        }
    }
}

/// Gives the transactions of one client to two sessions in turn. One that tracks statements
/// prepares each in both, as newer poolers do.
fn pool(mut client: TcpStream, server: u16, tracks_statements: bool) -> Option<()> {
    let connect = || TcpStream::connect(("127.0.0.1", server)).ok();
    let mut sessions = [connect()?, connect()?];
    let startup = body(&mut client)?;
    let mut greeting = Vec::new();
    for session in &mut sessions {
        session.write_all(&startup).ok()?;
        greeting = answer(session)?;
    }
    client.write_all(&greeting).ok()?;
    loop {
        let mut batch = message(&mut client)?;
        let is_prepare = batch[0] == b'P' && batch[5] != 0;
        while !matches!(batch.last_chunk(), Some(b"S\0\0\0\x04")) && batch[0] != b'Q' {
            batch.extend(message(&mut client)?);
        }
        sessions.swap(0, 1);
        for session in &mut sessions[usize::from(!(is_prepare && tracks_statements))..] {
            session.write_all(&batch).ok()?;
        }
        let ours = answer(&mut sessions[1])?;
        if is_prepare && tracks_statements {
            answer(&mut sessions[0])?;
        }
        client.write_all(&ours).ok()?;
    }
}

fn is_refused_by_name(tracks_statements: bool) {
    let server = PostgresServer::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let pooled = server.url("postgres").replace(
        &server.port.to_string(),
        &listener.local_addr().unwrap().port().to_string(),
    );
    let port = server.port;
    thread::spawn(move || {
        for client in listener.incoming() {
            thread::spawn(move || pool(client.unwrap(), port, tracks_statements));
        }
    });
    // The first statements may meet the session that they need.
    let error = match PostgresStore::open(&pooled, &namespace()) {
        Err(error) => error,
        Ok(mut store) => (0..3).find_map(|_| store.now().err()).unwrap(),
    };
    assert!(
        matches!(error, StoreError::FailedPrecondition(_)),
        "{error:?}"
    );
    let told = error.to_string();
    assert!(told.contains("pooler in transaction mode"), "{told}");
    assert!(told.contains("pool_mode=session"), "{told}");
}

#[test]
fn pooler_in_transaction_mode_is_refused() {
    is_refused_by_name(false);
}

#[test]
fn pooler_that_tracks_statements_is_refused() {
    is_refused_by_name(true);
}
