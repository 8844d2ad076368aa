//! Any request of any client: what the HTTP server answers to it, in process. A module of the tool when it is compiled for
//! fuzzing.
//!
//! Input is a digit for who asks, then the request as text: `1GET /v1/ids?count=3`, lines of headers, an empty line, the
//! body.

use core::net::{Ipv4Addr, SocketAddr};
use core::str;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, process};

use axum::body::{Body, to_bytes};
use axum::extract::Query;
use axum::http::request::{Builder, Parts};
use axum::http::{HeaderMap, Method, Request, Uri};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use libfuzzer_sys::{Corpus, fuzz_target};
use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::{Id, Secret, SystemClock};
use serde_json::Value;
use tokio::runtime::{Builder as RuntimeBuilder, Runtime};

use super::Http;
use super::files::FILES;
use super::noted::Peer;
use crate::layout::Chosen;
use crate::serve::access::{Access, Hash};
use crate::serve::log::Log;
use crate::serve::service::Service;
use crate::serve::service::space::{Configured, Leasing, Space};

/// Of 2^20 ids a second and node id, so that no request waits for them.
const LAYOUT: &str = "encrypted:custom:30,14,20@2025-01-01/1000";
/// The namespace that all tokens see but one.
const SEEN: &str = "orders";
/// The namespace that one token sees.
const HIDDEN: &str = "hidden";
/// Tokens: who has it, what for, and where. Two more clients have an unknown one and none.
const TOKENS: [(&str, &str, &str); 5] = [
    ("ids", "ids", SEEN),
    ("leases", "leases", SEEN),
    ("inspect", "inspect", SEEN),
    ("admin", "admin", SEEN),
    ("all", "ids,leases,inspect,admin", "*"),
];
const UNKNOWN: &str = "unknown";
/// Statuses that are the server's own.
const STATUSES: [u16; 15] = [
    200, 201, 204, 400, 401, 403, 404, 405, 406, 408, 409, 413, 415, 429, 503,
];
/// What was granted stays granted, and is in the history: so often all begins anew.
const LIFE: u32 = 20_000;

/// A server, and how many requests it will still answer.
struct World {
    runtime: Runtime,
    service: Arc<Service>,
    router: axum::Router,
    left: u32,
}

/// Identity that a request is made with.
#[derive(Clone, Copy)]
struct Client {
    token: Option<&'static str>,
    scopes: &'static str,
    sees_all: bool,
}

impl Client {
    fn of(digit: u8) -> Option<Self> {
        let nobody = |token| Self {
            token,
            scopes: "",
            sees_all: false,
        };
        let number = usize::from(digit.checked_sub(b'0')?);
        Some(match (number, TOKENS.get(number)) {
            (_, Some(&(name, scopes, namespaces))) => Self {
                token: Some(name),
                scopes,
                sees_all: namespaces == "*",
            },
            (5, None) => nobody(Some(UNKNOWN)),
            (6, None) => nobody(None),
            _ => return None,
        })
    }

    fn has(self, scope: &str) -> bool {
        self.scopes.split(',').any(|own| own == scope)
    }

    fn sees(self, namespace: &str) -> bool {
        namespace == SEEN || self.sees_all && namespace == HIDDEN
    }
}

impl World {
    fn new() -> Self {
        let runtime = RuntimeBuilder::new_current_thread().enable_all().build();
        let runtime = runtime.unwrap();
        let spaces = [SEEN, HIDDEN].map(space);
        let service = Arc::new(Service::new(spaces, access(), Log::default()));
        let leasing = Leasing {
            node_ids: 16..=16,
            ttl: randflake_std::DEFAULT_TTL,
            holder: None,
        };
        for space in service.spaces() {
            runtime.block_on(space.start(&leasing, |_, _| {})).unwrap();
        }
        let key = Secret::from_hex("f0e0d0c0b0a090807060504030201000").unwrap();
        let http = Http::new(Arc::clone(&service), "memory".to_owned(), Some(key));
        Self {
            runtime,
            service,
            router: http.router,
            left: LIFE,
        }
    }

    fn ask(&self, request: Request<Body>) -> (u16, HeaderMap, Vec<u8>) {
        let service = TowerToHyperService::new(self.router.clone());
        self.runtime.block_on(async {
            let (parts, body) = service.call(request).await.unwrap().into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap();
            (parts.status.as_u16(), parts.headers, body.to_vec())
        })
    }

    /// A request of the client to which the answer is known.
    fn post(&self, client: Client, target: &str, body: &Value) -> (u16, Vec<u8>) {
        let request = Request::post(target).header("content-type", "application/json");
        let request = finish(request, client, body.to_string().into_bytes());
        let (status, _, body) = self.ask(request.unwrap());
        (status, body)
    }

    /// Whether these are ids of the namespace, made now.
    fn check_ids(&self, namespace: &str, ids: impl IntoIterator<Item = Id>) {
        let mut spaces = self.service.spaces();
        let space = spaces.find(|space| space.name() == namespace).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let now = u64::try_from(now.as_millis()).unwrap();
        for id in ids {
            let spec = space.namespace().spec();
            let made = spec.unix_ms(space.codec().inspect(id).tick);
            assert!(made.abs_diff(now) < 600_000, "an id of another namespace");
        }
    }
}

fn space(name: &str) -> Space {
    let layout: Chosen = LAYOUT.parse().unwrap();
    let namespace = Namespace::new(name, layout.spec()).unwrap();
    let key = format!("{:0<32}", if name == SEEN { 1 } else { 2 });
    let key = Secret::from_hex(&key).unwrap();
    let store = MemoryStore::new(namespace.clone(), Arc::new(SystemClock));
    Space::new(Configured {
        namespace,
        cipher: Some(key.cipher()),
        open: Box::new(move || Ok(store.clone().into())),
    })
}

fn access() -> Access {
    let path = env::temp_dir().join(format!("randflake-fuzz-{}", process::id()));
    let lines = TOKENS.map(|(name, scopes, namespaces)| {
        let hash = Hash::of(name.as_bytes());
        format!("name={name} sha256={hash} scopes={scopes} namespaces={namespaces}\n")
    });
    fs::write(&path, lines.concat()).unwrap();
    let access = Access::from_file(path.clone()).unwrap();
    fs::remove_file(path).unwrap();
    access
}

/// The request, if it is one that the HTTP library would hand over.
fn read(text: &[u8], client: Client) -> Option<(Parts, Request<Body>)> {
    let end = text.windows(2).position(|two| two == b"\n\n");
    let (head, body) = end.map_or((text, &b""[..]), |end| (&text[..end], &text[end + 2..]));
    let mut lines = head.split(|&byte| byte == b'\n');
    let mut words = lines.next()?.split(|&byte| byte == b' ');
    let method = Method::from_bytes(words.next()?).ok()?;
    let target = Uri::try_from(words.next()?).ok()?;
    let mut request = Request::builder().method(method).uri(target);
    for line in lines {
        let colon = line.iter().position(|&byte| byte == b':')?;
        request = request.header(&line[..colon], line[colon + 1..].trim_ascii());
    }
    let request = finish(request, client, body.to_vec())?;
    let (parts, body) = request.into_parts();
    Some((parts.clone(), Request::from_parts(parts, body)))
}

fn finish(request: Builder, client: Client, body: Vec<u8>) -> Option<Request<Body>> {
    let request = match client.token {
        Some(token) => request.header("authorization", format!("Bearer {token}")),
        None => request,
    };
    let has_host = request
        .headers_ref()
        .is_some_and(|headers| headers.contains_key("host"));
    let request = match has_host {
        true => request,
        false => request.header("host", "localhost"),
    };
    let peer = Peer(SocketAddr::from((Ipv4Addr::LOCALHOST, 1)));
    request.extension(peer).body(Body::from(body)).ok()
}

/// What a refusal says.
fn check_problem(status: u16, headers: &HeaderMap, body: &[u8]) {
    assert_eq!(headers["content-type"], "application/problem+json");
    let problem: Value = serde_json::from_slice(body).unwrap();
    let problem = problem.as_object().unwrap();
    let known = ["type", "title", "status", "detail", "retry_in_ms"];
    assert!(problem.keys().all(|key| known.contains(&&**key)));
    let kind = problem["type"].as_str().unwrap();
    let kind = kind.strip_prefix("urn:randflake:problem:").unwrap();
    assert_eq!(problem["status"], status);
    assert!(!problem["title"].as_str().unwrap().is_empty());
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        !detail.is_empty() && !detail.contains(char::is_control),
        "{detail:?}"
    );
    // Node ids run out; nothing else is the server's trouble, and no request is made the store's.
    assert!(status < 500 || kind == "busy", "{detail}");
    assert!(!detail.contains("quarantine"), "{detail}");
}

/// Every namespace that a document names is one that the client sees.
fn check_namespaces(client: Client, value: &Value) {
    match value {
        Value::Array(values) => values
            .iter()
            .for_each(|value| check_namespaces(client, value)),
        Value::Object(members) => {
            if let Some(Value::String(name)) = members.get("namespace") {
                assert!(client.sees(name), "{name}");
            }
            for own in members
                .get("namespaces")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                assert!(client.sees(own["name"].as_str().unwrap()));
            }
            members
                .values()
                .for_each(|value| check_namespaces(client, value));
        }
        _ => {}
    }
}

/// What the client must have for that path.
fn check_right(client: Client, method: &Method, path: &str) {
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    let is_free =
        path == "/healthz" || path == "/readyz" || FILES.iter().any(|file| file.path == path);
    let allowed = match path {
        _ if is_free => is_read,
        "/v1/ids" => is_read && client.has("ids"),
        "/v1/leases" if is_read => client.has("leases") || client.has("admin"),
        "/v1/leases" | "/v1/leases/renew" | "/v1/leases/release" | "/v1/tickets" => {
            *method == Method::POST && client.has("leases")
        }
        "/v1/inspect" => (is_read || *method == Method::POST) && client.has("inspect"),
        "/v1/explain" => is_read && client.has("inspect"),
        "/v1/devices" => (is_read || *method == Method::POST) && client.has("admin"),
        "/v1/status" | "/metrics" => is_read && client.has("admin"),
        _ => false,
    };
    assert!(allowed, "{method} {path}");
}

/// As many ids as were asked for, in the form that was chosen.
fn check_ids(world: &World, asked: &Parts, client: Client, headers: &HeaderMap, body: &[u8]) {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&asked.uri).unwrap();
    let find = |name| {
        pairs
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| &**value)
    };
    let count: usize = find("count").map_or(1, |count| count.parse().unwrap());
    let namespace = find("namespace").unwrap_or(SEEN);
    assert!(client.sees(namespace));
    let kind = headers["content-type"].to_str().unwrap();
    let ids: Vec<Id> = match kind.split(';').next().unwrap() {
        "application/octet-stream" => {
            let (ids, rest) = body.as_chunks();
            assert!(rest.is_empty());
            let ids = ids.iter();
            ids.map(|&id| Id::from_u64(u64::from_le_bytes(id)))
                .collect()
        }
        "text/plain" => {
            let text = str::from_utf8(body).unwrap();
            let is_int = find("format") == Some("int");
            let read = |line: &str| match is_int {
                true => Id::from_i64(line.parse().unwrap()),
                false => line.parse().unwrap(),
            };
            text.lines().map(read).collect()
        }
        "application/json" => {
            let document: Value = serde_json::from_slice(body).unwrap();
            let ids = document["ids"].as_array().unwrap().iter();
            ids.map(|id| id["text"].as_str().unwrap().parse().unwrap())
                .collect()
        }
        other => panic!("{other}"),
    };
    assert_eq!(ids.len(), count);
    world.check_ids(namespace, ids);
}

/// As many leases as were asked for, which their client renews and releases.
fn check_leases(world: &World, client: Client, asked: &[u8], granted: &Value) {
    let asked: Value = serde_json::from_slice(asked).unwrap();
    let nodes = asked["node_ids"].as_array();
    let count = nodes.map_or(asked["count"].as_u64().unwrap_or(1), |nodes| {
        nodes.len() as u64
    });
    assert_eq!(granted["leases"].as_array().unwrap().len() as u64, count);
    let renew = "/v1/leases/renew?request=renewal-1";
    let (status, renewed) = world.post(client, renew, granted);
    assert_eq!(status, 200);
    let renewed: Value = serde_json::from_slice(&renewed).unwrap();
    let start = &granted["leases"][0]["start_unix_ms"];
    let release = format!("/v1/leases/release?request=release-1&unused_from_unix_ms={start}");
    // A copy of the document from before the renewal.
    assert_eq!(world.post(client, &release, granted).0, 409);
    assert_eq!(world.post(client, &release, &renewed).0, 204);
}

fn check(world: &World, client: Client, asked: &Parts, sent: &[u8], request: Request<Body>) -> u16 {
    let (status, headers, body) = world.ask(request);
    assert!(STATUSES.contains(&status), "{status}");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    if asked.method == Method::HEAD {
        assert!(body.is_empty());
        return status;
    }
    if status >= 400 {
        check_problem(status, &headers, &body);
        return status;
    }
    let path = asked.uri.path();
    check_right(client, &asked.method, path);
    let json = headers
        .get("content-type")
        .is_some_and(|kind| kind == "application/json");
    let document: Value = if json {
        serde_json::from_slice(&body).unwrap()
    } else {
        Value::Null
    };
    if path != "/openapi.json" {
        check_namespaces(client, &document);
    }
    match (path, status) {
        ("/v1/ids", 200) => check_ids(world, asked, client, &headers, &body),
        ("/v1/leases", 201) => check_leases(world, client, sent, &document),
        ("/metrics", 200) => {
            let text = str::from_utf8(&body).unwrap();
            assert!(client.sees_all || !text.contains("namespace=\"hidden\""));
        }
        _ => {}
    }
    status
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((&digit, text)) = input.split_first() else {
        return Corpus::Reject;
    };
    let Some(client) = Client::of(digit) else {
        return Corpus::Reject;
    };
    let Some((asked, request)) = read(text, client) else {
        return Corpus::Reject;
    };
    let sent = text
        .windows(2)
        .position(|two| two == b"\n\n")
        .map_or(&b""[..], |end| &text[end + 2..]);
    WORLD.with_borrow_mut(|world| {
        let now = world.get_or_insert_with(World::new);
        now.left -= 1;
        let status = check(now, client, &asked, sent, request);
        if now.left == 0 || status == 503 {
            *world = None;
        }
    });
    Corpus::Keep
});
