//! An id of 53 bits as a number, in each format.

use core::fmt::{self, Formatter};
use core::marker::PhantomData;

use serde_core::de::{Deserialize, Deserializer, Error, Visitor};
use serde_core::ser::{Serialize, Serializer};

use crate::Id53;

/// Writes the number.
impl<K> Serialize for Id53<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_u64(self.to_u64())
        } else {
            // As other ids in such formats: another type than theirs would be another size in some.
            serializer.serialize_i64(self.to_i64())
        }
    }
}

/// Reads the number, and refuses one that is negative or over 2^53 - 1.
impl<'de, K> Deserialize<'de> for Id53<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = NumberVisitor(PhantomData);
        if deserializer.is_human_readable() {
            deserializer.deserialize_u64(visitor)
        } else {
            deserializer.deserialize_i64(visitor)
        }
    }
}

struct NumberVisitor<K>(PhantomData<fn() -> K>);

impl<K> Visitor<'_> for NumberVisitor<K> {
    type Value = Id53<K>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // No fraction and no exponent: a writer that has them may have rounded.
        write!(f, "an id, a whole number from 0 to {}", Id53::<K>::MAX)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Id53<K>, E> {
        Id53::try_from(number).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Id53<K>, E> {
        Id53::try_from(number).map_err(E::custom)
    }
}
