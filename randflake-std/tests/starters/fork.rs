//! A forked child has its parent's store, and must not speak on its connection: replies would go to
//! either of them.

use core::mem::MaybeUninit;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};

use harness::etcd::EtcdCluster;
use harness::mariadb::MariadbServer;
use harness::postgres::PostgresServer;
use harness::redis::RedisServer;
use randflake_std::lease::{AcquireRequest, NodeIds, StoreError, Token, open};

use crate::{acquire_when_due, declare_new, namespace};

pub(crate) fn redis() {
    let server = RedisServer::start();
    a_child_has_a_connection_of_its_own(&server.url());
}

/// A child that ends, or drops its parent's store, does not end its parent's lock on the directory,
/// and one that goes on does not keep it.
pub(crate) fn sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("leases.db").display());
    let delete_all = || {
        for entry in fs::read_dir(folder.path()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
    };
    let granted = || {
        let mut store = open(&url, &namespace()).unwrap();
        let request = AcquireRequest {
            token: Token::random().unwrap(),
            holder: "holder",
            nodes: NodeIds::Any(1),
            ttl: 60,
        };
        acquire_when_due(&mut store, &request).map(|_| store)
    };
    let mut store = Some(granted().unwrap());
    assert!(in_child(|| store.take().is_some()));
    assert!(in_child(|| store.as_mut().unwrap().list().is_ok()));
    delete_all();
    assert!(in_child(|| matches!(
        granted(),
        Err(StoreError::Quarantined { .. })
    )));

    beside_a_child(|| {
        drop(store);
        delete_all();
        assert!(granted().is_ok());
    });
}

pub(crate) fn etcd() {
    let cluster = EtcdCluster::start(1);
    a_child_has_a_connection_of_its_own(&cluster.url());
}

pub(crate) fn postgres() {
    let server = PostgresServer::start();
    a_child_has_a_connection_of_its_own(&server.url("postgres"));
}

pub(crate) fn mariadb() {
    let server = MariadbServer::start();
    let create = "CREATE DATABASE ids";
    server.client(None).query_drop(create).unwrap();
    a_child_has_a_connection_of_its_own(&server.url("ids"));
}

fn a_child_has_a_connection_of_its_own(url: &str) {
    let mut store = open(url, &namespace()).unwrap();
    declare_new(url);
    let acquired = store.acquire(&AcquireRequest {
        token: Token::random().unwrap(),
        holder: "parent",
        nodes: NodeIds::Any(1),
        ttl: 60,
    });
    let grants = acquired.unwrap().grants;
    let connected = sockets();
    let all_is_well_in_child = in_child(|| {
        let inherited = sockets();
        // It must not panic: it would go on with the parent's tests.
        let is_listed = store.list().is_ok_and(|listed| {
            let first = listed.first();
            first.is_some_and(|first| first.grant == grants[0])
        });
        is_listed && sockets().difference(&inherited).next().is_some()
    });
    assert!(all_is_well_in_child);
    // Nor has it closed its parent's; and one that has no use for the store drops it.
    let mut store = Some(store);
    assert!(in_child(|| store.take().is_some()));
    let mut store = store.unwrap();
    assert!(store.renew(&grants, 60).unwrap().ends[0].is_ok());
    assert_eq!(sockets(), connected);
}

/// The numbers by which the kernel knows this process's sockets.
#[expect(unsafe_code, reason = "only the system knows them")]
fn sockets() -> BTreeSet<libc::ino_t> {
    let of = |descriptor| {
        let mut status = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: it writes to the status alone, and refuses a descriptor that is not open.
        if unsafe { libc::fstat(descriptor, status.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: the call has succeeded, so it has written all of it.
        let status = unsafe { status.assume_init() };
        (status.st_mode & libc::S_IFMT == libc::S_IFSOCK).then_some(status.st_ino)
    };
    (0..1_024).filter_map(of).collect()
}

/// Does something while a child is there, which has all that its parent had open.
#[expect(unsafe_code, reason = "forking is a system call")]
fn beside_a_child(work: impl FnOnce()) {
    let (mut reader, writer) = io::pipe().unwrap();
    // SAFETY: no other thread of this process does anything, and the child leaves by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        drop(writer);
        let read = reader.read_to_end(&mut Vec::new());
        // SAFETY: it ends the child at once.
        unsafe { libc::_exit(i32::from(read.is_err())) };
    }
    work();
    drop(writer);
    // SAFETY: the child was just made, and no status is asked for.
    let ended = unsafe { libc::waitpid(child, core::ptr::null_mut(), 0) };
    assert_eq!(ended, child);
}

/// What a child finds.
#[expect(unsafe_code, reason = "forking is a system call")]
fn in_child(is_well: impl FnOnce() -> bool) -> bool {
    // SAFETY: no other thread of this process does anything, and the child leaves by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let code = i32::from(!is_well());
        // SAFETY: it ends the child at once.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: the child was just made, and the status is a local of the right type.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}
