//! What a store says of itself.

use randflake_std::lease::{Finding, LeaseStore, Verdict};

use super::{Backend, acquire_one, eight};

fn fence(store: &mut dyn LeaseStore) -> Finding {
    let findings = store.diagnose().unwrap();
    let wrong = |finding: &Finding| matches!(finding.verdict, Verdict::Wrong(_));
    assert!(!findings.iter().any(wrong), "{findings:?}");
    let fence = findings.into_iter().find(|finding| finding.name == "fence");
    fence.unwrap()
}

pub(crate) fn a_diagnosis_tells_of_the_fence_and_changes_nothing(backend: &impl Backend) {
    let mut store = backend.open(&eight("orders")).unwrap();
    acquire_one(&mut *store, 1);
    let before = store.list().unwrap();
    assert_eq!(fence(&mut *store), Finding::fine("fence", "none"));
    assert_eq!(store.list().unwrap(), before);

    let wait = store.fence().unwrap();
    let raised = fence(&mut *store);
    assert!(matches!(raised.verdict, Verdict::Caution(_)), "{raised:?}");
    assert!(raised.value.contains(" 3"), "{raised:?}");
    backend.pass(wait);
    assert_eq!(fence(&mut *store), Finding::fine("fence", "none"));
    acquire_one(&mut *store, 2);
}
