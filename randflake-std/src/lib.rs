//! randflake-std
