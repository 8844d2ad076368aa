//! randflake-embedded
