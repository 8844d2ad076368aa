//! URLs of stores: accepted forms, and messages for refused ones.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::error::Error;
use core::fmt::Write;

use proptest::prelude::*;
use randflake_std::lease::{StoreError, StoreUrl};

#[test]
fn urls_are_shown_by_scheme_host_port_and_database() {
    for (url, shown) in [
        ("sqlite:leases.db", "sqlite:leases.db"),
        ("sqlite:./leases.db", "sqlite:./leases.db"),
        ("sqlite://leases.db", "sqlite:leases.db"),
        ("sqlite:///srv/a@b#1/50%.db", "sqlite:/srv/a@b#1/50%.db"),
        ("static:/var/lib/ids?node=pod", "static:/var/lib/ids"),
        ("redis://host", "redis://host:6379"),
        ("redis://host/", "redis://host:6379"),
        (
            "redis://me:secret@HOST_1.local:7/3",
            "redis://HOST_1.local:7/3",
        ),
        ("redis://:se@c:ret@host", "redis://host:6379"),
        (
            "rediss://:secret@[::1]:7?sslrootcert=/ca",
            "rediss://[::1]:7",
        ),
        (
            "redis+unix://:secret@/run/r%20s?db=2",
            "redis+unix:///run/r%20s?db=2",
        ),
        ("etcd://a,[fe80::2],c:9", "etcd://a:2379,[fe80::2]:2379,c:9"),
        ("etcds://me:secret@a/", "etcds://a:2379"),
        (
            "postgres://me@a,b:1/my%20db?sslmode=disable",
            "postgres://a:5432,b:1/my%20db",
        ),
        (
            "postgresql://%2Frun%2Fpg/ids",
            "postgresql://%2Frun%2Fpg:5432/ids",
        ),
        (
            "mysql://me:%2F%3F%23%40%3A%25@127.0.0.1/ids",
            "mysql://127.0.0.1:3306/ids",
        ),
    ] {
        let parsed: StoreUrl = url.parse().unwrap();
        assert_eq!(parsed.to_string(), shown);
        assert_eq!(format!("{parsed:?}"), shown);
    }
}

#[test]
fn what_is_wrong_is_said_with_what_is_allowed() {
    for (url, said) in [
        ("", "has no scheme: take sqlite:PATH"),
        ("me:hunter2@host", "has no scheme"),
        ("hunter2", "has no scheme"),
        ("://hunter2", "has no scheme"),
        ("hunter2 :", "has no scheme"),
        (
            "redis:hunter2",
            "has no // behind its scheme: take redis://",
        ),
        ("ftp://me:hunter2@host", "of scheme \"ftp\" are not known"),
        ("sqlite:", "has no path"),
        ("sqlite://", "has no path"),
        ("sqlite::memory:", "names no file"),
        (
            "sqlite:leases.db?mode=ro",
            "has the option \"mode\": the allowed options are max_ttl: take sqlite:PATH",
        ),
        ("static:", "has no path: take static:PATH?node=N"),
        ("static:a", "has no `node`"),
        (
            "static:a?n=1",
            "has the option \"n\": the allowed options are node, max_ttl",
        ),
        ("static:a?node=hunter2", "`node` is a decimal number"),
        (
            "postgres://ids:hunter2/b@host/ids",
            "write %2F, %3F and %23 in user and password",
        ),
        ("etcd://root:hunter2?b@host", "write %2F, %3F and %23"),
        ("redis://:hunter2#b@host", "write %2F, %3F and %23"),
        (
            "postgres://ids:hunter2@b/c@host/ids",
            "write %2F, %3F and %23",
        ),
        ("redis://host#hunter2", "has a #"),
        (
            "redis://me:hunter2%2@host",
            "a % without two hexadecimal digits",
        ),
        ("redis://me:hunter2%@host", "write %25"),
        ("redis://me:hunter2%0A@host", "has control characters"),
        ("redis://me:hunter2\n@host", "has control characters"),
        ("redis://me:hunter2%FF@host", "not in UTF-8"),
        ("redis://me:hunter2@", "has no host"),
        ("etcd://a,,b", "has no host"),
        ("redis://hunter2@host", "a user without a password"),
        ("etcd://hunter2@host", "a user without a password"),
        ("etcd://:hunter2@host", "a password alone"),
        ("redis://me:hunter2@a,b", "has several hosts"),
        ("redis://me:hunter2@ho st", "a host with other characters"),
        (
            "redis://::1",
            "an IPv6 address without brackets: write [::1]: take redis://",
        ),
        (
            "redis://me:hunter2@2001:db8::10:20",
            "write [2001:db8::10:20], or [2001:db8::10]:20 if 20 is the port",
        ),
        ("redis://::hunter2", "a port that is not 1 to 65535"),
        (
            "etcd://a:1,1:2:3:4:5:6:7:8:2379",
            "write [1:2:3:4:5:6:7:8]:2379: take etcd",
        ),
        (
            "postgres://a,::1:5432/ids",
            "write [::1:5432], or [::1]:5432",
        ),
        ("mysql://::1/ids", "write [::1]: take mysql"),
        (
            "rediss://[fe80::1%25eth0]:7",
            "has a zone id behind the IPv6 address fe80::1: ",
        ),
        ("etcds://fe80::1%eth0:7", "has a zone id"),
        ("redis://me:hunter2@[hunter2]", "not one of IPv6"),
        ("postgres://ids:hunter2", "a port that is not 1 to 65535"),
        ("redis://host:0", "a port"),
        ("redis://host:65536", "a port"),
        ("redis://host:+1", "a port"),
        ("etcd://host/hunter2", "has a path"),
        ("mysql://host/a/b", "a / in the name of the database"),
        (
            "redis+unix://hunter2/path",
            "has a host, or no path: take redis+unix://",
        ),
        ("redis+unix://", "has a host, or no path"),
        (
            "redis://host?sslcert=a&sslcert=hunter2",
            "has the option sslcert twice",
        ),
        ("redis://host?=hunter2", "has an option without a name"),
        ("redis://host?hun ter2=1", "has an option that is not known"),
    ] {
        let error = url.parse::<StoreUrl>().unwrap_err();
        assert!(matches!(error, StoreError::Invalid(_)), "{url}: {error}");
        let message = error.to_string();
        assert!(message.contains(said), "{url}: {message}");
        assert!(!message.contains("hun"), "{url}: {message}");
    }
}

#[test]
fn undocumented_options_are_refused_by_name() {
    for (url, allowed) in [
        ("redis://host", "sslrootcert, sslcert, sslkey"),
        ("redis+unix:///path", "db"),
        ("etcds://host", "sslrootcert, sslcert, sslkey"),
        (
            "postgres://host/ids",
            "sslmode, sslrootcert, sslcert, sslkey, owner, application_name, connect_timeout",
        ),
        ("mysql://host/ids", "sslmode, sslrootcert, sslcert, sslkey"),
    ] {
        for option in [
            "danger_accept_invalid_certs",
            "protocol",
            "insecure",
            "password",
            "Sslmode",
        ] {
            let error = format!("{url}?{option}=hunter2")
                .parse::<StoreUrl>()
                .unwrap_err()
                .to_string();
            let said = format!(
                "has the option {option:?}: the allowed options are {allowed}, max_ttl: take "
            );
            assert!(error.contains(&said), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}

/// What is shown of a URL, and of the errors about it.
fn shown(url: &str) -> String {
    let mut shown = String::new();
    match url.parse::<StoreUrl>() {
        Ok(url) => write!(shown, "{url} {url:?}").unwrap(),
        Err(error) => {
            write!(shown, "{error} {error:?}").unwrap();
            let mut source = error.source();
            while let Some(error) = source {
                write!(shown, "{error} {error:?}").unwrap();
                source = error.source();
            }
        }
    }
    shown
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The mark is in no message, so it is shown only where some of the password is.
    #[test]
    fn no_password_is_shown(
        scheme in "(sqlite3|redis|rediss|redis\\+unix|etcd|etcds|postgres|postgresql|mysql|odd)",
        before in "[ -~]{0,12}",
        behind in "[ -~ä]{0,12}",
        rest in "(host|a,b|\\[::1\\]:7|)(/ids|/|)(\\?sslmode=disable|)",
    ) {
        let url = format!("{scheme}://me_too:{before}QZX{behind}@{rest}");
        let shown = shown(&url);
        prop_assert!(!shown.contains("QZX"), "{url}: {shown}");
        prop_assert!(!shown.contains("me_too"), "{url}: {shown}");
    }

    #[test]
    fn nothing_panics(url in "(|redis|etcd|postgres|mysql|redis\\+unix|static|sqlite)(|:|://)\\PC{0,40}") {
        _ = shown(&url);
    }
}
