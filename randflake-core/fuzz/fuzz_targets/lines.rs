//! Any ids to text at once, into a buffer of any length: as one by one, or an error and nothing written.
#![no_main]

use core::fmt::Write;

use libfuzzer_sys::fuzz_target;
use randflake_core::{Id, Notation};

fuzz_target!(|input: (Vec<u64>, u8, u16)| {
    let (numbers, separator, len) = input;
    let ids: Vec<_> = numbers.into_iter().map(Id::from_u64).collect();
    for notation in [Notation::Text, Notation::Signed, Notation::Unsigned] {
        let mut expected = Vec::new();
        for id in &ids {
            let mut text = String::new();
            _ = match notation {
                Notation::Signed => write!(text, "{}", id.to_i64()),
                Notation::Unsigned => write!(text, "{}", id.to_u64()),
                _ => write!(text, "{id}"),
            };
            expected.extend_from_slice(text.as_bytes());
            expected.push(separator);
        }
        let mut buffer = vec![b'#'; len.into()];
        match notation.write(&ids, separator, &mut buffer) {
            Ok(written) => assert_eq!(buffer[..written], expected),
            Err(error) => {
                assert!(error.needed == expected.len() && error.needed > buffer.len());
                assert!(buffer.iter().all(|&byte| byte == b'#'));
            }
        }
    }
});
