//! One connection after the other.

use core::time::Duration;

use tokio::task::yield_now;
use tokio::time::timeout;

use super::failure::Failure;
use super::session::Session;
use super::tls::Target;
use crate::lease::Namespace;

/// What is done in a session.
pub(super) trait Operation<T>:
    AsyncFn(&Session, &Namespace) -> Result<T, Failure> + Sync
{
}

impl<T, F: AsyncFn(&Session, &Namespace) -> Result<T, Failure> + Sync> Operation<T> for F {}

#[derive(Debug)]
pub(super) struct Link {
    pub(super) target: Target,
    pub(super) session: Option<Session>,
    /// The random number of the store that this process has used first.
    pub(super) first: Option<i64>,
}

impl Link {
    /// On a connection that was open before and fails, or leads to another store now, it is repeated on a new
    /// one: so it must write nothing.
    pub(super) async fn ask<T>(
        &mut self,
        namespace: &Namespace,
        limit: Duration,
        operation: &impl Operation<T>,
    ) -> Result<T, Failure> {
        if let Some(session) = self.take_open().await {
            match self.attempt(session, namespace, limit, operation).await {
                Err(failure) if failure.is_of_the_connection() => {}
                outcome => return outcome,
            }
        }
        let session = Session::open(&self.target, self.first).await?;
        self.first.get_or_insert(session.store);
        self.attempt(session, namespace, limit, operation).await
    }

    /// Only on the connection that is open, if there is one.
    pub(super) async fn tell<T>(
        &mut self,
        namespace: &Namespace,
        limit: Duration,
        operation: &impl Operation<T>,
    ) -> Result<Option<T>, Failure> {
        let Some(session) = self.take_open().await else {
            return Ok(None);
        };
        let outcome = self.attempt(session, namespace, limit, operation).await;
        outcome.map(Some)
    }

    async fn take_open(&mut self) -> Option<Session> {
        // The runtime looks whether the server has closed the connection meanwhile; then its task does.
        yield_now().await;
        yield_now().await;
        self.session
            .take()
            .filter(|session| !session.client.is_closed())
    }

    async fn attempt<T>(
        &mut self,
        session: Session,
        namespace: &Namespace,
        limit: Duration,
        operation: &impl Operation<T>,
    ) -> Result<T, Failure> {
        let outcome = timeout(limit, operation(&session, namespace)).await;
        let outcome = outcome.unwrap_or(Err(Failure::TimeOut));
        // What the store itself refuses leaves the connection as it was.
        self.session = matches!(outcome, Ok(_) | Err(Failure::Store(_))).then_some(session);
        outcome
    }
}
