//! Ids as bytes: of formats, of memory and of UUIDs.

#[cfg(feature = "borsh")]
mod borsh {
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
}

#[cfg(feature = "bytemuck")]
mod bytemuck {
    //! Slices of ids as slices of `i64` or of bytes, without a copy: in the machine's byte order.

    #![expect(
        unsafe_code,
        reason = "the traits promise that each pattern of bits is a value"
    )]

    use bytemuck::{Pod, Zeroable};

    use crate::{Bits64, Id, Kind};

    // SAFETY: a transparent `i64`, for which zero is a value.
    unsafe impl<K> Zeroable for Id<K> {}

    // SAFETY: a transparent `i64`: without padding, without a pointer, and of this width each
    // pattern of bits is a value.
    unsafe impl<K: Kind<Width = Bits64>> Pod for Id<K> {}
}

#[cfg(feature = "uuid")]
mod uuid {
    //! Ids and tagged UUIDs from and to `Uuid`: as [`Id::to_uuid_bytes`] and
    //! [`Id::from_uuid_bytes`], or by their bytes.

    use uuid::Uuid;

    use crate::{Bits64, Id, Kind, TaggedUuid, TaggedUuidError, UuidError};

    /// Makes a UUID of version 8, by [`Id::to_uuid_bytes`].
    impl<K> From<Id<K>> for Uuid {
        fn from(id: Id<K>) -> Self {
            Self::from_bytes(id.untyped().to_uuid_bytes())
        }
    }

    /// [`Id::from_uuid_bytes`].
    ///
    /// ```
    /// use randflake_core::{Id, UuidError};
    /// use uuid::{Uuid, Variant};
    ///
    /// let id = Id::from_u64(0x0123_4567_89AB_CDEF);
    /// let uuid = Uuid::from(id);
    /// assert_eq!(uuid.to_string(), "01234567-89ab-8cde-bc00-000000000000");
    /// assert_eq!((uuid.get_version_num(), uuid.get_variant()), (8, Variant::RFC4122));
    /// assert_eq!(Id::try_from(uuid), Ok(id));
    /// assert_eq!(Id::try_from(Uuid::nil()), Err::<Id, _>(UuidError::NotVersion8));
    /// ```
    impl<K: Kind<Width = Bits64>> TryFrom<Uuid> for Id<K> {
        type Error = UuidError;

        fn try_from(uuid: Uuid) -> Result<Self, UuidError> {
            Id::from_uuid_bytes(uuid.into_bytes()).map(Id::typed)
        }
    }

    /// The same 16 bytes. Each database client takes a `Uuid` in columns of type `uuid`.
    impl From<TaggedUuid> for Uuid {
        fn from(uuid: TaggedUuid) -> Self {
            Self::from_bytes(uuid.to_bytes())
        }
    }

    /// [`TaggedUuid::from_bytes`]: the tag is not checked.
    ///
    /// ```
    /// use randflake_core::{Id, KeyNumber, Sparx64, TagKey, TaggedUuid, TaggedUuidError};
    /// use uuid::{Uuid, Variant};
    ///
    /// let key = TagKey::new(KeyNumber::MIN, Sparx64::new(&[7; 16]));
    /// let tagged = key.tag(Id::from_u64(42));
    /// let uuid = Uuid::from(tagged);
    /// assert_eq!(uuid.to_string(), tagged.to_string());
    /// assert_eq!((uuid.get_version_num(), uuid.get_variant()), (8, Variant::RFC4122));
    /// assert_eq!(TaggedUuid::try_from(uuid), Ok(tagged));
    /// assert_eq!(TaggedUuid::try_from(Uuid::nil()), Err(TaggedUuidError::NotVersion8));
    /// ```
    impl TryFrom<Uuid> for TaggedUuid {
        type Error = TaggedUuidError;

        fn try_from(uuid: Uuid) -> Result<Self, TaggedUuidError> {
            Self::from_bytes(uuid.into_bytes())
        }
    }
}
