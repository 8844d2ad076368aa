//! Diagnosis of a Redis server, from `INFO` and `CONFIG`.

use redis::InfoDict;

use super::connection::Connection;
use randflake_lease::unstable::engine::VERSION;
use randflake_lease::{EngineError, Finding};

/// All findings but the quarantine.
pub(crate) fn findings(connection: &mut Connection) -> Result<Vec<Finding>, EngineError> {
    let info: InfoDict = connection.run(|open| redis::cmd("INFO").query(&mut open.redis))?;
    // In this order: Valkey has both, and the second one says 7.2.4.
    let version = ["valkey_version", "redis_version"]
        .iter()
        .find_map(|&name| Some((name, info.get::<String>(name)?)));
    let version = version.map_or_else(
        || "unknown".to_owned(),
        |(name, version)| format!("{} {version}", name.trim_end_matches("_version")),
    );
    let policy: String = info.get("maxmemory_policy").unwrap_or_default();
    let settings = [eviction(&policy), durability(connection, &info)];
    let fingerprint = info.get("run_id").unwrap_or_default();
    let failover = Some(failover(&info));
    Ok(Finding::of_a_store(
        version,
        VERSION,
        settings,
        fingerprint,
        failover,
    ))
}

fn eviction(policy: &str) -> Finding {
    const NAME: &str = "maxmemory-policy";
    if policy.starts_with("allkeys") {
        return Finding::wrong(
            NAME,
            policy,
            "leases are forgotten when the memory is full: set noeviction",
        );
    }
    Finding::fine(NAME, policy)
}

/// What a crash of the server loses. That is noticed, so it costs time and no uniqueness.
fn durability(connection: &mut Connection, info: &InfoDict) -> Finding {
    const NAME: &str = "appendonly";
    const COST: &str = "after a crash of the server nothing is granted until all that it may have \
                        forgotten has expired";
    // Snapshots alone lose minutes.
    if info.get::<u8>("aof_enabled") != Some(1) {
        return Finding::caution(
            NAME,
            "no",
            format!("all leases are lost in a crash, and {COST}: set it to yes"),
        );
    }
    // Many users may not run `CONFIG`: a diagnosis without it is better than none.
    let setting: Result<(String, String), _> = connection.run(|open| {
        redis::cmd("CONFIG")
            .arg("GET")
            .arg("appendfsync")
            .query(&mut open.redis)
    });
    match setting {
        Ok((_, when)) if when == "always" => Finding::fine(NAME, "yes, appendfsync always"),
        Ok((_, when)) => Finding::caution(
            NAME,
            format!("yes, appendfsync {when}"),
            format!("the last second is lost in a crash, and {COST}: set appendfsync to always"),
        ),
        Err(_) => Finding::caution(NAME, "yes, appendfsync unknown", "the server does not tell"),
    }
}

/// Replication is asynchronous, so a promoted replica may lack the last leases.
fn failover(info: &InfoDict) -> Finding {
    let replicas: u32 = info.get("connected_slaves").unwrap_or(0);
    Finding::caution(
        "failover",
        format!("{replicas} replicas"),
        "a replica that takes over is in quarantine; but while clients reach two masters at once, both grant",
    )
}
