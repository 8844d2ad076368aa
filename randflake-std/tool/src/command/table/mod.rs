//! Tables: CSV, tab-separated values and JSON lines, read and written row by row.
//!
//! A thread reads standard input and finds the rows and the ids in them (`blocks`, with a splitter for each format); the
//! command's own thread decrypts the ids of a block at once, edits the rows and writes them (`run`). What a row has besides
//! is copied byte for byte: nobody's quotes, spaces or digits change.

mod args;
mod blocks;
mod edits;
mod formats;
mod run;

pub(crate) use args::TableArgs;
pub(crate) use edits::{AddArgs, replace};
