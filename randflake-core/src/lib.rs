//! randflake-core
