//! `borsh`: ids as `i64`, 8 bytes, least significant first.

use borsh::io::{Read, Result, Write};
use borsh::{BorshDeserialize, BorshSerialize};

use super::for_ids;

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
