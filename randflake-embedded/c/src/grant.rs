//! `rf_read_grant`: decodes the grant that the factory wrote.

use core::mem::MaybeUninit;

use randflake_core::Lease;

use crate::config::Grant;
use crate::form::Ids;
use crate::status::{self, Status};

const GRANT_SIZE: usize = 16;

#[unsafe(no_mangle)]
extern "C" fn rf_read_grant(
    bytes: Option<&[u8; GRANT_SIZE]>,
    grant: Option<&mut MaybeUninit<Grant>>,
) -> Status {
    let (Some(bytes), Some(grant)) = (bytes, grant) else {
        return status::NULL;
    };
    let (words, _) = bytes.as_chunks();
    let &[node_id, start, end, version] = words else {
        return status::NOT_PROVISIONED;
    };
    let words = [node_id, start, end, version].map(u32::from_le_bytes);
    match Lease::from_words(Ids, words) {
        Ok(lease) => {
            grant.write(Grant::of(&lease));
            status::OK
        }
        Err(error) => error.into(),
    }
}
