//! Traits of a database driver and its sessions.

use core::fmt::Debug;
use std::collections::BTreeMap;

use crate::{DatabaseFailure, ServerState, SingleUpdate, SqlValue, emptied};
use randflake_lease::unstable::engine::{Key, Keys, Write};
use randflake_lease::unstable::net::Attempt;
use randflake_lease::unstable::net::ExpectedPeer;
use randflake_lease::unstable::url::Location;
use randflake_lease::{Finding, StoreError};

/// How servers of one kind are reached, and what a process remembers of them.
pub trait Driver: Debug + Send + Sized + 'static {
    /// Connection to a server.
    type Session: DatabaseSession<Driver = Self>;

    /// Text in front of an address, in errors.
    const PLACE: &'static str;

    /// Settings for the client, field by field: its own parser takes more options, such that switch
    /// verification off.
    ///
    /// # Errors
    ///
    /// [`StoreError::Invalid`] for what the URL says.
    fn of(location: &Location) -> Result<Self, StoreError>;

    /// The servers of the URL.
    fn expected(&self) -> &[ExpectedPeer];

    /// Whether times are the server's.
    fn has_own_clock(&self) -> bool {
        true
    }
}

/// Texts by their keys.
pub type TextsByKey = BTreeMap<Key, String>;

/// A connection to a server, for one namespace. It is used for one operation after the other; after
/// an error of its own it is dropped.
#[expect(
    async_fn_in_trait,
    reason = "a store waits for each future in its own thread: none is sent to another"
)]
pub trait DatabaseSession: Sized + Send + 'static {
    /// How its server is reached.
    type Driver;

    /// The question for the version of the tables. If they are not there, that is an
    /// [overtaken](crate::Sort::Overtaken) failure.
    const VERSION: &'static str;

    /// The question for the text of a namespace: its name.
    const NAMESPACE: &'static str;
    /// The question for the next namespace after a place in their order: the place. It answers with
    /// the place of that one, its name and its text.
    const NEXT_NAMESPACE: &'static str;
    /// Removes what is there under some keys: the namespace, the first and last kind, the first and
    /// last number, the text that the namespace must have, empty if it may have any, and the
    /// namespace once more.
    const REMOVE: &'static str;

    /// Connects to an address, and logs in. The caller limits the time.
    async fn connect(
        driver: &Self::Driver,
        attempt: &Attempt,
        namespace: &str,
    ) -> Result<Self, DatabaseFailure>;

    /// Makes it independent of the settings of the server, the database and the user.
    async fn prepare(&mut self, driver: &Self::Driver) -> Result<(), DatabaseFailure>;

    /// A sentence on tables that no randflake has made, or nobody who is trusted. It is asked for
    /// before any is read: what stands in their place may run functions with the rights of the user
    /// who looks.
    async fn distrust(&mut self) -> Result<Option<String>, DatabaseFailure>;

    /// Makes the tables. One client does; the others wait, and find them made.
    async fn make(&mut self) -> Result<(), DatabaseFailure>;

    /// Notes what is remembered of the tables, once they are there.
    async fn enter(&mut self) -> Result<(), DatabaseFailure> {
        Ok(())
    }

    /// Whether it still works, as far as is known without a round trip.
    async fn is_open(&mut self) -> bool {
        true
    }

    /// Whether the tables are those that the session was set up with, by a short question.
    async fn has_same_tables(&mut self) -> Result<bool, DatabaseFailure>;

    /// Ends the session in the way that the server expects.
    async fn close(self) {}

    /// The first row of the answer to a statement that stands in this program, with nothing for
    /// `NULL`. All that is not known here is a value of it.
    async fn ask(
        &mut self,
        statement: &'static str,
        values: &[SqlValue<'_>],
    ) -> Result<Option<Vec<String>>, DatabaseFailure>;

    /// Asks for a row that must be there.
    async fn ask_for<const N: usize>(
        &mut self,
        statement: &'static str,
    ) -> Result<[String; N], DatabaseFailure> {
        let row = self.ask(statement, &[]).await?.unwrap_or_default();
        row.try_into().map_err(|_| emptied())
    }

    /// Reads the texts of some keys and the state of the server, in one round trip. No state if the
    /// tables have no row.
    async fn look(
        &mut self,
        keys: &[Keys],
    ) -> Result<(Option<ServerState>, TextsByKey), DatabaseFailure>;

    /// Reads the texts of some keys, the first ones of each range if `most` says so.
    async fn texts(
        &mut self,
        keys: &[Keys],
        most: Option<usize>,
    ) -> Result<TextsByKey, DatabaseFailure>;

    /// Writes in one round trip, unless it is large, and by one statement if it is the most
    /// frequent write. The server's time in microseconds, if it was done.
    async fn write(
        &mut self,
        write: &Write,
        only: Option<SingleUpdate<'_>>,
    ) -> Result<Option<i64>, DatabaseFailure>;

    /// What the server says of itself, for people.
    async fn findings(&mut self) -> Result<Vec<Finding>, DatabaseFailure>;

    /// Ends a write for which others were faster: nothing of it remains.
    async fn roll_back(&mut self) -> Result<(), DatabaseFailure> {
        Ok(())
    }
}

/// The setting by which a server mends pages that a crash has torn.
#[must_use]
pub fn whole_pages(name: &'static str, value: String, is_on: bool) -> Finding {
    if is_on {
        return Finding::fine(name, value);
    }
    let sentence = "a crash keeps every lease only on a file system that never tears a page";
    Finding::caution(name, value, sentence)
}
