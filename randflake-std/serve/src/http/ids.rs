//! `/v1/ids`, `/v1/numbers`, `/v1/inspect` and `/v1/explain`.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::{ACCEPT, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use itoa::Buffer;
use randflake_common::explain::ExplainRow;
use randflake_common::form::TextFormat;
use randflake_common::layout::IdEncryption;
use randflake_std::Id;
use randflake_std::lease::{Gap, LeaseStore};
use serde::{Deserialize, Serialize};

use super::body::{BodyMemory, Json, Paid, json, paid};
use super::request::ApiRequest;
use crate::access::{Scope, Weight};
use crate::budget::Permit;
use crate::refusal::{Refusal, RefusalKind};
use crate::service::leases::{IssuedNumbers, MAX_NUMBERS};
use crate::service::served_namespace::PATIENCE;
use crate::service::{IdFields, IdsFormat, MAX_IDS, read_id};

/// Bytes of an answer that are written at once. The client takes them before there are more.
const CHUNK: usize = 64 << 10;
/// The last chunk may be longer by a half: a batch of 1,000 ids is written at once.
const LAST_CHUNK: usize = CHUNK + CHUNK / 2;

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
    // Before ids are taken: one that cannot be answered is lost. They are eight bytes each; a chunk
    // is written while the one before it may still be sent.
    let written = (count * format.max_len()).min(2 * LAST_CHUNK);
    let permit = memory.take(count * size_of::<Id>() + written).await?;
    let mut ids = vec![Id::from_u64(0); count];
    let service = &request.app.service;
    let asked = service.ids(&request.principal, namespace, &mut ids, PATIENCE);
    asked.await?;
    let form = service
        .space(&request.principal, Scope::Ids, namespace)?
        .form();
    let body = IdsBody::new(ids, format, form, namespace, permit.map(Arc::new));
    let headers = [(CONTENT_TYPE, format.media_type()), (VARY, "accept")];
    let mut response = (headers, Body::new(body)).into_response();
    response.extensions_mut().insert(Paid);
    Ok(response)
}

/// Ids as the body of an answer. All are there before the first byte; their text is written in
/// chunks.
///
/// JSON is `{"namespace":"orders","ids":[{"text":"3vgoe12ccb8gh","int":"4594531474933654033"}]}`:
/// both are strings, because JavaScript rounds numbers over 53 bits. Ids of 53 bits also have
/// `"number":5894197889380909`.
struct IdsBody {
    ids: Vec<Id>,
    /// How many of them are written.
    done: usize,
    format: IdsFormat,
    form: IdEncryption,
    /// What stands before the ids, until it is written.
    head: String,
    /// Bytes that are not written yet.
    left: usize,
    permit: Option<Arc<Permit>>,
}

const TAIL: &str = "]}\n";

impl IdsBody {
    fn new(
        ids: Vec<Id>,
        format: IdsFormat,
        form: IdEncryption,
        namespace: &str,
        permit: Option<Arc<Permit>>,
    ) -> Self {
        let (head, tail, between) = match format {
            IdsFormat::Json => {
                let head = format!(r#"{{"namespace":"{namespace}","ids":["#);
                (head, TAIL.len(), ids.len().saturating_sub(1))
            }
            _ => (String::new(), 0, 0),
        };
        let of_ids: usize = ids.iter().map(|&id| len(format, form, id)).sum();
        Self {
            left: head.len() + of_ids + between + tail,
            ids,
            done: 0,
            format,
            form,
            head,
            permit,
        }
    }

    /// The next chunk: the rest, if that is not much more.
    fn chunk(&mut self) -> Vec<u8> {
        let most = if self.left <= LAST_CHUNK {
            self.left
        } else {
            CHUNK
        };
        let mut text = Vec::with_capacity(most);
        text.extend(core::mem::take(&mut self.head).into_bytes());
        while let Some(&id) = self.ids.get(self.done)
            && (most == self.left || text.len() + self.format.max_len() <= most)
        {
            if self.done > 0 && self.format == IdsFormat::Json {
                text.push(b',');
            }
            write(self.format, self.form, id, &mut text);
            self.done += 1;
        }
        if most == self.left && self.format == IdsFormat::Json {
            text.extend(TAIL.as_bytes());
        }
        self.left = self.left.saturating_sub(text.len());
        text
    }
}

impl HttpBody for IdsBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(None);
        }
        let chunk = paid(this.chunk(), this.permit.clone());
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left as u64)
    }
}

/// Writes an id.
fn write(format: IdsFormat, form: IdEncryption, id: Id, text: &mut Vec<u8>) {
    let mut digits = Buffer::new();
    match format {
        IdsFormat::Json => {
            text.extend(br#"{"text":""#);
            text.extend(id.to_text().as_bytes());
            text.extend(br#"","int":""#);
            text.extend(digits.format(id.to_i64()).as_bytes());
            text.push(b'"');
            if let Some(number) = form.number(id) {
                text.extend(NUMBER.as_bytes());
                text.extend(digits.format(number).as_bytes());
            }
            text.push(b'}');
        }
        IdsFormat::Text => {
            text.extend(id.to_text().as_bytes());
            text.push(b'\n');
        }
        IdsFormat::Int => {
            text.extend(digits.format(id.to_i64()).as_bytes());
            text.push(b'\n');
        }
        IdsFormat::Raw => text.extend(id.to_u64().to_le_bytes()),
    }
}

const NUMBER: &str = r#","number":"#;

/// Bytes that [`write`] writes of an id, without writing them.
fn len(format: IdsFormat, form: IdEncryption, id: Id) -> usize {
    let decimal = |number: u64| number.checked_ilog10().unwrap_or(0) as usize + 1;
    let number = id.to_u64();
    // Five bits a digit.
    let text = (u64::BITS - (number | 1).leading_zeros()).div_ceil(5) as usize;
    let int = usize::from(id.to_i64() < 0) + decimal(id.to_i64().unsigned_abs());
    match format {
        IdsFormat::Json => {
            let number = match form.number(id) {
                None => 0,
                Some(number) => NUMBER.len() + decimal(number),
            };
            r#"{"text":"","int":""}"#.len() + text + int + number
        }
        IdsFormat::Text => text + 1,
        IdsFormat::Int => int + 1,
        IdsFormat::Raw => size_of::<u64>(),
    }
}

impl IdsFormat {
    pub(super) const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Text | Self::Int => "text/plain; charset=utf-8",
            Self::Raw => "application/octet-stream",
        }
    }

    /// What an id takes at most.
    pub(super) const fn max_len(self) -> usize {
        match self {
            Self::Json => 75,
            Self::Text | Self::Int => 21,
            Self::Raw => 8,
        }
    }

    /// That of the parameter `format`, which must be acceptable; without one, the most acceptable.
    pub(super) fn chosen(named: Option<&str>, headers: &HeaderMap) -> Result<Self, Refusal> {
        let accepted = Accepted::read(headers);
        let Some(name) = named else {
            // From the last on: of several that are liked alike the first is taken.
            let formats = Self::ALL.into_iter().rev().map(|(format, _)| format);
            let best = formats.max_by_key(|format| accepted.quality(*format));
            let accepted = best.filter(|format| accepted.quality(*format) > 0);
            return accepted.ok_or_else(|| {
                let message = "the header Accept has none of application/json, text/plain and \
                               application/octet-stream, which are served";
                Refusal::new(RefusalKind::NotAcceptable, message)
            });
        };
        let Some(format) = Self::named(name) else {
            let allowed = Self::ALL.map(|(_, own)| own).join(", ");
            let message = format!("format is {name:?}: {allowed} are allowed");
            return Err(Refusal::invalid(message));
        };
        if accepted.quality(format) > 0 {
            return Ok(format);
        }
        let essence = essence(format);
        let message = format!("format={name} is {essence}, and the header Accept does not have it");
        Err(Refusal::new(RefusalKind::NotAcceptable, message))
    }
}

/// The media type without its parameters.
fn essence(format: IdsFormat) -> &'static str {
    let mut parts = format.media_type().split(';');
    parts.next().unwrap_or_default()
}

/// The media types of the header `Accept`, with how much each is liked in thousandths.
struct Accepted(Vec<(String, u32)>);

impl Accepted {
    fn read(headers: &HeaderMap) -> Self {
        let values = headers.get_all(ACCEPT).iter();
        let texts = values.filter_map(|value: &HeaderValue| value.to_str().ok());
        let ranges = texts.flat_map(|text| text.split(','));
        Self(ranges.filter_map(range).collect())
    }

    /// By the most specific range that has the type. Without the header all are liked.
    fn quality(&self, format: IdsFormat) -> u32 {
        if self.0.is_empty() {
            return 1_000;
        }
        let essence = essence(format);
        let kind = essence.split('/').next().unwrap_or_default();
        let ranges = [essence.to_owned(), format!("{kind}/*"), "*/*".to_owned()];
        ranges
            .iter()
            .find_map(|range| self.0.iter().find(|(own, _)| own == range))
            .map_or(0, |(_, quality)| *quality)
    }
}

/// Reads a media range such as `TYPE/SUBTYPE;q=0.5`.
fn range(text: &str) -> Option<(String, u32)> {
    let mut words = text.split(';').map(str::trim);
    let name = words.next().filter(|name| name.contains('/'))?;
    let quality = words.find_map(|word| word.strip_prefix("q=").or(word.strip_prefix("Q=")));
    let quality = match quality {
        None => 1_000,
        Some(text) => thousandths(text)?,
    };
    Some((name.to_ascii_lowercase(), quality))
}

/// `0` to `1`, with up to three digits behind the point: RFC 9110, 12.4.2.
fn thousandths(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let whole: u32 = whole.parse().ok()?;
    if part.len() > 3 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part: u32 = format!("{part:0<3}").parse().ok()?;
    Some((whole.min(1) * 1_000 + part).min(1_000))
}

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
    let numbers = segment.numbers().map(|number| IssuedNumber {
        text: terms.text(number),
        int: number.to_string(),
    });
    Ok(Json(NumbersAnswer {
        namespace: namespace.to_owned(),
        numbers: numbers.collect(),
    }))
}

/// Ids of one request: what is shown of them is about 200 kB.
const MOST: usize = 1_000;
/// So many ids in their longest form, base2: what is read of shorter texts takes many times their
/// length.
const MAX_LEN: usize = 80 << 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InspectRequest {
    ids: Vec<String>,
    form: Option<String>,
}

#[derive(Serialize)]
pub(super) struct InspectAnswer {
    namespace: String,
    ids: Vec<IdFields>,
}

pub(super) async fn one(request: ApiRequest) -> Result<Json<InspectAnswer>, Refusal> {
    let (namespace, id) = read_one(&request)?;
    let inspected = request
        .app
        .service
        .inspect(&request.principal, namespace, id)?;
    Ok(Json(InspectAnswer {
        namespace: namespace.to_owned(),
        ids: vec![inspected],
    }))
}

/// The namespace and the id of a request about one, for who may inspect ids there.
pub(super) fn read_one(request: &ApiRequest) -> Result<(&str, Id), Refusal> {
    let ApiRequest {
        app,
        principal,
        query,
    } = request;
    request.begin(Weight::ONE, &["namespace", "id", "form"])?;
    let namespace = request.namespace()?;
    // Before anything is said of what was sent.
    app.service.space(principal, Scope::Inspect, namespace)?;
    let text = query.text("id").ok_or_else(|| {
        Refusal::invalid("the parameter id is missing: one id is allowed, as in ?id=3vgoe12ccb8gh")
    })?;
    let form = form_of(query.text("form"))?;
    Ok((namespace, read_id(form, text)?))
}

pub(super) async fn many(
    request: ApiRequest,
    body: Request,
) -> Result<Json<InspectAnswer>, Refusal> {
    let (service, principal) = (&request.app.service, &request.principal);
    let asked = request.namespace();
    let allowed = asked.and_then(|name| service.space(principal, Scope::Inspect, name));
    if let Err(refusal) = allowed {
        // One request, before its body is read.
        request.begin(Weight::ONE, &["namespace"])?;
        return Err(refusal);
    }
    let read = json::<InspectRequest>(body, MAX_LEN).await;
    // As a request for each id, which only the body tells; what is wrong is one.
    let count = read.as_ref().map_or(1, |(asked, _)| asked.ids.len().max(1));
    request.begin(Weight::Each(count as u64), &["namespace"])?;
    let (asked, _memory) = read?;
    let count = asked.ids.len();
    if !(1..=MOST).contains(&count) {
        let message = format!("{count} ids were sent: 1 to {MOST} are allowed in one request");
        return Err(Refusal::invalid(message));
    }
    let namespace = request.namespace()?;
    let form = form_of(asked.form.as_deref())?;
    let ids: Result<_, Refusal> = asked
        .ids
        .iter()
        .map(|text| service.inspect(principal, namespace, read_id(form, text)?))
        .collect();
    Ok(Json(InspectAnswer {
        namespace: namespace.to_owned(),
        ids: ids?,
    }))
}

fn form_of(name: Option<&str>) -> Result<TextFormat, Refusal> {
    let Some(name) = name else {
        return Ok(TextFormat::Text);
    };
    TextFormat::named(name).ok_or_else(|| {
        let names = TextFormat::names().join(", ");
        Refusal::invalid(format!("form is {name:?}: {names} are allowed"))
    })
}

#[derive(Serialize)]
pub(super) struct ExplainAnswer {
    namespace: String,
    #[serde(flatten)]
    row: ExplainRow,
    /// Records of this node id's history that are missing or were changed, as far as the search has
    /// met them.
    gaps: Vec<GapDocument>,
}

#[derive(Serialize)]
struct GapDocument {
    fencing_token: u64,
    is_changed: bool,
}

impl GapDocument {
    fn of(gap: &Gap) -> Self {
        Self {
            fencing_token: gap.fencing_token,
            is_changed: gap.is_changed,
        }
    }
}

pub(super) async fn explain(request: ApiRequest) -> Result<Json<ExplainAnswer>, Refusal> {
    let (namespace, id) = read_one(&request)?;
    let ApiRequest { app, principal, .. } = &request;
    let space = app.service.space(principal, Scope::Inspect, namespace)?;
    principal.take_reads(1)?;
    space.check(id)?;
    let parts = space.codec().inspect(id);
    let explained = space
        .read_store(Some(principal), move |store: &mut LeaseStore| {
            Ok(store.history().explain(parts.node_id, parts.tick)?)
        })
        .await?;
    let spec = space.namespace().spec();
    Ok(Json(ExplainAnswer {
        namespace: namespace.to_owned(),
        gaps: explained.gap.iter().map(GapDocument::of).collect(),
        row: ExplainRow::new(
            &id.into(),
            parts,
            spec,
            &explained.explanation,
            explained.now,
        ),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_ids(count: usize) -> Vec<Id> {
        let edges = [0, 1, 31, 32, u64::MAX, 1 << 63, 4_594_531_474_933_654_033];
        let powers = (0..20).flat_map(|power| {
            let number = 10_u64.pow(power);
            [number - 1, number, number.wrapping_neg()]
        });
        let mixed = (0..600_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (n % 64));
        let all = edges.into_iter().chain(powers).chain(mixed).cycle();
        all.map(Id::from_u64).take(count).collect()
    }

    /// All chunks.
    fn written(ids: &[Id], format: IdsFormat, form: IdEncryption) -> Vec<u8> {
        let mut body = IdsBody::new(ids.to_vec(), format, form, "orders", None);
        let (whole, mut text) = (body.left, Vec::new());
        while body.left > 0 {
            let left = body.left;
            let chunk = body.chunk();
            assert!(!chunk.is_empty() && chunk.len() <= LAST_CHUNK && chunk.len() <= left);
            assert!(chunk.len() > CHUNK - format.max_len() || body.left == 0);
            text.extend(chunk);
        }
        assert_eq!(
            text.len(),
            whole,
            "the length that is announced is that which is sent"
        );
        text
    }

    #[test]
    fn json_is_what_a_library_reads() {
        for count in [1, 2, 607, 1_000, 5_000] {
            let ids = some_ids(count);
            let text = written(&ids, IdsFormat::Json, IdEncryption::Bits64);
            let read: serde_json::Value = serde_json::from_slice(&text).unwrap();
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
    fn lines_and_bytes_are_those_of_the_ids() {
        let ids = some_ids(20_000);
        let lines = |shown: fn(&Id) -> String| -> String {
            ids.iter().map(|id| shown(id) + "\n").collect()
        };
        let text = written(&ids, IdsFormat::Text, IdEncryption::Bits64);
        assert_eq!(text, lines(ToString::to_string).into_bytes());
        let text = written(&ids, IdsFormat::Int, IdEncryption::Bits64);
        assert_eq!(text, lines(|id| id.to_i64().to_string()).into_bytes());
        let bytes = written(&ids, IdsFormat::Raw, IdEncryption::Bits64);
        let (bytes, _) = bytes.as_chunks();
        assert!(
            bytes
                .iter()
                .map(|&id| u64::from_le_bytes(id))
                .eq(ids.iter().map(|id| id.to_u64()))
        );
    }

    #[test]
    fn ids_of_53_bits_are_numbers_too_and_fit_what_is_paid_for() {
        let largest = [(1 << 53) - 1; 2].map(Id::from_u64);
        let text = written(&largest, IdsFormat::Json, IdEncryption::Bits53);
        let read: serde_json::Value = serde_json::from_slice(&text).unwrap();
        for (read, id) in read["ids"].as_array().unwrap().iter().zip(largest) {
            assert_eq!(read["number"], id.to_u64());
            assert_eq!(read["int"], id.to_i64().to_string());
        }
        let more = text.len() - written(&largest[..1], IdsFormat::Json, IdEncryption::Bits53).len();
        assert!(more <= IdsFormat::Json.max_len(), "{more}");
    }

    fn chosen(named: Option<&str>, accept: Option<&str>) -> Option<IdsFormat> {
        let mut headers = HeaderMap::new();
        if let Some(accept) = accept {
            headers.insert(ACCEPT, accept.parse().unwrap());
        }
        IdsFormat::chosen(named, &headers).ok()
    }

    #[test]
    fn the_most_acceptable_format_is_taken() {
        for (accept, format) in [
            (None, Some(IdsFormat::Json)),
            (Some("*/*"), Some(IdsFormat::Json)),
            (Some("text/plain"), Some(IdsFormat::Text)),
            (
                Some("text/*, application/json;q=0.5"),
                Some(IdsFormat::Text),
            ),
            (Some("application/octet-stream"), Some(IdsFormat::Raw)),
            (Some("application/*"), Some(IdsFormat::Json)),
            (
                Some("application/json;q=0, */*;q=0.1"),
                Some(IdsFormat::Text),
            ),
            (Some("text/html, */*;q=0.8"), Some(IdsFormat::Json)),
            (Some("text/html"), None),
            (Some("application/json;q=0"), None),
        ] {
            assert_eq!(chosen(None, accept), format, "{accept:?}");
        }
    }

    #[test]
    fn a_named_format_must_be_acceptable() {
        assert_eq!(
            chosen(Some("int"), Some("text/plain")),
            Some(IdsFormat::Int)
        );
        assert_eq!(chosen(Some("raw"), Some("*/*")), Some(IdsFormat::Raw));
        assert_eq!(chosen(Some("raw"), Some("application/json")), None);
        assert_eq!(chosen(Some("xml"), None), None);
    }
}
