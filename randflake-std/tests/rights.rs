//! Who may have made the tables and functions in a database, and with which rights they are used: nobody's
//! code is run who is not trusted, and the roles of the guide are enough.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[expect(dead_code, reason = "other tests do more to servers")]
mod engines;
#[path = "rights/postgres.rs"]
mod postgres;
#[expect(dead_code, reason = "other tests do more with the tool")]
#[path = "cli/user.rs"]
mod user;

use randflake_std::Randflake;
use randflake_std::lease::{
    AcquireRequest, Grant, LeaseStore, Namespace, Renewed, StoreError, Token, open,
};
use randflake_std::segment;

const GUIDE: &str = include_str!("../../docs/databases.md");

fn namespace() -> Namespace {
    Namespace::of::<Randflake>("orders").unwrap()
}

/// The statements of one block of SQL below a heading of the guide.
fn guide(heading: &str, block: usize) -> impl Iterator<Item = &'static str> {
    let section = GUIDE.split_once(&format!("\n## {heading}\n")).unwrap().1;
    let section = section.split("\n## ").next().unwrap();
    let sql = section.split("```sql\n").nth(block + 1).unwrap();
    let statements = sql.split("```").next().unwrap().split(';');
    statements.map(str::trim).filter(|one| !one.is_empty())
}

fn refused(url: &str) -> String {
    let error = open(url, &namespace()).unwrap_err();
    assert!(matches!(error, StoreError::Unusable(_)), "{error:?}");
    error.to_string()
}

/// A lease's whole life, and a segment.
fn uses(url: &str) -> Result<(), StoreError> {
    let mut store = open(url, &namespace())?;
    let grants = acquired(&mut *store)?;
    let Renewed { ends, .. } = store.renew(&grants, 120)?;
    assert!(ends.iter().all(Option::is_some), "{ends:?}");
    assert!(store.list()?.len() >= grants.len());
    let unused = grants.iter().map(|&grant| Grant {
        end: grant.start,
        ..grant
    });
    store.release(&unused.collect::<Vec<_>>())?;
    store.diagnose()?;
    segment::open(url, &namespace())?.reserve(10)?;
    store.fence()?;
    Ok(())
}

fn acquired(store: &mut dyn LeaseStore) -> Result<Vec<Grant>, StoreError> {
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        count: 2,
        ttl: 60,
    });
    Ok(acquired?.grants)
}
