//! Any request of any client: what the HTTP server answers to it, in process. The target is a
//! module of the server, which sees what it issues: `src/http/fuzz`.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|input: &[u8]| -> Corpus {
    match randflake_serve::fuzz_http(input) {
        true => Corpus::Keep,
        false => Corpus::Reject,
    }
});
