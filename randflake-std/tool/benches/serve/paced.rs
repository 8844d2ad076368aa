//! One id at a time at a fixed rate, which slow answers do not slow down: an open loop.

use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;
use std::{fs, thread};

const CONNECTIONS: u32 = 50;
/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(5);
const REQUEST: &[u8] = b"*2\r\n$4\r\nINCR\r\n$7\r\ndefault\r\n";

/// What is reported of the times, each in thousandths of the requests.
pub(crate) const SHARES: [(&str, usize); 3] = [("p50", 500), ("p99", 990), ("p99.9", 999)];

/// Sends `INCR` at a rate to the server at a port, for some time. How many milliseconds these
/// shares of the answers took at most, each from when its request was due: a request that waited
/// for the answer before it has waited too.
pub(crate) fn incr(port: u16, rate: f64, time: Duration) -> [f64; SHARES.len()] {
    let between = Duration::from_secs_f64(f64::from(CONNECTIONS) / rate);
    let begin = Instant::now() + Duration::from_millis(100);
    let mut times = thread::scope(|scope| {
        let client = |number| {
            let first = begin + between * number / CONNECTIONS;
            scope.spawn(move || one(port, first, between, time).unwrap())
        };
        let clients: Vec<_> = (0..CONNECTIONS).map(client).collect();
        let ended = clients.into_iter().map(|client| client.join().unwrap());
        ended.collect::<Vec<_>>().concat()
    });
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 1_000).copied();
    SHARES.map(|(_, share)| at(share).unwrap_or_default().as_secs_f64() * 1e3)
}

/// The times of one connection.
fn one(
    port: u16,
    first: Instant,
    between: Duration,
    time: Duration,
) -> std::io::Result<Vec<Duration>> {
    precise();
    let mut server = TcpStream::connect(("127.0.0.1", port))?;
    server.set_nodelay(true)?;
    server.set_read_timeout(Some(PATIENCE))?;
    let mut times = Vec::new();
    let mut answer = [0; 64];
    let mut due = first;
    while due < first + time {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        server.write_all(REQUEST)?;
        // It is so short that it comes in one piece.
        let length = server.read(&mut answer)?;
        let answer = &answer[..length];
        if !(answer.starts_with(b":") && answer.ends_with(b"\r\n")) {
            let answer = String::from_utf8_lossy(answer);
            return Err(std::io::Error::other(format!("INCR got {answer:?}")));
        }
        times.push(due.elapsed());
        due += between;
    }
    Ok(times)
}

/// Asks the system to wake this thread when it asked for it, and not up to 50 µs later.
fn precise() {
    let thread = fs::read_link("/proc/thread-self").unwrap_or_default();
    let number = thread.file_name().unwrap_or_default();
    // Otherwise times are longer, those of both servers alike.
    _ = fs::write(
        std::path::Path::new("/proc")
            .join(number)
            .join("timerslack_ns"),
        "1",
    );
}
