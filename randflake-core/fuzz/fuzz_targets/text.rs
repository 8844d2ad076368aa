//! Any bytes as a text: what is accepted is what is written, and the lenient decoder accepts it
//! too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use randflake_core::Id;

fuzz_target!(|text: &[u8]| {
    let strict = Id::from_text(text);
    assert_eq!(strict.ok(), plainly(text).map(Id::from_u64));
    if let Ok(id) = strict {
        assert_eq!(id.to_text().as_bytes(), text);
        assert_eq!(Id::from_text_lenient(text), Ok(id));
    }
});

fn plainly(text: &[u8]) -> Option<u64> {
    if text.is_empty() || (text[0] == b'0' && text.len() > 1) {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'v' => byte - b'a' + 10,
            _ => return None,
        };
        number.checked_mul(32)?.checked_add(digit.into())
    })
}
