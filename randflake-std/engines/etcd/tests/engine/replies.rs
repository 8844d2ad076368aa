//! Writes on their way: the reply is lost and another member is asked, or the cluster is set back
//! before it arrives.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use harness::etcd::{Backup, EtcdCluster};
use randflake_etcd::EtcdStore;
use randflake_lease::StoreError;

use crate::continuity::assert_quarantined;
use randflake_lease::testkit::counters::segment;
use randflake_lease::testkit::leases::declared_new;
use randflake_lease::testkit::leases::{TTL, acquire, acquire_one, eight};

/// What happens to the next write: it may send the write, and returns the reply to hand on.
type Event = Box<dyn FnOnce(&dyn Fn() -> String) -> Option<String> + Send>;

/// The way to a member.
struct Way {
    port: u16,
    next: Arc<Mutex<Option<Event>>>,
}

impl Way {
    fn to(member: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let next = Arc::<Mutex<Option<Event>>>::default();
        let events = Arc::clone(&next);
        // It ends with the process.
        thread::spawn(move || {
            for client in listener.incoming() {
                // Each has a thread: one is kept idle.
                let events = Arc::clone(&events);
                thread::spawn(move || carry(&client.unwrap(), member, &events));
            }
        });
        Self { port, next }
    }

    fn next_write(
        &self,
        event: impl FnOnce(&dyn Fn() -> String) -> Option<String> + Send + 'static,
    ) {
        *self.next.lock().unwrap() = Some(Box::new(event));
    }

    fn next_reply_is_lost(&self) {
        self.next_write(|send| {
            assert!(send().contains("succeeded"));
            None
        });
    }

    fn url(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

/// One request, whose connection ends with the reply; none on a connection that is only watched.
fn carry(mut client: &TcpStream, member: u16, events: &Mutex<Option<Event>>) {
    let mut reader = BufReader::new(client);
    let (mut path, mut length) = (String::new(), 0);
    for line in reader.by_ref().lines().map_while(Result::ok) {
        let lower = line.to_lowercase();
        if let Some(rest) = line.strip_prefix("POST ") {
            path.push_str(rest.split(' ').next().unwrap());
        } else if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        } else if line.is_empty() {
            break;
        }
    }
    if path.is_empty() {
        return;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    let send = || {
        let mut server = TcpStream::connect(("127.0.0.1", member)).unwrap();
        write!(
            server,
            "POST {path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut reply = String::new();
        server.read_to_string(&mut reply).unwrap();
        reply
    };
    let event = events
        .lock()
        .unwrap()
        .take_if(|_| body.contains("request_put"));
    let reply = event.map_or_else(|| Some(send()), |event| event(&send));
    if let Some(reply) = reply {
        client.write_all(reply.as_bytes()).unwrap();
    }
}

#[test]
fn write_with_a_lost_reply_is_known_elsewhere() {
    let cluster = EtcdCluster::start(1);
    let way = Way::to(cluster.members[0].port);
    // As another member.
    let url = format!("etcd://{},127.0.0.1:{}", way.url(), cluster.members[0].port);
    let open = || declared_new(&url, EtcdStore::open(&url, &eight("orders")).unwrap()).unwrap();

    drop(open());
    way.next_reply_is_lost();
    let mut store = open();
    let grant = acquire_one(&mut store, 1);
    assert_eq!(store.list().unwrap().len(), 1);

    // The client stays with the member that answered last.
    let mut store = open();
    way.next_reply_is_lost();
    assert!(store.renew(&[grant], TTL).unwrap().ends[0].is_ok());
    let record = &store.list().unwrap()[0];
    assert!(!record.contested, "{record:?}");

    let mut store = open();
    store.counter().resume(1).unwrap();
    way.next_reply_is_lost();
    assert_eq!(store.counter().reserve(10).unwrap(), segment(1, 10));
    assert_eq!(store.counter().reserve(10).unwrap(), segment(11, 10));
    assert!(way.next.lock().unwrap().is_none(), "no reply was lost");
}

#[test]
fn cluster_set_back_before_a_write_grants_nothing() {
    let mut cluster = EtcdCluster::start(1);
    let way = Way::to(cluster.members[0].port);
    let url = format!("etcd://{}", way.url());
    let mut store = EtcdStore::open(&url, &eight("orders")).unwrap();
    store.administration().end_quarantine().unwrap();
    acquire_one(&mut store, 1);
    let backup = Backup::of(&mut cluster);
    acquire_one(
        &mut EtcdStore::open(&cluster.url(), &eight("orders")).unwrap(),
        2,
    );

    let (notice, noticed) = channel();
    let (permit, permitted) = channel();
    way.next_write(move |send| {
        notice.send(()).unwrap();
        permitted.recv().unwrap();
        Some(send())
    });
    let asking = thread::spawn(move || (acquire(&mut store, 3, 1), store));
    noticed.recv().unwrap();
    backup.restore(&mut cluster);
    permit.send(()).unwrap();
    let (refused, mut store) = asking.join().unwrap();
    assert!(
        matches!(&refused, Err(StoreError::Unavailable(why)) if why.to_string().contains("set back")),
        "{refused:?}"
    );
    assert_quarantined(&mut store);
}
