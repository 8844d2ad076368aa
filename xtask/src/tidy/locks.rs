//! Whether every lock file holds what its manifests ask for. Crates in crates (`fuzz/`, `firmware/`) are workspaces
//! with locks of their own, which nobody looks at who adds a dependency to the crate around them.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::cargo::{cargo, root};

/// Those that would change, each with what cargo says of it.
pub(crate) fn stale() -> Vec<String> {
    let mut locks = Vec::new();
    match find(&root(), &mut locks) {
        Ok(()) => locks.iter().filter_map(|lock| problem(lock)).collect(),
        Err(error) => vec![error.to_string()],
    }
}

fn find(folder: &Path, locks: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if name == "Cargo.lock" {
            locks.push(path);
        } else if path.is_dir() && name != "target" && !name.as_encoded_bytes().starts_with(b".") {
            find(&path, locks)?;
        }
    }
    Ok(())
}

/// Locks the packages of the workspace without changing the others, and says why if that would change the file.
fn problem(lock: &Path) -> Option<String> {
    let manifest = lock.with_file_name("Cargo.toml");
    let output = cargo(&["update", "--workspace", "--locked", "--manifest-path"])
        .arg(&manifest)
        .output();
    let said = match output {
        Ok(output) if output.status.success() => return None,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    Some(format!(
        "{} (`cargo metadata` in that folder renews it): {}",
        lock.display(),
        said.trim().replace('\n', "\n      ")
    ))
}

#[cfg(test)]
mod tests {
    use crate::scratch::Scratch;

    use super::*;

    #[test]
    fn a_dependency_that_is_not_locked_is_seen() {
        let folder = Scratch::new("locks").expect("a temporary folder");
        plant(folder.path(), "a", "");
        plant(folder.path(), "b", "");
        let lock = folder.path().join("a/Cargo.lock");
        let text = "version = 4\n[[package]]\nname = \"a\"\nversion = \"0.1.0\"\n";
        fs::write(&lock, text).expect("a file in a scratch folder");

        let mut locks = Vec::new();
        find(folder.path(), &mut locks).expect("folders that were just made");
        assert_eq!(locks, core::slice::from_ref(&lock));
        assert_eq!(problem(&lock), None);

        plant(folder.path(), "a", "b = { path = \"../b\" }");
        let problem = problem(&lock).expect("a lock without b");
        assert!(problem.contains("--locked"), "{problem}");
    }

    fn plant(folder: &Path, name: &str, dependencies: &str) {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n\
             [dependencies]\n{dependencies}\n"
        );
        let sources = folder.join(name).join("src");
        fs::create_dir_all(&sources).expect("a scratch folder");
        fs::write(folder.join(name).join("Cargo.toml"), manifest).expect("a file in it");
        fs::write(sources.join("lib.rs"), "").expect("a file in it");
    }
}
