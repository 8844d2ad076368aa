//! The path `GET /v1/numbers`: the next numbers of a counter.

use serde::Serialize;

use super::body::Json;
use super::request::ApiRequest;
use crate::access::Weight;
use crate::service::numbers::{IssuedNumbers, MAX_NUMBERS};
use crate::service::refusal::Refusal;

#[derive(Debug, Serialize)]
pub(super) struct NumbersAnswer {
    namespace: String,
    numbers: Vec<IssuedNumber>,
}

/// Both are strings, because JavaScript rounds numbers over 2^53.
#[derive(Debug, Serialize)]
struct IssuedNumber {
    /// With its date in front, if it has one.
    text: String,
    int: String,
}

pub(super) async fn numbers(request: ApiRequest) -> Result<Json<NumbersAnswer>, Refusal> {
    request.begin(Weight::ONE, &["namespace", "count"])?;
    let count = request.query.number("count", 1..=MAX_NUMBERS as u64)?;
    let count = usize::try_from(count.unwrap_or(1)).unwrap_or(MAX_NUMBERS);
    let namespace = request.namespace()?;
    let service = &request.app.service;
    let issued = service.numbers(&request.principal, namespace, count);
    let IssuedNumbers { segment, terms } = issued.await?;
    let number = |number: u64| IssuedNumber {
        text: terms.text(number),
        int: number.to_string(),
    };
    Ok(Json(NumbersAnswer {
        namespace: namespace.to_owned(),
        numbers: segment.numbers().map(number).collect(),
    }))
}
