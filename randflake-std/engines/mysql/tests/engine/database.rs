//! A database of a test, and leases in it.

use core::fmt::Debug;
use core::time::Duration;
use std::sync::Arc;

use harness::mariadb::{Client, MariadbServer};
use harness::server::Server;
use randflake_core::Randflake;
use randflake_lease::{AcquireRequest, Grant, LeaseStore, Namespace, NodeIds, StoreError, Token};
use randflake_mysql::MysqlStore;

use crate::new_database;
use randflake_lease::testkit::leases::declared_new;

pub(crate) const TTL: u64 = 60;

pub(crate) fn namespace() -> Namespace {
    Namespace::new("orders", Randflake).unwrap()
}

pub(crate) struct Database {
    pub(crate) server: Arc<MariadbServer>,
    pub(crate) name: String,
}

impl Database {
    pub(crate) fn new() -> Self {
        let (server, name) = new_database();
        Self { server, name }
    }

    /// On a server of its own.
    pub(crate) fn of(server: MariadbServer) -> Self {
        let create = "CREATE DATABASE IF NOT EXISTS ids";
        server.client(None).query_drop(create).unwrap();
        Self {
            server: Arc::new(server),
            name: "ids".to_owned(),
        }
    }

    /// The server, if it is its own.
    pub(crate) fn server(&mut self) -> &mut Server {
        &mut Arc::get_mut(&mut self.server).unwrap().server
    }

    pub(crate) fn url(&self, user: &str) -> String {
        let Self { server, name } = self;
        format!("mysql://{user}@127.0.0.1:{}/{name}", server.port)
    }

    pub(crate) fn open(&self) -> LeaseStore {
        self.open_as("root").unwrap()
    }

    pub(crate) fn open_as(&self, user: &str) -> Result<LeaseStore, StoreError> {
        self.open_of(user, &namespace())
    }

    pub(crate) fn open_of(
        &self,
        user: &str,
        namespace: &Namespace,
    ) -> Result<LeaseStore, StoreError> {
        // The place is the database, for every user.
        declared_new(&self.url(""), MysqlStore::open(&self.url(user), namespace)?)
    }

    /// A store with a lease that was renewed, and the lease.
    pub(crate) fn holder(&self) -> (LeaseStore, Grant) {
        let mut store = self.open();
        let mut grant = acquire(&mut store, 1).unwrap()[0];
        grant.end = store.renew(&[grant], TTL).unwrap().ends[0].unwrap();
        (store, grant)
    }

    pub(crate) fn client(&self) -> Client {
        self.server.client(Some(&self.name))
    }

    pub(crate) fn do_all(&self, statements: &[&str]) {
        let mut client = self.client();
        for statement in statements {
            client.query_drop(statement).unwrap();
        }
    }
}

pub(crate) fn acquire(store: &mut LeaseStore, count: u32) -> Result<Vec<Grant>, StoreError> {
    acquire_for(store, count, TTL)
}

pub(crate) fn acquire_for(
    store: &mut LeaseStore,
    count: u32,
    ttl: u64,
) -> Result<Vec<Grant>, StoreError> {
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "holder",
        nodes: NodeIds::Any(count),
        ttl,
    });
    acquired.map(|acquired| acquired.grants)
}

pub(crate) fn assert_quarantined(store: &mut LeaseStore) {
    let refused = acquire(store, 1).unwrap_err();
    let StoreError::Quarantined { retry_in, .. } = refused else {
        panic!("{refused:?}")
    };
    assert!(retry_in > Duration::from_secs(TTL), "{retry_in:?}");
}

pub(crate) fn assert_failed_precondition<T: Debug>(outcome: Result<T, StoreError>, named: &str) {
    let error = outcome.unwrap_err();
    assert!(
        matches!(error, StoreError::FailedPrecondition(_)),
        "{error:?}"
    );
    assert!(error.to_string().contains(named), "{error}");
}
