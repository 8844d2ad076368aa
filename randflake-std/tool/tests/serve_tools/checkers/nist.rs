//! NIST SP 800-22 on sequences of 10^6 bits, which are taken at even distances from a stream of
//! ids.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::Stream;
use super::number;
use crate::server::Server;
use crate::told;

/// Of 10^6 bits.
const IDS_OF_A_SEQUENCE: u64 = 15_625;

#[test]
fn ids_pass_all_tests() {
    let server = Server::start();
    let mut stream = Stream::of(&server);
    let (ids, sequences) = (
        number("RANDFLAKE_CHECKED_IDS"),
        number("RANDFLAKE_CHECKED_SEQUENCES"),
    );
    let distance = (ids / sequences).max(IDS_OF_A_SEQUENCE);
    let mut checker = Command::new(told("RANDFLAKE_NIST"))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = checker.stdin.take().unwrap();
    for sequence in 0..sequences {
        let begin = sequence * distance;
        while stream.taken < begin {
            stream.take(begin - stream.taken);
        }
        while stream.taken < begin + IDS_OF_A_SEQUENCE {
            let left = begin + IDS_OF_A_SEQUENCE - stream.taken;
            input.write_all(stream.take(left)).unwrap();
        }
    }
    drop(input);
    let status = checker.wait().unwrap();
    println!("checked: {sequences} sequences out of {} ids", stream.taken);
    assert!(status.success(), "see its table above");
}
