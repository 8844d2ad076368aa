//! A server on stores in memory, and its clients with their rights.

use core::time::Duration;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, process};

use axum::body::{Body, to_bytes};
use axum::http::request::Builder;
use axum::http::{HeaderMap, Request};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use randflake_std::lease::{MemoryStore, Namespace};
use randflake_std::randflake_core::{LayoutFields, LayoutSpec};
use randflake_std::{Id, Secret};
use serde_json::Value;
use tokio::runtime::{Builder as RuntimeBuilder, Runtime};

use crate::access::{Access, Hash};
use crate::budget::{MemoryBudget, MemoryLimits};
use crate::http::Http;
use crate::log::RequestLog;
use crate::service::Service;
use crate::service::served_namespace::{Leasing, ServedNamespace};

/// Of 2^20 ids a second and node id, so that no request waits for them: 30, 14 and 20 bits since
/// 2025-01-01.
const LAYOUT: LayoutSpec = LayoutSpec::declare(LayoutFields::in_order(
    [30, 14, 20],
    1_735_689_600_000,
    1_000,
));
/// What was granted stays granted, and is in the history: so often all begins anew.
const LIFE: u32 = 20_000;

/// The namespace that all tokens see but one.
pub(super) const SEEN: &str = "orders";
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

/// Identity that a request is made with.
#[derive(Clone, Copy)]
pub(super) struct Client {
    pub(super) token: Option<&'static str>,
    scopes: &'static str,
    pub(super) sees_all: bool,
}

impl Client {
    pub(super) fn of(digit: u8) -> Option<Self> {
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

    pub(super) fn has(self, scope: &str) -> bool {
        self.scopes.split(',').any(|own| own == scope)
    }

    pub(super) fn sees(self, namespace: &str) -> bool {
        namespace == SEEN || self.sees_all && namespace == HIDDEN
    }

    /// Its request, with its token and a host.
    pub(super) fn finish(self, request: Builder, body: Vec<u8>) -> Option<Request<Body>> {
        let request = match self.token {
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
        request.body(Body::from(body)).ok()
    }
}

/// A server, and how many requests it will still answer.
pub(super) struct World {
    runtime: Runtime,
    service: Arc<Service>,
    router: axum::Router,
    left: u32,
}

impl World {
    pub(super) fn new() -> Self {
        let runtime = RuntimeBuilder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let spaces = [SEEN, HIDDEN].map(space);
        let service = Arc::new(Service::new(spaces, access(), RequestLog::default()));
        let leasing = Leasing {
            node_ids: 16..=16,
            ttl: None,
            holder: None,
        };
        for space in service.spaces() {
            runtime.block_on(space.start(&leasing, |_, _| {})).unwrap();
        }
        let key = Secret::from_hex("f0e0d0c0b0a090807060504030201000").unwrap();
        let memory = Arc::new(MemoryBudget::new(MemoryLimits::default()));
        let idle = Duration::from_secs(3_600);
        let http = Http::new(
            Arc::clone(&service),
            memory,
            "memory".to_owned(),
            Some(key),
            idle,
        );
        Self {
            runtime,
            service,
            router: http.router,
            left: LIFE,
        }
    }

    /// Counts a request of a client.
    pub(super) fn is_used_up(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    pub(super) fn ask(&self, request: Request<Body>) -> (u16, HeaderMap, Vec<u8>) {
        let service = TowerToHyperService::new(self.router.clone());
        self.runtime.block_on(async {
            let (parts, body) = service.call(request).await.unwrap().into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap();
            (parts.status.as_u16(), parts.headers, body.to_vec())
        })
    }

    /// A request of the client to which the answer is known.
    pub(super) fn post(&self, client: Client, target: &str, body: &Value) -> (u16, Vec<u8>) {
        let request = Request::post(target).header("content-type", "application/json");
        let request = client.finish(request, body.to_string().into_bytes());
        let (status, _, body) = self.ask(request.unwrap());
        (status, body)
    }

    /// Whether these are ids of the namespace, made now.
    pub(super) fn check_ids(&self, namespace: &str, ids: impl IntoIterator<Item = Id>) {
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

fn space(name: &str) -> ServedNamespace {
    let namespace = Namespace::new(name, LAYOUT).unwrap();
    let key = format!("{:0<32}", if name == SEEN { 1 } else { 2 });
    let key = Secret::from_hex(&key).unwrap();
    let store = MemoryStore::with_system_clock(namespace.clone());
    let open = Box::new(move || Ok(store.clone().into()));
    ServedNamespace::new(namespace, Some(key.cipher().into()), open)
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
