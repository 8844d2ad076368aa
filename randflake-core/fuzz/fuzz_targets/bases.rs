//! Any text and any number, in every base: what is read is written the same, and any number comes
//! back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use randflake_core::{Base, Id};

const ALL: [Base; 7] = [
    Base::Base2,
    Base::Base10,
    Base::Base32,
    Base::Base36,
    Base::Base58,
    Base::Base62,
    Base::Base64,
];

fuzz_target!(|input: (u64, &[u8])| {
    let (number, text) = input;
    let id = Id::from_u64(number);
    for base in ALL {
        assert_eq!(Id::from_base(base, id.to_base(base).as_bytes()), Ok(id));
        match Id::from_base(base, text) {
            Ok(read) => assert_eq!(read.to_base(base).as_bytes(), text),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert_eq!(Id::from_uuid_bytes(id.to_uuid_bytes()), Ok(id));
    if let Ok(uuid) = <[u8; 16]>::try_from(text)
        && let Ok(read) = Id::from_uuid_bytes(uuid)
    {
        assert_eq!(read.to_uuid_bytes(), uuid);
    }
});
