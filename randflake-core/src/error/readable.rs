//! Readable `Debug` output of errors, which `unwrap` and a `main` that returns an error print.

use alloc::string::{String, ToString as _};
use core::error::Error;
use core::fmt::{self, Debug, Formatter};

use super::{
    DecodeError, ExtendError, FieldError, GenerateError, HorizonError, LayoutError, LeaseError,
    MakeTicketError, SetClockError, TicketError,
};
use crate::segment::error::{PutError, ReserveError};
use crate::{
    BaseError, BorderError, Id53Error, KeyNumberError, TagError, TaggedUuidError, TypedIdError,
    UuidError,
};

/// Writes the message of an error, the causes that it does not contain already, and the variant in parentheses.
///
/// Only the output of `Display` is written, since a field may hold what that hides.
///
/// # Errors
///
/// The error of the formatter.
pub fn write_debug(f: &mut Formatter<'_>, error: &dyn Error, variant: &str) -> fmt::Result {
    let mut text = error.to_string();
    let mut cause = error.source();
    // To the end of the chain: `Display` of an error need not contain its causes.
    while let Some(error) = cause {
        append(&mut text, &error.to_string());
        cause = error.source();
    }
    write!(f, "{text} ({variant})")
}

fn append(text: &mut String, cause: &str) {
    // Most messages already end with their cause.
    if !text.contains(cause) {
        text.push_str(": ");
        text.push_str(cause);
    }
}

/// Implements `Debug` for an error type: message, causes and variant. See [`write_debug`].
///
/// The variants are listed, so that the compiler reports a missing one.
#[doc(hidden)]
#[macro_export]
macro_rules! readable_debug {
    ($type:ident) => {
        impl ::core::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $crate::internal::write_debug(f, self, stringify!($type))
            }
        }
    };
    ($type:ident { $($variant:ident),+ $(,)? }) => {
        impl ::core::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let variant = match self {
                    $(Self::$variant { .. } => concat!(stringify!($type), "::", stringify!($variant)),)+
                };
                $crate::internal::write_debug(f, self, variant)
            }
        }
    };
}

crate::readable_debug!(BaseError);
crate::readable_debug!(BorderError {
    CipherMissing,
    Text
});
crate::readable_debug!(DecodeError {
    Empty,
    TooLong,
    LeadingZero,
    InvalidDigit,
    Overflow,
    Truncated
});
crate::readable_debug!(ExtendError {
    Foreign,
    Expired,
    ClockUnknown,
    TooLong,
    Sealed
});
crate::readable_debug!(FieldError {
    BeforeEpoch,
    Timestamp,
    NodeId,
    Sequence,
    NodePart,
    NodeParts
});
crate::readable_debug!(GenerateError {
    ClockUnknown,
    ClockBehind,
    SequenceExhausted,
    LeaseOver,
    Sealed,
    Copied,
    InForkedChild
});
crate::readable_debug!(Id53Error {
    TooLarge,
    Negative,
    Text
});
crate::readable_debug!(KeyNumberError { OutOfRange, Text });
crate::readable_debug!(LayoutError {
    FieldTooWide,
    FieldOutside,
    FieldsOverlap,
    TooFewTimestampBits,
    NodeFields,
    NoTimestamp,
    NoTick,
    TimeOverflow
});
crate::readable_debug!(LeaseError {
    NodeId,
    Empty,
    BeyondLayout,
    TooLong,
    TooWide,
    NotProvisioned,
    GrantVersion
});
crate::readable_debug!(MakeTicketError { Counter, Lease });
crate::readable_debug!(PutError { Full, WentBack });
crate::readable_debug!(ReserveError {
    Empty,
    First,
    Step,
    Exhausted
});
crate::readable_debug!(SetClockError { OutOfRange, Busy });
crate::readable_debug!(TagError { KeyNumber, Tag });
crate::readable_debug!(TaggedUuidError {
    Text,
    NotVersion8,
    NoKeyNumber
});
crate::readable_debug!(TicketError {
    Length,
    Version,
    Forged,
    Foreign,
    Replayed,
    Counter,
    Malformed,
    Expired
});
crate::readable_debug!(TypedIdError { Prefix, Digits });
crate::readable_debug!(UuidError { NotVersion8, NoId });

/// By hand, since the error of the store need not implement `Display`.
impl<E: Debug> Debug for HorizonError<E> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost => write!(f, "{self} (HorizonError::Lost)"),
            Self::Provisioned => write!(f, "{self} (HorizonError::Provisioned)"),
            Self::GrantUsed => write!(f, "{self} (HorizonError::GrantUsed)"),
            Self::Foreign => write!(f, "{self} (HorizonError::Foreign)"),
            Self::OutOfRange => write!(f, "{self} (HorizonError::OutOfRange)"),
            Self::Store(error) => write!(f, "{self}: {error:?} (HorizonError::Store)"),
        }
    }
}
