//! The kind of an error: its variant without what is in it, for programs that only compare.

/// Makes the enum of an error's kinds, and its `kind` function, from one list of variants.
macro_rules! error_kinds {
    ($(#[$doc:meta])* $error:ident => $kind:ident { $($variant:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $kind {
            $(
                #[doc = concat!("Kind of [`", stringify!($error), "::", stringify!($variant), "`].")]
                $variant,
            )+
        }

        impl $error {
            /// Returns the kind of the error.
            #[must_use]
            pub const fn kind(&self) -> $kind {
                match self {
                    // Braces with dots match every form of a variant: unit, tuple and struct.
                    $(Self::$variant { .. } => $kind::$variant,)+
                }
            }
        }
    };
}
