//! Memory of long bodies: of requests until they are answered, and of answers until they are sent.

use core::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};

use crate::memory::{Account, Share};
use crate::service::refusal::Refusal;

/// Longest answer that is paid for with the connection, in bytes: HTTP's own buffers hold it.
const SHORT: usize = 16 << 10;

/// Who pays for the memory of a request and its answer: the connection's account, if there is a connection.
#[derive(Clone)]
pub(super) struct BodyMemory(Option<Arc<Account>>);

/// The memory of an answer, which its handler has taken before it made the answer.
#[derive(Clone)]
pub(super) struct PaidMemory(Arc<Share>);

/// The bytes of an answer, with their memory.
struct BodyWithMemory {
    bytes: Bytes,
    _share: Arc<Share>,
}

impl AsRef<[u8]> for BodyWithMemory {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl BodyMemory {
    pub(super) fn of(request: &Request) -> Self {
        Self(request.extensions().get().cloned())
    }

    /// Waits a moment for so many bytes. `None` without a connection, as in tests of the routes.
    pub(super) async fn take(&self, bytes: usize) -> Result<Option<Share>, Refusal> {
        match &self.0 {
            Some(account) => account.hold(bytes).await.map(Some),
            None => Ok(None),
        }
    }

    /// Keeps the memory of an answer until the last byte of it is sent.
    pub(super) async fn keep(&self, response: Response) -> Response {
        let (mut parts, body) = response.into_parts();
        let len = body.size_hint().lower();
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len <= SHORT {
            return Response::from_parts(parts, body);
        }
        let share = match parts.extensions.remove::<PaidMemory>() {
            Some(PaidMemory(share)) => share,
            None => match self.take(len).await {
                Ok(Some(share)) => Arc::new(share),
                Ok(None) => return Response::from_parts(parts, body),
                Err(refusal) => return refusal.into_response(),
            },
        };
        // It is in memory, in one piece.
        let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
        let kept = BodyWithMemory {
            bytes,
            _share: share,
        };
        Response::from_parts(parts, Body::from(Bytes::from_owner(kept)))
    }
}

impl<S: Sync> FromRequestParts<S> for BodyMemory {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get().cloned()))
    }
}

impl PaidMemory {
    /// Marks an answer whose memory was taken.
    pub(super) fn mark(share: Option<Share>, mut response: Response) -> Response {
        if let Some(share) = share {
            response.extensions_mut().insert(Self(Arc::new(share)));
        }
        response
    }
}
