//! How ids are written in an answer, and which way a request asks for.

use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, HeaderValue};

use crate::service::ids_format::IdsFormat;
use crate::service::refusal::{Refusal, RefusalKind};

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
            let best = best.filter(|format| accepted.quality(*format) > 0);
            return best.ok_or_else(|| {
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
        let find = |range: &String| self.0.iter().find(|(own, _)| own == range);
        ranges
            .iter()
            .find_map(find)
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

#[cfg(test)]
mod tests {
    use super::*;

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
