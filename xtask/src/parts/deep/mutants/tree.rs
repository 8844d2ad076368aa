//! A copy of the workspace, and the mutants of its sources.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::plant::{Planted, plant};
use super::sites::{Site, sites};
use crate::helpers::prelude::*;

/// Tells whether a number is chosen; of a core that is planted, and of all that use it.
const CHOICE: &str = include_str!("choice.rs");

pub(crate) struct Mutant {
    pub(crate) number: usize,
    /// From the root.
    pub(crate) path: String,
    /// What names it as long as its source says the same.
    pub(crate) key: String,
    site: Site,
}

pub(crate) struct Tree {
    mutants: Vec<Mutant>,
    /// What is there by number.
    states: Vec<State>,
    /// Of each file with a mutant.
    texts: HashMap<String, String>,
    planted: HashMap<String, Planted>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Left,
    Chosen,
    /// It does not compile.
    Dropped,
}

impl Tree {
    pub(crate) fn read(sources: &[&str], is_judged: fn(&str) -> bool) -> Result<Self, String> {
        let (texts, planted) = (HashMap::new(), HashMap::new());
        let mut tree = Self {
            mutants: Vec::new(),
            states: Vec::new(),
            texts,
            planted,
        };
        for source in sources {
            let path = root().join(source);
            let files = if path.is_dir() {
                files::sources(&path)
            } else {
                Ok(vec![path.clone()])
            };
            for file in files.map_err(files::of(&path))? {
                let own = file.strip_prefix(root()).unwrap_or(&file);
                let name = own.to_string_lossy().into_owned();
                let is_test = name.ends_with("tests.rs") || name.contains("/tests/");
                if !is_test && is_judged(&name) {
                    tree.read_file(&file, name)?;
                }
            }
        }
        tree.states = vec![State::Left; tree.mutants.len()];
        Ok(tree)
    }

    fn read_file(&mut self, file: &Path, path: String) -> Result<(), String> {
        let text = files::read(file)?;
        let mut times = HashMap::new();
        for site in sites(&text).map_err(|error| format!("{path}: {error}"))? {
            let key = format!("{path}: {}: {}", site.function, site.what);
            let time: &mut usize = times.entry(key.clone()).or_default();
            *time += 1;
            let key = if *time == 1 {
                key
            } else {
                format!("{key} ({time})")
            };
            self.mutants.push(Mutant {
                number: self.mutants.len(),
                path: path.clone(),
                key,
                site,
            });
        }
        self.texts.insert(path, text);
        Ok(())
    }

    pub(crate) fn mutants(&self) -> &[Mutant] {
        &self.mutants
    }

    pub(crate) fn choose(&mut self, is_chosen: impl Fn(&Mutant) -> bool) {
        for mutant in &self.mutants {
            if is_chosen(mutant)
                && let Some(state) = self.states.get_mut(mutant.number)
            {
                *state = State::Chosen;
            }
        }
    }

    fn is(&self, state: State) -> impl Fn(&&Mutant) -> bool {
        move |mutant| self.states.get(mutant.number) == Some(&state)
    }

    /// Those that are built.
    pub(crate) fn chosen(&self) -> Vec<&Mutant> {
        self.mutants.iter().filter(self.is(State::Chosen)).collect()
    }

    pub(crate) fn dropped(&self) -> usize {
        self.mutants.iter().filter(self.is(State::Dropped)).count()
    }

    /// Where the copy is.
    pub(crate) fn folder() -> PathBuf {
        target().join("mutants/tree")
    }

    /// Writes the copy; files that are as they should be keep their dates, so that cargo builds no
    /// more than it must.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        let enters = |path: &Path| {
            let own = path.strip_prefix(root()).unwrap_or(path);
            !path.ends_with("target") && !path.ends_with("node_modules") && own != Path::new(".git")
        };
        for file in files::below(&root(), &enters)? {
            let own = file.strip_prefix(root()).map_err(io::Error::other)?;
            let name = own.to_string_lossy().into_owned();
            // A worktree's, which is a file.
            if name == ".git" {
                continue;
            }
            let copy = Self::folder().join(own);
            let bytes = match self.planted_text(&name) {
                Some(text) => text.into_bytes(),
                None => fs::read(&file)?,
            };
            if fs::read(&copy).ok().as_ref() != Some(&bytes) {
                fs::create_dir_all(copy.parent().unwrap_or(&copy))?;
                fs::write(&copy, bytes)?;
            }
        }
        for copy in files::below(&Self::folder(), &|_| true)? {
            let own = copy
                .strip_prefix(Self::folder())
                .map_err(io::Error::other)?;
            // A module that has moved would be there twice.
            if !root().join(own).exists() {
                fs::remove_file(&copy)?;
            }
        }
        fs::write(Self::folder().join("randflake-core/src/mutants.rs"), CHOICE)
    }

    fn planted_text(&mut self, name: &str) -> Option<String> {
        if name == "randflake-core/src/lib.rs" {
            let text = fs::read_to_string(root().join(name)).ok()?;
            // What tells a constant that is computed from a call.
            return Some(format!(
                "#![feature(const_eval_select, core_intrinsics)]\n{text}\npub mod mutants;\n"
            ));
        }
        let text = self.texts.get(name)?;
        let is_chosen = self.is(State::Chosen);
        let of_file = self
            .mutants
            .iter()
            .filter(|mutant| mutant.path == name)
            .filter(is_chosen);
        let sites: Vec<_> = of_file
            .map(|mutant| (mutant.number, &mutant.site))
            .collect();
        let krate = if name.starts_with("randflake-core") {
            "crate"
        } else {
            "randflake_core"
        };
        let planted = plant(text, &sites, &format!("{krate}::mutants::is_chosen"));
        let text = planted.text.clone();
        self.planted.insert(name.to_owned(), planted);
        Some(text)
    }

    /// Leaves out the changes that an error is about, and says whether there were any.
    pub(crate) fn drop_at(&mut self, name: &str, line: usize, column: usize) -> bool {
        let planted = self.planted.get(name);
        let numbers = planted
            .map(|planted| planted.at(line, column))
            .unwrap_or_default();
        for number in &numbers {
            if let Some(state) = self.states.get_mut(*number) {
                *state = State::Dropped;
            }
        }
        !numbers.is_empty()
    }
}
