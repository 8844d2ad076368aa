//! The path `GET /v1/ids`: new ids.

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_TYPE, VARY};
use axum::response::{IntoResponse, Response};
use itoa::Buffer;
use randflake_std::Id;

use super::held::{BodyMemory, PaidMemory};
use super::request::ApiRequest;
use crate::access::{Scope, Weight};
use crate::service::MAX_IDS;
use crate::service::ids_format::IdsFormat;
use crate::service::refusal::Refusal;
use crate::service::served_namespace::PATIENCE;
use randflake_common::form::TextForm;
use randflake_common::layout::IdForm;

pub(super) async fn ids(
    request: ApiRequest,
    headers: HeaderMap,
    memory: BodyMemory,
) -> Result<Response, Refusal> {
    let query = &request.query;
    request.begin(Weight::ONE, &["namespace", "count", "format"])?;
    let format = IdsFormat::chosen(query.text("format"), &headers)?;
    let count = query.number("count", 1..=MAX_IDS as u64)?.unwrap_or(1);
    let namespace = request.namespace()?;
    let count = usize::try_from(count).unwrap_or(MAX_IDS);
    // The ids themselves, eight bytes each, and what is written of them. Before ids are taken: one
    // that cannot be answered is lost.
    let share = memory.take(count * (8 + format.max_len())).await?;
    let mut ids = vec![Id::from_u64(0); count];
    let service = &request.app.service;
    let asked = service.ids(&request.principal, namespace, &mut ids, PATIENCE);
    asked.await?;
    let body = match format {
        IdsFormat::Json => {
            let space = service.space(&request.principal, Scope::Ids, namespace)?;
            objects(namespace, space.form(), &ids).into_bytes()
        }
        IdsFormat::Text => TextForm::Text.lines(&ids).into_bytes(),
        IdsFormat::Int => TextForm::Int.lines(&ids).into_bytes(),
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

/// `{"namespace":"orders","ids":[{"text":"3vgoe12ccb8gh","int":"4594531474933654033"}]}`: both are strings, because
/// JavaScript rounds numbers over 53 bits. Ids of 53 bits also have `"number":5894197889380909`.
fn objects(namespace: &str, form: IdForm, ids: &[Id]) -> String {
    let mut body =
        String::with_capacity(32 + namespace.len() + ids.len() * IdsFormat::Json.max_len());
    body.push_str(r#"{"namespace":""#);
    body.push_str(namespace);
    body.push_str(r#"","ids":["#);
    for (index, &id) in ids.iter().enumerate() {
        body.push_str(if index == 0 { "" } else { "," });
        body.push_str(r#"{"text":""#);
        TextForm::Text.append(id, &mut body);
        body.push_str(r#"","int":""#);
        TextForm::Int.append(id, &mut body);
        body.push('"');
        if let Some(number) = form.number(id) {
            body.push_str(r#","number":"#);
            body.push_str(Buffer::new().format(number));
        }
        body.push('}');
    }
    body.push_str("]}\n");
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_what_a_json_library_reads() {
        let edges = [0, 1, 31, 32, u64::MAX, 1 << 63, 4_594_531_474_933_654_033];
        let mixed = (0..600_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (n % 64));
        for count in [1, 2, 607] {
            let ids: Vec<Id> = edges
                .into_iter()
                .chain(mixed.clone())
                .map(Id::from_u64)
                .take(count)
                .collect();
            let read: serde_json::Value =
                serde_json::from_str(&objects("orders", IdForm::Bits64, &ids)).unwrap();
            assert_eq!(read["namespace"], "orders");
            let read = read["ids"].as_array().unwrap();
            assert_eq!(read.len(), count);
            for (read, id) in read.iter().zip(&ids) {
                assert_eq!(read["text"], id.to_string());
                assert_eq!(read["int"], id.to_i64().to_string());
                assert_eq!(read["number"], serde_json::Value::Null);
            }
        }
    }

    #[test]
    fn ids_of_53_bits_are_numbers_too_and_fit_what_is_paid_for() {
        let largest = [(1 << 53) - 1; 2].map(Id::from_u64);
        let text = objects("orders", IdForm::Bits53, &largest);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (read, id) in read["ids"].as_array().unwrap().iter().zip(largest) {
            assert_eq!(read["number"], id.to_u64());
            assert_eq!(read["int"], id.to_i64().to_string());
        }
        let more = text.len() - objects("orders", IdForm::Bits53, &largest[..1]).len();
        assert!(more <= IdsFormat::Json.max_len(), "{more}: {text}");
    }
}
