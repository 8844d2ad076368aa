//! Tables: CSV, tab-separated values and JSON lines, read and written row by row.
//!
//! A thread reads standard input and finds the rows and the ids in them (`blocks`, with a splitter for each format); the
//! command's own thread decrypts the ids of a block at once, edits the rows and writes them (`run`). What a row has besides
//! is copied byte for byte: nobody's quotes, spaces or digits change.

mod add;
mod args;
mod bad_rows;
mod blocks;
mod column;
mod lines;
mod objects;
mod replace;
mod run;
mod separated;

pub(crate) use add::AddArgs;
pub(crate) use args::TableArgs;
pub(crate) use replace::replace;
