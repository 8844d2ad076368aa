use std::sync::mpsc;

use randflake_std::lease::MemoryStore;
use randflake_std::randflake_core::Layout as _;
use randflake_std::{Randflake, SystemClock};
use tokio::task::JoinSet;

use super::*;

fn space() -> Arc<ServedNamespace> {
    let namespace = Namespace::new("orders", Randflake::SPEC).unwrap();
    let store = MemoryStore::new(namespace.clone(), Arc::new(SystemClock));
    Arc::new(ServedNamespace::new(
        namespace,
        None,
        Box::new(move || Ok(store.clone().into())),
    ))
}

#[tokio::test]
async fn work_that_panics_is_a_defect_and_leaves_the_store_to_others() {
    let (space, principal) = (space(), Principal::anybody());
    // More often than there are sessions.
    for _ in 0..10 {
        let panicking = space.with_store::<()>(&principal, |_| panic!("the test does"));
        let refusal = panicking.await.unwrap_err();
        assert_eq!(
            (refusal.kind, refusal.kind.http()),
            (RefusalKind::Internal, 500)
        );
    }
    space.with_store(&principal, |_| Ok(())).await.unwrap();
}

#[tokio::test]
async fn there_is_a_session_for_others_however_much_one_token_asks() {
    let space = space();
    let [greedy, other] = ["greedy", "other"].map(|name| {
        let line = format!(
            "name={name} sha256={} scopes=leases namespaces=*",
            "0".repeat(64)
        );
        Arc::new(Principal::new(line.parse().unwrap(), None))
    });
    let (end, ended) = mpsc::channel::<()>();
    let ended = Arc::new(Mutex::new(ended));
    let mut working = JoinSet::new();
    for _ in 0..20 {
        let (space, greedy) = (Arc::clone(&space), Arc::clone(&greedy));
        let ended = Arc::clone(&ended);
        working.spawn(async move {
            let until_the_end = move |_: &mut LeaseStore| {
                _ = ended.lock().unwrap().recv();
                Ok(())
            };
            _ = space.with_store(&greedy, until_the_end).await;
        });
    }
    // All of them have asked.
    tokio::task::yield_now().await;
    space.with_store(&other, |_| Ok(())).await.unwrap();
    drop(end);
    working.join_all().await;
}
