//! `borsh`: ids as `i64`, 8 bytes, least significant first.

extern crate alloc;

use alloc::string::ToString as _;

use borsh::io::{Error, ErrorKind, Read, Result, Write};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::{Id, Kind};

impl<K> BorshSerialize for Id<K> {
    fn serialize<W: Write>(&self, writer: &mut W) -> Result<()> {
        self.to_i64().serialize(writer)
    }
}

impl<K: Kind> BorshDeserialize for Id<K> {
    fn deserialize_reader<R: Read>(reader: &mut R) -> Result<Self> {
        Id::from_i64(i64::deserialize_reader(reader)?)
            .try_typed()
            .map_err(|error| Error::new(ErrorKind::InvalidData, error.to_string()))
    }
}
