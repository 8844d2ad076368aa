//! List of the namespaces, and the end of one.

use std::collections::BTreeMap;

use tokio::time::timeout;

use super::{
    ANSWER_LIMIT, Database, DatabaseClient, DatabaseFailure, DatabaseSession, Driver, SETUP_LIMIT,
    is_made,
};
use crate::SqlValue;
use randflake_lease::EngineError;
use randflake_lease::unstable::engine::NAMES_LISTED;

/// The texts of namespaces by name; `None` if there are no tables.
type Names = Option<BTreeMap<String, String>>;

impl<D: Driver> Database<D> {
    /// Texts of all namespaces, or of one, on a connection of its own: setting up the kept one
    /// would make tables where they are missing.
    pub(crate) fn names(&mut self, only: Option<&str>) -> Result<Names, EngineError> {
        let only = only.map(str::to_owned);
        self.work(async move |client: &mut DatabaseClient<D>| {
            let mut session = client.connect().await?;
            let names = async {
                session.prepare(&client.driver).await?;
                if !is_made(&mut session).await? {
                    return Ok(None);
                }
                let names = match &only {
                    Some(name) => one(&mut session, name).await?,
                    None => all(&mut session).await?,
                };
                Ok::<_, DatabaseFailure>(Some(names))
            };
            // The longer limit: each name is a round trip.
            let names = timeout(SETUP_LIMIT, names).await??;
            // It may have gone already.
            _ = timeout(ANSWER_LIMIT, session.close()).await;
            Ok(names)
        })
    }
}

async fn one<S: DatabaseSession>(
    session: &mut S,
    name: &str,
) -> Result<BTreeMap<String, String>, DatabaseFailure> {
    let row = session.ask(S::NAMESPACE, &[SqlValue::Text(name)]).await?;
    let text = row.map(|row| row.concat());
    Ok(text
        .map(|text| (name.to_owned(), text))
        .into_iter()
        .collect())
}

/// One question for each, which finds the next by the primary key.
///
/// Others may write rows too. So the list ends after so many, and each row must come after the one
/// before, or it would never end.
async fn all<S: DatabaseSession>(
    session: &mut S,
) -> Result<BTreeMap<String, String>, DatabaseFailure> {
    let mut names = BTreeMap::new();
    let mut place = String::new();
    while names.len() < NAMES_LISTED {
        let row = session
            .ask(S::NEXT_NAMESPACE, &[SqlValue::Text(&place)])
            .await?;
        let Some([next, name, text]) = row.and_then(|row| <[_; 3]>::try_from(row).ok()) else {
            break;
        };
        // A collation of another order, or rows that somebody else writes.
        if next <= place {
            let why = "the lease store was damaged: the list of its namespaces does not end";
            return Err(EngineError::failed_precondition(why).into());
        }
        place = next;
        names.insert(name, text);
    }
    Ok(names)
}
