//! Quarantines in ticks that divide neither a TTL nor the skew.

use core::time::Duration;

use randflake_core::{LayoutFields, LayoutSpec};
use randflake_std::lease::{
    AcquireRequest, Grant, MAX_SKEW, Namespace, NodeIds, StoreError, Token,
};
use randflake_std::unstable::rules::Key;

use super::engine::Map;

/// Positions within a tick at which a quarantine begins.
const POSITIONS: u64 = 64;

fn acquire(map: &Map, namespace: &Namespace) -> Result<Grant, StoreError> {
    let acquired = map.open(namespace).acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::These(&[1]),
        ttl: namespace.ticks(namespace.max_ttl()),
    })?;
    Ok(acquired.grants[0])
}

/// The clock that grants is ahead by as much as is allowed of the one that sets the quarantine. Rounded up together, the
/// TTL and the skew are up to a tick shorter than each alone.
#[test]
fn a_quarantine_outlasts_every_lease_in_any_tick() {
    for (tick_ms, longest) in [(64_000, 40), (8_000, 60), (1_000, 60), (256, 60)] {
        let layout = LayoutSpec::new(LayoutFields::in_order(
            [30, 3, 17],
            1_700_000_000_000,
            tick_ms,
        ))
        .unwrap();
        let longest = Duration::from_secs(longest);
        let namespace = Namespace::new("orders", layout)
            .unwrap()
            .with_max_ttl(longest);
        for position in 0..POSITIONS {
            let begun = Duration::from_millis(1_800_000_000_000 + position * tick_ms / POSITIONS);
            let map = Map::default();
            map.state().now = begun + 2 * MAX_SKEW;
            let forgotten = acquire(&map, &namespace).unwrap();
            {
                let mut state = map.state();
                state.texts.retain(|key, _| *key == Key::Namespace);
                "after a restart".clone_into(&mut state.fingerprint);
                state.now = begun;
            }
            let refused = acquire(&map, &namespace);
            let Err(StoreError::Quarantined { quarantine, .. }) = refused else {
                panic!("{refused:?}");
            };
            map.state().now = quarantine.until;
            let next = acquire(&map, &namespace).unwrap();
            assert!(
                next.start >= forgotten.end,
                "ticks of {tick_ms} ms, position {position}: {next:?} after {forgotten:?}"
            );
        }
    }
}
