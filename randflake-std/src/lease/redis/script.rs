//! The operations, each one script that the server runs as a whole.

use core::time::Duration;

use redis::{Script, ScriptInvocation, Value, from_redis_value_ref};

use super::connection::Connection;
use super::rights;
use crate::lease::Grant;
use crate::lease::moment::Moment;
use crate::lease::{MAX_SKEW, Namespace, Record, StoreError, Token};

/// Lua's numbers are exact up to here.
const LARGEST: u64 = 1 << 53;

macro_rules! script {
    ($name:literal) => {
        Script::new(concat!(
            include_str!("lua/rights.lua"),
            include_str!("lua/begin.lua"),
            include_str!($name)
        ))
    };
}

/// All of them, by what they do.
#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) open: Script,
    pub(super) acquire: Script,
    pub(super) renew: Script,
    pub(super) release: Script,
    pub(super) fence: Script,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self {
            open: script!("lua/open.lua"),
            acquire: script!("lua/acquire.lua"),
            renew: script!("lua/renew.lua"),
            release: script!("lua/release.lua"),
            fence: script!("lua/fence.lua"),
        }
    }
}

/// What every script is told.
#[derive(Debug)]
pub(super) struct Context<'s> {
    pub(super) namespace: &'s Namespace,
    /// In the place of the server's clock.
    pub(super) now: Option<Duration>,
    /// The latest end of a lease that this process has seen; none before it has seen the namespace.
    pub(super) seen_end: Option<u64>,
    /// The longest TTL, if the namespace has to be created.
    pub(super) max_ttl: Duration,
}

impl Context<'_> {
    /// The script with what all are told; an operation adds its own.
    pub(super) fn invocation<'a>(&self, script: &'a Script) -> ScriptInvocation<'a> {
        let mut invocation = script.prepare_invoke();
        for key in keys(self.namespace) {
            invocation.key(key);
        }
        let spec = self.namespace.spec();
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        invocation
            .arg(self.now.map_or(String::new(), |now| ms(now).to_string()))
            .arg(self.namespace.node_ids())
            .arg(spec.epoch_unix_ms())
            .arg(spec.tick_ms())
            .arg(ms(self.max_ttl).min(LARGEST / 2))
            .arg(ms(MAX_SKEW))
            .arg(spec.max_tick().saturating_add(1).min(LARGEST))
            .arg(u8::from(self.seen_end.is_some()))
            .arg(self.seen_end.unwrap_or(0));
        invocation
    }

    /// Runs a script.
    pub(super) fn run(
        &self,
        connection: &mut Connection,
        invocation: &ScriptInvocation<'_>,
    ) -> Result<Reply, StoreError> {
        let values: Vec<Value> = connection.run(|redis| invocation.invoke(redis))?;
        Reply::read(&values, self.namespace)
    }
}

/// The keys of a namespace. What stands in braces places them all on one node of a cluster.
pub(super) fn keys(namespace: &Namespace) -> [String; 4] {
    ["namespace", "ends", "leases", "tokens"]
        .map(|part| format!("randflake:{{{}}}:{part}", namespace.name()))
}

/// What a script has answered that did its work.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) now: Moment,
    /// The latest end of all leases.
    pub(super) latest_end: u64,
    rest: Vec<Value>,
}

impl Reply {
    fn read(values: &[Value], namespace: &Namespace) -> Result<Self, StoreError> {
        let [status, rest @ ..] = values else {
            return Err(not_understood());
        };
        let status: String = from_redis_value_ref(status).map_err(|_| not_understood())?;
        if status == "rights" {
            let lacking = rest.iter().map(from_redis_value_ref::<String>);
            let lacking: Result<Vec<_>, _> = lacking.collect();
            return Err(rights::lacking(&lacking.map_err(|_| not_understood())?));
        }
        let [now_ms, rest @ ..] = rest else {
            return Err(not_understood());
        };
        let number = |at: usize| integer(rest.get(at));
        let now = Moment::at(
            Duration::from_millis(integer(Some(now_ms))?),
            namespace.spec(),
        )?;
        match &*status {
            "ok" => Ok(Self {
                now,
                latest_end: number(0)?,
                rest: rest.get(1..).unwrap_or_default().to_vec(),
            }),
            "fenced" => Err(StoreError::Fenced {
                retry_in: now.until(number(0)?),
            }),
            "exhausted" => Err(StoreError::Exhausted {
                retry_in: now.until(number(0)?),
            }),
            "foreign" => Err(StoreError::Foreign),
            "past" => Err(now.end_after(1).err().unwrap_or_else(not_understood)),
            "ttl" => {
                let longest = Duration::from_millis(number(0)?);
                let refused = StoreError::check_ttl(number(1)?, namespace, longest);
                Err(refused.err().unwrap_or_else(not_understood))
            }
            "layout" => {
                let refused = namespace.check_layout(number(0)?, number(1)?, number(2)?);
                Err(refused.err().unwrap_or_else(not_understood))
            }
            "version" => Err(StoreError::Unusable(format!(
                "a newer randflake made the namespace {:?} on this Redis server (version {}; this one \
                 knows {VERSION}): update this one",
                namespace.name(),
                number(0)?
            ))),
            _ => Err(not_understood()),
        }
    }

    /// The numbers behind the status; what is negative is none.
    pub(super) fn numbers(&self) -> Result<Vec<Option<u64>>, StoreError> {
        let numbers = self.rest.iter().map(|value| match value {
            Value::Int(number) => Ok(u64::try_from(*number).ok()),
            _ => Err(not_understood()),
        });
        numbers.collect()
    }

    pub(super) fn number(&self, at: usize) -> Result<u64, StoreError> {
        integer(self.rest.get(at))
    }

    /// Grants of one token, four numbers each.
    pub(super) fn grants(&self, token: Token) -> Result<Vec<Grant>, StoreError> {
        let numbers: Option<Vec<u64>> = self.numbers()?.into_iter().collect();
        let numbers = numbers.ok_or_else(not_understood)?;
        let (grants, []) = numbers.as_chunks() else {
            return Err(not_understood());
        };
        let grants = grants.iter().map(|&[node_id, start, end, fencing_token]| {
            Ok(Grant {
                node_id: u32::try_from(node_id).map_err(|_| not_understood())?,
                start,
                end,
                fencing_token,
                token,
            })
        });
        grants.collect()
    }
}

/// Of what a namespace keeps.
pub(super) const VERSION: u32 = 1;

/// A lease as the server keeps it, under its node id and with its end.
pub(super) fn record(node_id: u32, end: f64, lease: &str) -> Option<Record> {
    let mut parts = lease.splitn(5, ':').skip(1);
    let start = parts.next()?.parse().ok()?;
    let fencing_token = parts.next()?.parse().ok()?;
    let token = u128::from_str_radix(parts.next()?, 16).ok()?;
    Some(Record {
        grant: Grant {
            node_id,
            start,
            end: tick(end),
            fencing_token,
            token: Token::from_bytes(token.to_be_bytes()),
        },
        holder: parts.next()?.to_owned(),
    })
}

/// A score of a sorted set, which is always a whole number here.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ticks are below 2^53, and a cast saturates"
)]
fn tick(score: f64) -> u64 {
    score as u64
}

fn integer(value: Option<&Value>) -> Result<u64, StoreError> {
    let value = value.ok_or_else(not_understood)?;
    from_redis_value_ref(value).map_err(|_| not_understood())
}

pub(super) fn not_understood() -> StoreError {
    StoreError::unavailable("the Redis server's reply is not understood")
}
