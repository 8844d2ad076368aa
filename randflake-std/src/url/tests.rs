use proptest::prelude::*;

use randflake_lease::unstable::url::Location;

use super::StoreUrl;

fn server(url: &str) -> Location {
    url.parse::<StoreUrl>().unwrap().location
}

#[test]
fn user_password_and_options_are_decoded_once() {
    let url =
        "postgres://m%3Ae:p%2525%2F%C3%A4@host/i%2Fds?sslrootcert=/c%20a%26&sslmode=verify-full";
    let server = server(url);
    assert_eq!(server.user.as_deref(), Some("m:e"));
    assert_eq!(
        server.password.as_ref().map(|password| password.as_str()),
        Some("p%25/ä")
    );
    assert_eq!(server.database.as_deref(), Some("i/ds"));
    assert_eq!(server.option("sslrootcert"), Some("/c a&"));
    assert_eq!(server.option("sslmode"), Some("verify-full"));
    assert_eq!(server.option("sslkey"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_encoded_password_is_kept(password in "\\PC{0,40}") {
        let encoded = percent_encoding::utf8_percent_encode(&password, percent_encoding::NON_ALPHANUMERIC);
        let server = server(&format!("mysql://me:{encoded}@host/ids"));
        prop_assert_eq!(server.password.as_ref().map(|kept| kept.as_str()), Some(&*password));
        prop_assert_eq!(server.scheme.name, "mysql");
    }
}
