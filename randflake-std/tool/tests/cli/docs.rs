//! Help, completions and manual pages

use std::collections::HashSet;
use std::fs;
use std::process::Command;

use randflake_std::randflake_core::LAYOUTS;

use crate::user::User;

/// All commands, as the help of each lists those below it: `lease`, `lease acquire`, and so on.
fn commands(user: &User) -> Vec<String> {
    let mut found = Vec::new();
    let mut unread = vec![String::new()];
    while let Some(parent) = unread.pop() {
        let words = parent
            .split_whitespace()
            .chain(["--help"])
            .collect::<Vec<_>>();
        let help = user.run(&words).ok();
        let Some((_, rest)) = help.split_once("\nCommands:\n") else {
            continue;
        };
        let list = rest.split("\n\n").next().unwrap_or_default();
        // Lines that begin further to the right continue a description.
        let names = list.lines().filter_map(|line| {
            let line = line
                .strip_prefix("  ")
                .filter(|line| !line.starts_with(' '))?;
            line.split_whitespace().next()
        });
        for name in names.filter(|name| *name != "help") {
            let command = format!("{parent} {name}").trim_start().to_owned();
            unread.push(command.clone());
            found.push(command);
        }
    }
    assert!(found.len() >= 46, "{found:?}");
    found
}

#[test]
fn every_command_has_help_and_a_manual_page() {
    let user = User::new();
    let commands = commands(&user);
    for command in &commands {
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
    for command in commands.iter().filter(|command| !command.contains(' ')) {
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
    let name = |command: &String| format!("randflake-{}.1", command.replace(' ', "-"));
    let mut expected: HashSet<_> = commands(&user).iter().map(name).collect();
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
