//! `keygen`, and where the secret comes from

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::user::{Answer, KEY, User, objects, words};

const COMPOSE: &str = "compose --time 1733706297 --node 42 --sequence 1";

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::MetadataExt;
    path.metadata().unwrap().mode() & 0o7777
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn keygen_makes_new_secrets() {
    let user = User::without_store();
    let secrets = [(); 2].map(|()| user.run(&["keygen"]).ok());
    assert_ne!(secrets[0], secrets[1]);
    for secret in secrets {
        assert_eq!(secret.len(), 33);
        assert!(
            secret
                .trim_end()
                .bytes()
                .all(|byte| b"0123456789abcdef".contains(&byte))
        );
    }
    assert!(!user.state("").exists());
}

#[test]
fn keygen_derives_a_namespace_s_secret() {
    let user = User::new();
    let missing = user.run(&["keygen", "--derive", "orders"]).fails(1);
    assert!(
        missing.starts_with("no secret: set RANDFLAKE_KEY"),
        "{missing}"
    );
    let wrong = user.run(&["keygen", "--derive", "Orders"]).fails(2);
    assert!(
        wrong.contains("a-z, 0-9, '-' and '_' are allowed"),
        "{wrong}"
    );

    let derived = |name: &str| user.run_keyed(&["keygen", "--derive", name]).ok();
    assert_eq!(derived("orders"), "1341ac56b184b111b3e0b5bb4f9519eb\n");
    assert_ne!(derived("orders"), derived("users"));
}

#[cfg(unix)]
#[test]
fn keygen_writes_a_private_file_and_overwrites_none() {
    let user = User::new();
    let file = user.argument("secret.key");
    assert_eq!(user.run(&["keygen", "--out", &file]).ok(), "");
    assert_eq!(mode(Path::new(&file)), 0o600);
    let secret = fs::read_to_string(&file).unwrap();
    let said = user.run(&["keygen", "--out", &file]).fails(1);
    assert_eq!(
        said,
        format!("{file} exists and is not overwritten: name a new file")
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), secret);
    user.run(&["generate", "--key-file", &file]).ok();
}

#[cfg(unix)]
#[test]
fn the_first_run_makes_a_private_secret_and_says_so_once() {
    let user = User::without_store();
    let first = user.run(&["generate"]);
    let (key, store) = (user.state("key"), user.state("leases.db"));
    let said: Vec<_> = first.stderr.lines().collect();
    assert_eq!(said.len(), 2, "{said:?}");
    let made = format!("randflake: made a new secret in {}", key.display());
    assert_eq!(said[0], made);
    let made = format!(
        "randflake: made a new lease store in {}; if there was one before, end this and put that back: is its volume \
         mounted, and the path right?",
        store.display()
    );
    assert_eq!(said[1], made);
    assert_eq!((mode(&key), mode(&user.state(""))), (0o600, 0o700));
    let id = user.run(&["generate"]).ok();
    // What was made on the first run inspects what was made on the second.
    assert_recent(&user.run(&["inspect", "--json", id.trim()]).ok());
    assert_recent(&user.run(&["inspect", "--json", first.stdout.trim()]).ok());
}

/// An id of another secret would have a random time.
#[track_caller]
fn assert_recent(lines: &str) {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    for object in objects(lines) {
        assert!(
            now.abs_diff(object["time"].as_u64().unwrap()) < 60,
            "{object}"
        );
    }
}

#[test]
fn ten_first_runs_at_once_agree_on_one_secret() {
    let user = User::without_store();
    let children = [(); 10].map(|()| {
        let mut command = user.command(&["generate", "-n", "100"]);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    });
    let answers = children.map(|child| Answer::of(child.wait_with_output().unwrap()));
    let said: Vec<_> = answers
        .iter()
        .map(|answer| answer.stderr.as_str())
        .collect();
    let made = |line: &&&str| line.contains("made a new secret");
    assert_eq!(said.iter().filter(made).count(), 1, "{said:?}");
    assert!(
        said.iter()
            .flat_map(|said| said.lines())
            .all(|line| made(&&line) || line.contains("made a new lease store")),
        "{said:?}"
    );
    let ids: String = answers
        .iter()
        .map(|answer| answer.stdout.as_str())
        .collect();
    assert_eq!(ids.lines().collect::<HashSet<_>>().len(), 1_000);
    let inspect: Vec<_> = ["inspect", "--json"]
        .into_iter()
        .chain(ids.lines())
        .collect();
    assert_recent(&user.run(&inspect).ok());
    let names = fs::read_dir(user.state("")).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    let is_draft = |name: &&std::ffi::OsString| name.to_string_lossy().starts_with("key.");
    assert_eq!(names.iter().find(is_draft), None);
}

#[test]
fn a_state_home_that_is_not_absolute_is_ignored() {
    for state_home in ["", "state", "./state"] {
        let user = User::without_store();
        let answer = user.run_in(&[("XDG_STATE_HOME", state_home)], &["generate"]);
        assert_eq!(answer.status, Some(0), "{answer:?}");
        assert!(user.path(".local/state/randflake/key").exists());
        assert!(!user.path("state").exists());
    }
}

#[test]
fn without_a_home_it_says_what_to_give() {
    let user = User::new();
    let nowhere = [
        ("HOME", "nowhere"),
        ("XDG_STATE_HOME", ""),
        ("RANDFLAKE_KEY", KEY),
    ];
    let run = |arguments: &[&str]| user.run_in(&nowhere, arguments);
    let said = run(&["generate"]).fails(1);
    assert!(
        said.starts_with("there is no home directory: set XDG_STATE_HOME"),
        "{said}"
    );
    run(&["generate", "--store", "sqlite:leases.db"])
        .in_new_store()
        .ok();
    run(&["inspect", "3vgoe12ccb8gh"]).ok();
}

#[test]
fn a_key_file_goes_before_the_variable_and_this_before_the_default() {
    let user = User::new();
    let compose = words(COMPOSE);
    user.run(&["generate"]);
    let default = user.run(&compose).ok();
    assert_eq!(user.run_keyed(&compose).ok(), "3vgoe12ccb8gh\n");
    let file = user.argument("secret.key");
    user.run(&["keygen", "--out", &file]).ok();
    let given = user
        .run_keyed(&[&compose[..], &["--key-file", &file]].concat())
        .ok();
    let all = HashSet::from([default.as_str(), "3vgoe12ccb8gh\n", &given]);
    assert_eq!(all.len(), 3);
}

#[test]
fn what_reads_ids_makes_no_secret() {
    let user = User::without_store();
    for line in ["inspect 3vgoe12ccb8gh", COMPOSE] {
        let said = user.run(&words(line)).fails(1);
        assert!(
            said.starts_with("no secret: set RANDFLAKE_KEY or give --key-file FILE"),
            "{said}"
        );
    }
    user.run(&["convert", "--to", "int", "v"]).ok();
    user.run(&["generate", "-n", "0"]).ok();
    user.run(&["man"]).ok();
    assert!(!user.path("state").exists());
}

#[cfg(unix)]
#[test]
fn a_secret_that_others_may_read_is_refused() {
    let user = User::new();
    let file = user.argument("secret.key");
    user.run(&["keygen", "--out", &file]).ok();
    for (bits, allowed) in [
        (0o600, true),
        (0o400, true),
        // Of root's alone.
        (0o640, is_root()),
        (0o440, is_root()),
        (0o660, false),
        (0o604, false),
        (0o644, false),
    ] {
        set_mode(Path::new(&file), bits);
        let answer = user.run(&["inspect", "--key-file", &file, "v"]);
        if allowed {
            answer.ok();
        } else {
            let why = "so that others may use it: 0600 and 0400 are allowed, of root's files 0640 and 0440 too, and \
                       in a read-only mount 0444";
            let said = format!("secret file {file} has mode {bits:04o}, {why}");
            assert_eq!(answer.fails(1), said);
        }
    }
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// As `LoadCredential=randflake.key:...` gives it to a service: a directory and a file that only its user reads.
#[cfg(unix)]
#[test]
fn a_systemd_credential_is_the_secret_of_a_service() {
    let user = User::new();
    let directory = user.path("credentials");
    fs::create_dir(&directory).unwrap();
    let service = [("CREDENTIALS_DIRECTORY", directory.to_str().unwrap())];
    let compose = words(COMPOSE);
    // Not to be had: no other secret is made instead.
    let file = user.path("file");
    fs::write(&file, "").unwrap();
    let broken = [("CREDENTIALS_DIRECTORY", file.to_str().unwrap())];
    let said = user.run_in(&broken, &["generate"]).fails(1);
    assert!(said.contains("file/randflake.key: "), "{said}");
    assert!(!user.state("key").exists());
    // Of another credential only.
    fs::write(directory.join("tls.key"), "").unwrap();
    let said = user.run_in(&service, &compose).fails(1);
    assert!(said.starts_with("no secret: "), "{said}");

    let key = directory.join("randflake.key");
    fs::write(&key, KEY).unwrap();
    set_mode(&key, 0o400);
    set_mode(&directory, 0o500);
    assert_eq!(user.run_in(&service, &compose).ok(), "3vgoe12ccb8gh\n");
    let told = user.run_in(&service, &["doctor"]).stdout;
    assert!(
        told.contains("systemd credential ") && told.contains("randflake.key, mode 0400"),
        "{told}"
    );
    // It makes no other one, and what is given goes before it.
    user.run_in(&service, &["generate"]).ok();
    assert!(!user.state("key").exists());
    let other = [
        service[0],
        ("RANDFLAKE_KEY", "00112233445566778899aabbccddeeff"),
    ];
    assert_ne!(user.run_in(&other, &compose).ok(), "3vgoe12ccb8gh\n");
    set_mode(&key, 0o604);
    let said = user.run_in(&service, &compose).fails(1);
    assert!(said.contains("randflake.key has mode 0604"), "{said}");
    set_mode(&directory, 0o700);
}

#[cfg(unix)]
#[test]
fn a_wrong_secret_is_refused_without_being_shown() {
    let user = User::new();
    let file = user.argument("secret.key");
    for secret in [
        "",
        "dffd6021",
        "gffd6021bb2bd5b0af676290809ec3a5",
        "not a secret",
    ] {
        let said = user
            .run_in(&[("RANDFLAKE_KEY", secret)], &["inspect", "v"])
            .fails(2);
        assert!(said.starts_with("RANDFLAKE_KEY: the secret has "), "{said}");
        assert!(secret.is_empty() || !said.contains(secret), "{said}");
        fs::write(&file, secret).unwrap();
        set_mode(Path::new(&file), 0o600);
        let said = user.run(&["inspect", "--key-file", &file, "v"]).fails(1);
        assert!(secret.is_empty() || !said.contains(secret), "{said}");
        assert!(
            said.starts_with(&format!("secret file {file}: the secret has ")),
            "{said}"
        );
    }
    let said = user
        .run(&["inspect", "--key-file", "nowhere", "v"])
        .fails(1);
    assert_eq!(
        said,
        "secret file nowhere: No such file or directory (os error 2): is the path right, and its volume mounted? \
         `randflake keygen --out FILE` makes a first one"
    );
}

/// A core dump holds the secret, as `/proc/PID/environ` and `/proc/PID/mem` do: the kernel gives out all of them
/// or none.
#[cfg(target_os = "linux")]
#[test]
fn a_crash_leaves_no_core_dump() {
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    let highest = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Core, highest).unwrap();
    let user = User::new();
    let dumps_core = |mut command: Command| {
        command.current_dir(user.path("")).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It is at work, and writes for ever.
        let mut first = [0];
        let output = child.stdout.as_mut().unwrap();
        output.read_exact(&mut first).unwrap();
        kill_process(Pid::from_child(&child), Signal::ABORT).unwrap();
        child.wait().unwrap().core_dumped()
    };
    assert!(
        dumps_core(Command::new("yes")),
        "no program dumps core here"
    );
    let tool = user.command(&["generate", "-n", "1000000000"]);
    assert!(!dumps_core(tool));
}
