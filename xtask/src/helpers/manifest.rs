//! The fields of `Cargo.toml` that rules and parts read.

use core::ops::Range;

use toml::de::{DeTable, DeValue, Error};

#[derive(Debug, Default)]
pub(crate) struct Manifest {
    /// Name of the package.
    pub(crate) name: String,
    /// Folders of `[workspace] members`.
    pub(crate) members: Vec<String>,
    /// Names of those of each kind.
    pub(crate) dependencies: Vec<String>,
    pub(crate) features: Vec<Feature>,
    /// Test targets with `test = false`.
    pub(crate) separate_tests: Vec<String>,
    /// Whether docs.rs documents it with all features.
    pub(crate) shows_all_features: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Feature {
    pub(crate) name: String,
    /// A comment stands on the line above or behind it.
    pub(crate) explained: bool,
    /// Other features and `dep:CRATE`s that it turns on.
    pub(crate) enables: Vec<String>,
}

impl Manifest {
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let document = DeTable::parse(text)?;
        let root = document.get_ref();
        let mut manifest = Self::default();
        manifest.dependencies_of(root);
        for target in table(root, "target").into_iter().flatten() {
            if let Some(target) = target.1.get_ref().as_table() {
                manifest.dependencies_of(target);
            }
        }
        let package = table(root, "package");
        let name = package.and_then(|package| package.get("name")?.get_ref().as_str());
        name.unwrap_or_default().clone_into(&mut manifest.name);
        let workspace = table(root, "workspace");
        let members = workspace.and_then(|workspace| workspace.get("members"));
        manifest.members = strings(members);
        let features = table(root, "features").into_iter().flatten();
        manifest.features = features
            .filter(|(name, _)| name.get_ref() != "default")
            .map(|(name, enables)| Feature {
                name: name.get_ref().to_string(),
                explained: is_explained(text, name.span()),
                enables: strings(Some(enables)),
            })
            .collect();
        let tests = root
            .get("test")
            .and_then(|tests| tests.get_ref().as_array())
            .into_iter()
            .flatten()
            .map(toml::Spanned::get_ref);
        let separate = tests.filter(|test| {
            let runs = test.get("test").and_then(|runs| runs.get_ref().as_bool());
            runs == Some(false)
        });
        manifest.separate_tests = separate
            .filter_map(|test: &DeValue<'_>| Some(test.get("name")?.get_ref().as_str()?.to_owned()))
            .collect();
        manifest.shows_all_features = shows_all_features(root);
        Ok(manifest)
    }

    fn dependencies_of(&mut self, parent: &DeTable<'_>) {
        for key in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let names = table(parent, key)
                .into_iter()
                .flat_map(DeTable::keys)
                .map(|name| name.get_ref().to_string());
            self.dependencies.extend(names);
        }
    }
}

fn shows_all_features(root: &DeTable<'_>) -> bool {
    let path = ["package", "metadata", "docs", "rs"];
    let docs = path.iter().try_fold(root, |parent, key| table(parent, key));
    let said = docs.and_then(|docs| docs.get("all-features")?.get_ref().as_bool());
    said == Some(true)
}

/// The texts of an array.
fn strings(array: Option<&toml::Spanned<DeValue<'_>>>) -> Vec<String> {
    let array = array.and_then(|array| array.get_ref().as_array());
    let texts = array
        .into_iter()
        .flatten()
        .filter_map(|text| text.get_ref().as_str());
    texts.map(str::to_owned).collect()
}

fn table<'a, 'i>(parent: &'a DeTable<'i>, key: &str) -> Option<&'a DeTable<'i>> {
    parent.get(key)?.get_ref().as_table()
}

/// Whether the line of a key, or the line above, has a comment.
fn is_explained(text: &str, key: Range<usize>) -> bool {
    let (before, behind) = text.split_at(key.end);
    let above = before.lines().nth_back(1).unwrap_or_default();
    let line = behind.lines().next().unwrap_or_default();
    above.trim_start().starts_with('#') || line.contains('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_rules_ask_is_read() {
        let text = "[dependencies]\na.workspace = true\n[dependencies.b]\nversion = \"1\"\n\
             [target.'cfg(unix)'.dev-dependencies]\nc = { version = \"1\" }\n[build-dependencies]\nd = \"1\"\n\
             [features]\ndefault = []\n# Why.\na = []\nb = [\n  \"dep:c\",\n]\nc = [] # Why.\n\
             [package.metadata.docs.rs]\nall-features = true\n\
             [[test]]\nname = \"a\"\n[[test]]\nname = \"b\"\ntest = false\n";
        let manifest = Manifest::parse(text).unwrap();
        assert_eq!(manifest.dependencies, ["a", "b", "d", "c"]);
        let features = manifest.features.iter().map(|f| (&*f.name, f.explained));
        assert!(features.eq([("a", true), ("b", false), ("c", true)]));
        assert!(manifest.shows_all_features);
        assert_eq!(manifest.separate_tests, ["b"]);
        let others = Manifest::parse("[package.metadata.docs.rs]\nfeatures = [\"a\"]\n").unwrap();
        assert!(!others.shows_all_features);
    }
}
