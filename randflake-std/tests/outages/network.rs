//! Members of an etcd cluster on machines of their own, whose links are cut: silently, as cables
//! are.

use core::net::{Ipv4Addr, SocketAddrV4};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use harness::etcd::{EtcdCluster, Place};
use harness::isolation::ip;
use libtest_mimic::Trial;
use randflake_std::lease::{Acquisition, LeaseStore, StoreError, Token};

use crate::clients::{Clients, SHORT, acquire, open};
use crate::trial;

const MEMBERS: usize = 3;
const ANSWERS: usize = 100;
/// Elections take half a second, so that this does not take long.
const QUICK: [&str; 4] = ["--heartbeat-interval", "50", "--election-timeout", "500"];
/// Far longer than what is waited for takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn trials() -> [Trial; 1] {
    [trial("etcd::members_are_cut_off", members_are_cut_off)]
}

const PEERS: &str = "peers";
const CLIENTS: &str = "clients";
/// Each machine is on both.
const NETWORKS: [&str; 2] = [PEERS, CLIENTS];

fn members_are_cut_off() {
    let places = machines();
    let cluster = EtcdCluster::start_at(&places, &QUICK);
    // Each client has another member that it asks first.
    let url = |first: usize| {
        let hosts: Vec<_> = (0..MEMBERS)
            .map(|n| places[(first + n) % MEMBERS].clients.to_string())
            .collect();
        format!("etcd://{}", hosts.join(","))
    };
    let urls: Vec<_> = (0..2 * MEMBERS).map(url).collect();
    let mut clients = Clients::new(&urls, SHORT);
    for networks in [&NETWORKS[..1], &NETWORKS[1..], &NETWORKS] {
        for is_leader in [true, false] {
            let leader = until(|| cluster.leader(0));
            let member = if is_leader {
                leader
            } else {
                (leader + 1) % MEMBERS
            };
            let what = format!("member {member}, leader {is_leader}, cut off from {networks:?}");
            let mut its_own = open(&format!("etcd://{}", places[member].clients)).unwrap();
            let mut asks_it_first = open(&url(member)).unwrap();
            clients.work_while(urls.len(), |ledger| {
                ledger.after(ANSWERS, |_| set(networks, member, "down"));
                let began = Instant::now();
                assert_eq!(granted(&mut its_own), None, "{what}");
                assert!(began.elapsed() < PATIENCE, "{what}: {:?}", began.elapsed());
                until(|| granted(&mut asks_it_first));
                ledger.after(ANSWERS, |_| set(networks, member, "up"));
            });
            until(|| granted(&mut its_own));
        }
    }
    let kept = open(&cluster.url()).unwrap().list().unwrap();
    assert_eq!(clients.ledger().lost(&kept), []);
}

/// What a store grants, unless it is unavailable: nothing else may be wrong.
fn granted(store: &mut LeaseStore) -> Option<Acquisition> {
    match acquire(store, Token::random().unwrap(), "holder", SHORT) {
        Ok(acquired) => Some(acquired),
        Err(StoreError::Unavailable(_)) => None,
        Err(error) => panic!("{error:?}"),
    }
}

fn until<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Makes them, on networks that this program is on too.
fn machines() -> Vec<Place> {
    for network in NETWORKS {
        ip(&format!("link add {network} type bridge"));
        ip(&format!("link set {network} up"));
    }
    ip(&format!(
        "address add {}/24 dev {CLIENTS}",
        address(CLIENTS, MEMBERS)
    ));
    let machine = |number: usize| {
        let name = format!("machine{number}");
        ip(&format!("netns add {name}"));
        ip(&format!("-n {name} link set lo up"));
        for network in NETWORKS {
            let cable = cable(network, number);
            ip(&format!(
                "link add {cable} type veth peer name {network} netns {name}"
            ));
            ip(&format!("link set {cable} master {network} up"));
            ip(&format!("-n {name} link set {network} up"));
            let address = address(network, number);
            ip(&format!("-n {name} address add {address}/24 dev {network}"));
        }
        // `ip netns exec` would keep what the other trials mount.
        let entrance = ["nsenter", &format!("--net=/run/netns/{name}")];
        Place {
            clients: SocketAddrV4::new(address(CLIENTS, number), 2379),
            peers: SocketAddrV4::new(address(PEERS, number), 2380),
            entrance: entrance.map(str::to_owned).to_vec(),
        }
    };
    (0..MEMBERS).map(machine).collect()
}

/// Of a machine on a network; the one after all machines is this program's.
fn address(network: &str, number: usize) -> Ipv4Addr {
    let third = if network == PEERS { 1 } else { 2 };
    Ipv4Addr::new(10, 0, third, u8::try_from(number + 1).unwrap())
}

/// This end of a machine's link.
fn cable(network: &str, number: usize) -> String {
    format!("{network}{number}")
}

fn set(networks: &[&str], machine: usize, state: &str) {
    for network in networks {
        ip(&format!("link set {} {state}", cable(network, machine)));
    }
}
