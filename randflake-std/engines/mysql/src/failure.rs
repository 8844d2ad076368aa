//! Errors of the server and its client, sorted, with what to change.

use mysql_async::{DriverError, Error, IoError};

use randflake_sql::{DatabaseFailure, Sort};

const ACCESS_DENIED: u16 = 1045;
/// Access denied to a user who has no password, but a plugin.
const NO_PASSWORD: u16 = 1698;
/// The binary log takes statements, and `READ COMMITTED` needs rows.
const STATEMENTS_ONLY: u16 = 1665;
/// The password has expired: said by a statement, and by a login.
const MUST_CHANGE: [u16; 2] = [1820, 1862];
/// The account is locked: in `MySQL`, and in `MariaDB`.
const LOCKED: [u16; 2] = [3118, 4151];
/// `require_secure_transport` of `MySQL`.
const PLAIN_REFUSED: u16 = 3159;

/// What errors of the server mean that do not pass, by their numbers in its manual.
const SORTS: [(u16, Sort); 29] = [
    (1044, Sort::Lasting), // access to the database denied
    (ACCESS_DENIED, Sort::Lasting),
    (1049, Sort::Lasting), // no such database
    (1054, Sort::Lasting), // no such column: tables from before the first release
    (1064, Sort::Lasting), // syntax
    (1129, Sort::Lasting), // host blocked after many errors
    (1130, Sort::Lasting), // host not allowed
    (1142, Sort::Lasting), // command denied for a table
    (1143, Sort::Lasting), // command denied for a column
    (1193, Sort::Lasting), // no such variable: an older server, or another one
    (1227, Sort::Lasting), // a privilege is missing
    (1231, Sort::Lasting), // no such value of a variable
    (1235, Sort::Lasting), // not supported
    (1251, Sort::Lasting), // login by an older protocol
    (1286, Sort::Lasting), // no such storage engine
    (1305, Sort::Lasting), // no such function
    (1524, Sort::Lasting), // plugin of the user not loaded
    (STATEMENTS_ONLY, Sort::Lasting),
    (NO_PASSWORD, Sort::Lasting),
    (MUST_CHANGE[0], Sort::Lasting),
    (MUST_CHANGE[1], Sort::Lasting),
    (LOCKED[0], Sort::Lasting),
    (LOCKED[1], Sort::Lasting),
    (PLAIN_REFUSED, Sort::Lasting),
    (3161, Sort::Lasting),   // storage engine disabled
    (1062, Sort::Overtaken), // duplicate key
    (1146, Sort::Overtaken), // no such table
    (1213, Sort::Overtaken), // deadlock
    (1242, Sort::Overtaken), // two rows: what is not as expected ends a write by it
];

/// What an error of the client or its server means.
pub(crate) fn failure(error: Error) -> DatabaseFailure {
    failure_of(error, "")
}

/// Failure of a login, with a hint where encryption may be what is missing.
pub(crate) fn of_login(error: Error, is_encrypted: bool) -> DatabaseFailure {
    // Which is all that `MariaDB` says to who does not encrypt and should.
    if code(&error) == Some(ACCESS_DENIED) && !is_encrypted {
        let hint = ": if the server takes encrypted connections only, take sslmode=verify-full";
        return failure_of(error, hint);
    }
    failure_of(error, "")
}

fn failure_of(error: Error, hint: &str) -> DatabaseFailure {
    if let Error::Driver(driver) = &error
        && let Some(why) = mistake(driver)
    {
        return DatabaseFailure::of_client(error, Sort::Lasting, why);
    }
    // All numbers that are not listed may pass: a try costs less than a store that gives up.
    let sort = SORTS.iter().find(|(known, _)| code(&error) == Some(*known));
    let message = match &error {
        Error::Server(reply) => {
            let (said, remedy) = (reply.message.trim_end_matches('.'), remedy(reply.code));
            format!("{said}{remedy}{hint}")
        }
        Error::Io(IoError::Io(error)) => error.to_string(),
        Error::Driver(error) => error.to_string(),
        error => error.to_string(),
    };
    DatabaseFailure::of_client(
        error,
        sort.map_or(Sort::Passing, |(_, sort)| *sort),
        message,
    )
}

/// What to do, where the server does not say it.
fn remedy(code: u16) -> &'static str {
    match code {
        STATEMENTS_ONLY => {
            ": the store writes under READ COMMITTED, which binlog_format=STATEMENT does not take: set it to MIXED or ROW \
             (SET GLOBAL binlog_format = 'MIXED', and in the server's configuration)"
        }
        code if MUST_CHANGE.contains(&code) => {
            ": set another password (ALTER USER ... IDENTIFIED BY), or none that expires (PASSWORD EXPIRE NEVER)"
        }
        code if LOCKED.contains(&code) => ": ALTER USER ... ACCOUNT UNLOCK",
        NO_PASSWORD => {
            ": this user logs in without a password, by a plugin such as unix_socket or auth_socket, which works on the \
             server's own socket alone: give the user a password, ALTER USER ... IDENTIFIED BY 'PASSWORD'"
        }
        PLAIN_REFUSED => ": write sslmode=verify-full",
        1129 => ", or restart the server",
        _ => "",
    }
}

/// What the client cannot do with this user or server, and what to change.
fn mistake(error: &DriverError) -> Option<String> {
    let login = |plugin: &str| {
        let remedy =
            "which a URL cannot: give the user a password, ALTER USER ... IDENTIFIED BY 'PASSWORD'";
        format!("this user logs in by the plugin {plugin}, {remedy}")
    };
    Some(match error {
        DriverError::NoClientSslFlagFromServer => {
            "the server takes no encrypted connections: set ssl_cert and ssl_key in its configuration, or write \
             sslmode=disable for a plain connection"
                .to_owned()
        }
        DriverError::UnknownAuthPlugin { name } => login(name),
        DriverError::MysqlOldPasswordDisabled => login("mysql_old_password"),
        DriverError::CleartextPluginDisabled => login("mysql_clear_password"),
        _ => return None,
    })
}

fn code(error: &Error) -> Option<u16> {
    match error {
        Error::Server(error) => Some(error.code),
        _ => None,
    }
}
