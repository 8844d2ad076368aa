//! The path `GET /v1/ids`: new ids.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::response::{IntoResponse, Response};
use randflake_std::Id;
use randflake_std::randflake_core::Notation;

use super::App;
use super::format::IdsFormat;
use super::held::{BodyMemory, PaidMemory};
use super::principal::Principal;
use super::problem::Problem;
use super::query::Query;
use crate::json::{JsonLine, WORD};
use crate::serve::service::MAX_IDS;
use crate::serve::service::served_namespace::PATIENCE;

/// So many are written at once: their words stay in the first cache.
const BLOCK: usize = 256;

pub(super) async fn ids(
    State(app): State<Arc<App>>,
    principal: Principal,
    headers: HeaderMap,
    holding: BodyMemory,
    query: Query,
) -> Result<Response, Problem> {
    let query = query.only(&["namespace", "count", "format"])?;
    let format = IdsFormat::chosen(query.text("format"), &headers)?;
    let count = query.number("count", 1..=MAX_IDS as u64)?.unwrap_or(1);
    let namespace = query.namespace(&app, &principal)?;
    let count = usize::try_from(count).unwrap_or(MAX_IDS);
    let share = holding.take(count * (8 + format.max_len())).await?;
    let mut ids = vec![Id::from_u64(0); count];
    let asked = app.service.ids(&principal.0, namespace, &mut ids, PATIENCE);
    asked.await?;
    let body = match format {
        IdsFormat::Json => objects(namespace, &ids),
        IdsFormat::Text => lines(Notation::Text, &ids),
        IdsFormat::Int => lines(Notation::Signed, &ids),
        IdsFormat::Raw => raw(&ids),
    };
    let headers = [(CONTENT_TYPE, format.media_type()), (VARY, "accept")];
    Ok(PaidMemory::mark(
        share,
        (headers, Bytes::from(body)).into_response(),
    ))
}

fn raw(ids: &[Id]) -> Vec<u8> {
    let mut bytes = vec![0; ids.len() * 8];
    let (places, _) = bytes.as_chunks_mut();
    for (place, id) in places.iter_mut().zip(ids) {
        *place = id.to_u64().to_le_bytes();
    }
    bytes
}

fn lines(notation: Notation, ids: &[Id]) -> Vec<u8> {
    let mut text = vec![0; ids.len() * (notation.max_len() + 1)];
    // The longest would fit.
    let len = notation.write(ids, b'\n', &mut text).unwrap_or_default();
    text.truncate(len);
    text
}

/// `{"namespace":"orders","ids":[{"text":"3vgoe12ccb8gh","int":"4594531474933654033"}]}`: both are strings, because
/// JavaScript rounds numbers over 53 bits.
fn objects(namespace: &str, ids: &[Id]) -> Vec<u8> {
    const TEXT: &[u8] = br#"{"text":""#;
    const INT: &[u8] = br#"","int":""#;
    const END: &[u8] = br#""},"#;
    const MOST: usize = TEXT.len() + 13 + INT.len() + 20 + END.len();
    let begin = format!(r#"{{"namespace":"{namespace}","ids":["#);
    let mut body = vec![0; begin.len() + ids.len() * MOST + WORD];
    let mut line = JsonLine {
        place: &mut body,
        len: 0,
    };
    line.literal(begin.as_bytes());
    let mut texts = [0; BLOCK * 14 + WORD];
    let mut ints = [0; BLOCK * 21 + WORD];
    for block in ids.chunks(BLOCK) {
        // The longest would fit.
        _ = Notation::Text.write(block, 0, &mut texts);
        _ = Notation::Signed.write(block, 0, &mut ints);
        let (mut text, mut int) = (0, 0);
        for &id in block {
            line.literal(TEXT);
            let len = Notation::Text.len(id);
            line.word(&texts[text..], len);
            text += len + 1;
            line.literal(INT);
            let len = Notation::Signed.len(id);
            line.word(&ints[int..], len);
            int += len + 1;
            line.literal(END);
        }
    }
    // Over the last comma.
    line.len -= 1;
    line.literal(b"]}\n");
    let len = line.len;
    body.truncate(len);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_what_a_json_library_reads() {
        let edges = [0, 1, 31, 32, u64::MAX, 1 << 63, 4_594_531_474_933_654_033];
        let mixed = (0..600_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (n % 64));
        for count in [1, 2, BLOCK, BLOCK + 1, 607] {
            let ids: Vec<Id> = edges
                .into_iter()
                .chain(mixed.clone())
                .map(Id::from_u64)
                .take(count)
                .collect();
            let read: serde_json::Value = serde_json::from_slice(&objects("orders", &ids)).unwrap();
            assert_eq!(read["namespace"], "orders");
            let read = read["ids"].as_array().unwrap();
            assert_eq!(read.len(), count);
            for (read, id) in read.iter().zip(&ids) {
                assert_eq!(read["text"], id.to_string());
                assert_eq!(read["int"], id.to_i64().to_string());
            }
        }
    }
}
