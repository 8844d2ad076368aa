//! Files that do not change: the page for operators, and the description of the interface.

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};

use super::body::Paid;

/// Its own resources, and nothing else: names of holders, which clients choose, must not become
/// scripts in an operator's page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) struct File {
    pub(super) path: &'static str,
    kind: &'static str,
    content: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

const fn file(path: &'static str, kind: &'static str, content: &'static str) -> File {
    File {
        path,
        kind,
        content,
    }
}

pub(super) const FILES: [File; 11] = [
    file("/", HTML, include_str!("page/index.html")),
    file("/page/style.css", STYLE, include_str!("page/style.css")),
    file("/page/icon.svg", PICTURE, include_str!("page/icon.svg")),
    file("/page/main.js", SCRIPT, include_str!("page/main.js")),
    file("/page/api.js", SCRIPT, include_str!("page/api.js")),
    file("/page/show.js", SCRIPT, include_str!("page/show.js")),
    file("/page/map.js", SCRIPT, include_str!("page/map.js")),
    file("/page/rates.js", SCRIPT, include_str!("page/rates.js")),
    file("/page/leases.js", SCRIPT, include_str!("page/leases.js")),
    file("/page/inspect.js", SCRIPT, include_str!("page/inspect.js")),
    file(
        "/openapi.json",
        "application/json",
        include_str!("openapi.json"),
    ),
];

impl File {
    pub(super) fn route<S: Clone + Send + Sync + 'static>(&self) -> MethodRouter<S> {
        let (kind, content) = (self.kind, self.content);
        get(move || async move { answer(kind, content) })
    }
}

fn answer(kind: &'static str, content: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        // Another version of the server has other files.
        (CACHE_CONTROL, "no-cache"),
    ];
    let mut response = (headers, content).into_response();
    // It is in the program, and sent from there: however many guests ask for it, none makes the
    // server hold it.
    response.extensions_mut().insert(Paid);
    response
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use serde_json::Value;

    use super::*;
    use crate::service::{MAX_IDS, MAX_LEASES};
    use randflake_common::form::TextFormat;

    #[test]
    fn the_page_takes_at_most_50_kb() {
        let page = FILES.iter().filter(|file| file.path != "/openapi.json");
        let len: usize = page.map(|file| file.content.len()).sum();
        assert!(len <= 50_000, "{len} bytes");
    }

    /// However many guests ask for them and receive nothing.
    #[tokio::test]
    async fn files_are_sent_from_the_program() {
        for file in &FILES {
            let response = answer(file.kind, file.content);
            assert!(response.extensions().get::<Paid>().is_some());
            let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
            assert_eq!(body.as_ptr(), file.content.as_ptr(), "{}", file.path);
        }
    }

    #[test]
    fn the_description_has_the_limits_and_forms_of_the_code() {
        let description: Value = serde_json::from_str(include_str!("openapi.json")).unwrap();
        let at = |path: &str| description.pointer(path).unwrap();
        let count = "/paths/~1v1~1ids/get/parameters/1/schema/maximum";
        assert_eq!(*at(count), MAX_IDS);
        for leases in ["count/maximum", "node_ids/maxItems"] {
            let path = format!("/components/schemas/Acquire/properties/{leases}");
            assert_eq!(*at(&path), MAX_LEASES);
        }
        assert_eq!(
            *at("/components/schemas/Form/enum"),
            TextFormat::names().into_iter().collect::<Value>()
        );
    }
}
