//! What a store says of itself that must not grant anything.

use core::time::Duration;

use randflake_std::Randflake;
use randflake_std::lease::{Namespace, StoreError, Verdict};

use super::engine::Map;

#[test]
fn a_setting_that_loses_leases_hides_no_finding() {
    let map = Map::default();
    map.state().now = Duration::from_secs(1_800_000_000);
    let mut store = map.open(&Namespace::new("orders", Randflake).unwrap());
    store.administration().create_namespace().unwrap();
    map.state().fault = Some("it runs with fsync=off".to_owned());
    let refused = store.administration().create_namespace();
    assert!(
        matches!(refused, Err(StoreError::FailedPrecondition(_))),
        "{refused:?}"
    );
    let findings = store.administration().diagnose().unwrap();
    let names: Vec<_> = findings.iter().map(|finding| finding.name).collect();
    assert_eq!(names, ["setting", "quarantine"]);
    for finding in findings {
        let is_told = matches!(&finding.verdict, Verdict::Wrong(why) if why.contains("fsync=off"));
        assert!(is_told, "{finding:?}");
    }
}
