//! What one kind of database does in its own way.

use core::fmt::Debug;
use std::collections::BTreeMap;

use super::{Failure, Only, Value};
use crate::rules::{Key, Keys, Write};
use crate::store::url::Server;
use crate::vocabulary::{EngineError, Finding, StoreError};

/// How servers of one kind are reached, and what a process remembers of them.
pub(in crate::store) trait Driver: Debug + Send + Sized + 'static {
    type Session: Session<Driver = Self>;

    /// In front of an address, for errors.
    const PLACE: &'static str;

    /// For the client, field by field: its own parser takes more options, such that switch verification off.
    fn of(server: &Server) -> Result<Self, StoreError>;

    /// Whether times are the server's.
    fn has_own_clock(&self) -> bool {
        true
    }
}

/// Texts by their keys.
pub(in crate::store) type Texts = BTreeMap<Key, String>;

/// The clock in microseconds; 1 if the server knows the session; what it is known by; the tables' number; and the setting by which answered writes are lost, with what to do. No row if the tables have none.
pub(in crate::store) type State = Option<Vec<String>>;

/// A connection to a server, for one namespace. It is used for one operation after the other; after an error of its own it
/// is dropped.
pub(in crate::store) trait Session: Sized + Send + 'static {
    type Driver;

    /// The question for the version of the tables. If they are not there, that is an
    /// [overtaken](super::Sort::Overtaken) failure.
    const VERSION: &'static str;

    /// The question for the text of a namespace: its name.
    const NAMESPACE: &'static str;
    /// The question for the next namespace after a place in their order: the place. It answers with the place of that one,
    /// its name and its text.
    const NEXT_NAMESPACE: &'static str;
    /// Removes what is there under some keys: the namespace, their kind, and the first and last number.
    const FORGET: &'static str;
    /// Puts the claim of a secret unless there is one: its check value, and the claim.
    const CLAIM: &'static str;
    /// The claim of a secret that is there: its check value.
    const CLAIMED: &'static str;

    async fn connect(driver: &Self::Driver, namespace: &str) -> Result<Self, Failure>;

    /// Makes it independent of the settings of the server, the database and the user.
    async fn prepare(&mut self, driver: &Self::Driver) -> Result<(), Failure>;

    /// A sentence on tables that no randflake has made, or nobody who is trusted. It is asked for before any is read: what
    /// stands in their place may run functions with the rights of whoever looks.
    async fn distrust(&mut self) -> Result<Option<String>, Failure>;

    /// Makes the tables. One client does; the others wait, and find them made.
    async fn make(&mut self) -> Result<(), Failure>;

    /// The tables are there: what is remembered of them.
    async fn enter(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether it still works, as far as is known without a round trip.
    async fn is_open(&mut self) -> bool {
        true
    }

    /// Ends the session in the way that the server expects.
    async fn close(self) {}

    /// The first row of the answer to a statement that stands in this program, with nothing for `NULL`. All that is not
    /// known here is a value of it.
    async fn ask(
        &mut self,
        statement: &'static str,
        values: &[Value<'_>],
    ) -> Result<Option<Vec<String>>, Failure>;

    /// A row that must be there.
    async fn ask_for<const N: usize>(
        &mut self,
        statement: &'static str,
    ) -> Result<[String; N], Failure> {
        let row = self.ask(statement, &[]).await?.unwrap_or_default();
        Ok(row.try_into().map_err(|_| emptied())?)
    }

    /// Reads the texts of some keys and how things stand, in one round trip.
    async fn look(&mut self, keys: &[Keys]) -> Result<(State, Texts), Failure>;

    /// Reads the texts of some keys, the first ones of each range if `most` says so.
    async fn texts(&mut self, keys: &[Keys], most: Option<usize>) -> Result<Texts, Failure>;

    /// Writes in one round trip, unless it is large, and by one statement if it is the most frequent write. The server's
    /// time in microseconds, if it was done.
    async fn write(
        &mut self,
        write: &Write,
        only: Option<Only<'_>>,
    ) -> Result<Option<i64>, Failure>;

    /// Removes the texts of node ids, pages, hints and the history, if the namespace's is this one.
    async fn clear(&mut self, namespace: &str) -> Result<(), Failure>;

    /// What the server says of itself, for people.
    async fn findings(&mut self) -> Result<Vec<Finding>, Failure>;

    /// Others were faster: nothing of a write remains.
    async fn roll_back(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// The tables have no row.
pub(in crate::store) fn emptied() -> EngineError {
    EngineError::unavailable("the tables of the lease store were emptied meanwhile")
}

/// The setting by which a server mends pages that a crash has torn.
pub(in crate::store) fn whole_pages(name: &'static str, value: String, is_on: bool) -> Finding {
    if is_on {
        return Finding::fine(name, value);
    }
    let sentence = "a crash keeps every lease only on a file system that never tears a page";
    Finding::caution(name, value, sentence)
}
