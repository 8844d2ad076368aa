//! What a store says of itself.

use crate::store::LeaseStore;
use crate::types::{Finding, Verdict};

use super::{Backend, acquire_one, eight};

fn quarantine(store: &mut LeaseStore) -> Finding {
    let findings = store.administration().diagnose().unwrap();
    let wrong = |finding: &Finding| matches!(finding.verdict, Verdict::Wrong(_));
    assert!(!findings.iter().any(wrong), "{findings:?}");
    let quarantine = findings
        .into_iter()
        .find(|finding| finding.name == "quarantine");
    quarantine.unwrap()
}

pub fn a_diagnosis_tells_of_the_quarantine_and_changes_nothing(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    acquire_one(&mut store, 1);
    let before = store.list().unwrap();
    assert_eq!(quarantine(&mut store), Finding::fine("quarantine", "none"));
    assert_eq!(store.list().unwrap(), before);

    let wait = store.administration().start_quarantine().unwrap();
    let raised = quarantine(&mut store);
    assert!(matches!(raised.verdict, Verdict::Caution(_)), "{raised:?}");
    assert!(raised.value.starts_with("until 20"), "{raised:?}");
    backend.pass(wait);
    assert_eq!(quarantine(&mut store), Finding::fine("quarantine", "none"));
    acquire_one(&mut store, 2);
}
