//! `borsh`: ids as `i64`, 8 bytes, least significant first.

extern crate alloc;

use alloc::string::ToString as _;

use borsh::io::{Error, ErrorKind, Read, Result, Write};
use borsh::{BorshDeserialize, BorshSerialize};

use super::for_ids;
use crate::{Id53, Kind};

for_ids! {
    impl[] BorshSerialize {
        fn serialize<W: Write>(&self, writer: &mut W) -> Result<()> {
            self.to_i64().serialize(writer)
        }
    }

    impl[] BorshDeserialize {
        fn deserialize_reader<R: Read>(reader: &mut R) -> Result<Self> {
            i64::deserialize_reader(reader).map(Self::from_i64)
        }
    }
}

impl<K: Kind> BorshSerialize for Id53<K> {
    fn serialize<W: Write>(&self, writer: &mut W) -> Result<()> {
        self.to_i64().serialize(writer)
    }
}

impl<K: Kind> BorshDeserialize for Id53<K> {
    fn deserialize_reader<R: Read>(reader: &mut R) -> Result<Self> {
        let number = i64::deserialize_reader(reader)?;
        Self::try_from(number)
            .map_err(|error| Error::new(ErrorKind::InvalidData, error.to_string()))
    }
}
