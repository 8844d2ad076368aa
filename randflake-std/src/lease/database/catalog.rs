//! Which namespaces there are, and the end of one.

use std::collections::BTreeMap;

use tokio::time::timeout;

use super::{ANSWER_LIMIT, Database, Driver, Failure, SETUP_LIMIT, Session, is_made};
use crate::lease::EngineError;
use crate::ledger::Keys;

/// The texts of namespaces by name; `None` if there are no tables.
type Names = Option<BTreeMap<String, String>>;

impl<D: Driver> Database<D> {
    /// On a connection of its own, because others make the tables where they are missing.
    pub(super) fn names(&mut self, only: Option<&str>) -> Result<Names, EngineError> {
        let Self {
            runtime,
            driver,
            place,
            namespace,
            ..
        } = self;
        let mut work = async || -> Result<Names, Failure> {
            let driver = &mut *driver;
            let connect = D::Session::connect(driver, namespace);
            let mut session = timeout(ANSWER_LIMIT, connect).await??;
            let names = async {
                session.prepare(driver).await?;
                let is_made = is_made(&mut session).await?;
                Ok::<_, Failure>(if is_made {
                    Some(names(&mut session, only).await?)
                } else {
                    None
                })
            };
            let names = timeout(SETUP_LIMIT, names).await??;
            // It may have gone already.
            _ = timeout(ANSWER_LIMIT, session.close()).await;
            Ok(names)
        };
        let outcome = runtime.wait(|runtime| runtime.block_on(work()))?;
        outcome.map_err(|failure| failure.at(place))
    }
}

/// One question for each, which finds the next by the primary key.
async fn names<S: Session>(
    session: &mut S,
    only: Option<&str>,
) -> Result<BTreeMap<String, String>, Failure> {
    let mut names = BTreeMap::new();
    let mut condition = only.map_or_else(
        || "namespace > ''".to_owned(),
        |name| format!("namespace = '{name}'"),
    );
    loop {
        let question = format!(
            "SELECT namespace, value FROM {} WHERE kind = 0 AND number = 0 AND {condition} ORDER BY namespace LIMIT 1",
            S::RECORDS
        );
        let row = session
            .ask(&question)
            .await?
            .and_then(|row| <[_; 2]>::try_from(row).ok());
        let Some([name, text]) = row else {
            return Ok(names);
        };
        condition = format!("namespace > '{name}'");
        names.insert(name, text);
        if only.is_some() {
            return Ok(names);
        }
    }
}

/// Removes what is there under some keys.
pub(super) async fn forget<S: Session>(
    session: &mut S,
    name: &str,
    keys: &Keys,
) -> Result<(), Failure> {
    let (first, last) = keys.bounds();
    let ((kind, first), (_, last)) = (first.numbers(), last.numbers());
    let statement = format!(
        "DELETE FROM {} WHERE namespace = '{name}' AND kind = {kind} AND number BETWEEN {first} AND {last}",
        S::RECORDS
    );
    session.ask(&statement).await.map(drop)
}

/// Removes the texts of node ids, pages, hints and the history, if the namespace's begins so.
pub(super) async fn clear<S: Session>(
    session: &mut S,
    name: &str,
    begin: &str,
) -> Result<(), Failure> {
    // `MySQL` reads a table that it changes only in a table within the statement.
    let statement = format!(
        "DELETE FROM {records} WHERE namespace = '{name}' AND kind >= 2 AND (
            SELECT found FROM (
                SELECT COUNT(*) AS found FROM {records}
                WHERE namespace = '{name}' AND kind = 0 AND number = 0 AND value LIKE '{begin}%'
            ) AS checked
        ) = 1",
        records = S::RECORDS
    );
    session.ask(&statement).await.map(drop)
}
