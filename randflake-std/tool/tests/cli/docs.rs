//! Help, completions and manual pages

use std::collections::HashSet;
use std::fs;
use std::process::Command;

use randflake_std::randflake_core::LAYOUTS;

use crate::user::User;

const COMMANDS: [&str; 46] = [
    "keygen",
    "generate",
    "explain",
    "inspect",
    "compose",
    "convert",
    "histogram",
    "segment",
    "segment status",
    "segment init",
    "segment resume",
    "uuid",
    "uuid generate",
    "uuid inspect",
    "sql",
    "sql key",
    "sql mysql",
    "sql duckdb",
    "sql partitions",
    "sql postgres",
    "lease",
    "lease acquire",
    "lease renew",
    "lease list",
    "lease namespaces",
    "lease drop",
    "lease status",
    "lease release",
    "lease quarantine",
    "lease init",
    "lease upgrade",
    "lease next-key",
    "lease ticket",
    "lease device",
    "lease provision",
    "lease line",
    "lease check",
    "doctor",
    "serve",
    "token",
    "token new",
    "token list",
    "token rotate",
    "token revoke",
    "completions",
    "man",
];

#[test]
fn every_command_has_help_and_a_manual_page() {
    let user = User::new();
    for command in COMMANDS {
        let words: Vec<_> = command.split(' ').collect();
        let help = user.run(&[&words[..], &["--help"]].concat()).ok();
        assert!(
            help.contains(&format!("Usage: randflake {command}")),
            "{help}"
        );
        assert!(user.run(&[&words[..], &["-h"]].concat()).ok().len() <= help.len());
        assert_eq!(user.run(&[&["help"], &words[..]].concat()).ok(), help);
        let page = user.run(&[&["man"], &words[..]].concat()).ok();
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    let help = user.run(&["--help"]).ok();
    for said in [
        "RANDFLAKE_KEY",
        "RANDFLAKE_STORE",
        "RANDFLAKE_NAMESPACE",
        "XDG_STATE_HOME",
        "Examples:",
    ] {
        assert!(help.contains(said), "{said}");
    }
    for command in COMMANDS.iter().filter(|command| !command.contains(' ')) {
        assert!(
            help.contains(&format!("\n  {command} ")),
            "{command}: {help}"
        );
    }
    let version = format!("randflake {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(user.run(&["--version"]).ok(), version);
}

#[test]
fn the_whole_manual_is_written() {
    let user = User::new();
    let directory = user.argument("man/man1");
    user.run(&["man", "--out", &directory]).ok();
    let pages = fs::read_dir(directory).unwrap();
    let pages: HashSet<_> = pages
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .collect();
    let name = |command: &str| format!("randflake-{}.1", command.replace(' ', "-"));
    let mut expected: HashSet<_> = COMMANDS.into_iter().map(name).collect();
    expected.insert("randflake.1".to_owned());
    assert_eq!(pages, expected);
}

#[test]
fn every_shell_has_completions() {
    let user = User::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = user.run(&["completions", shell]).ok();
        for command in ["keygen", "release", "node-ids"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
        // Where the shell is there, it reads the script.
        let file = user.argument(shell);
        fs::write(&file, script).unwrap();
        if let ("bash" | "zsh" | "fish", Ok(checked)) =
            (shell, Command::new(shell).args(["-n", &file]).output())
        {
            assert!(checked.status.success(), "{checked:?}");
        }
    }
}

#[test]
fn the_help_names_every_layout() {
    let help = User::new().run(&["inspect", "-h"]).ok();
    for (name, _) in LAYOUTS {
        assert!(help.contains(name), "{name}: {help}");
    }
}
