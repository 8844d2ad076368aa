//! As much of `Cargo.toml` as the rules ask for: sections, and keys at the beginning of a line.

#[derive(Debug, Default)]
pub(crate) struct Manifest {
    pub(crate) dependencies: Vec<Dependency>,
    /// `[workspace.dependencies]`
    pub(crate) shared: Vec<String>,
    pub(crate) features: Vec<Feature>,
    /// Test targets with `test = false`.
    pub(crate) separate_tests: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Dev,
    Build,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Feature {
    pub(crate) name: String,
    /// A comment stands on the line above or behind it.
    pub(crate) explained: bool,
}

impl Manifest {
    pub(crate) fn parse(text: &str) -> Self {
        let mut manifest = Self::default();
        let mut section = String::new();
        let mut test_name = String::new();
        let mut above = "";
        let mut open_brackets = 0;
        for line in text.lines() {
            let (code, comment) = line.split_once('#').unwrap_or((line, ""));
            let code = code.trim_end();
            let explained = !comment.is_empty() || above.starts_with('#');
            above = line.trim_start();
            let is_inside_a_value = open_brackets > 0;
            open_brackets += code.matches('[').count();
            open_brackets -= code.matches(']').count().min(open_brackets);
            if is_inside_a_value {
                continue;
            }
            if code.starts_with('[') {
                code.trim_matches(['[', ']']).clone_into(&mut section);
                // `[dependencies.name]`
                if let Some((table, name)) = section.rsplit_once("dependencies.") {
                    manifest.dependency(table, name);
                }
                continue;
            }
            let Some((key, value)) = code.split_once('=') else {
                continue;
            };
            let (key, value) = (key.trim(), value.trim());
            // `name.workspace = true`
            let name = key.split('.').next().unwrap_or(key).trim_matches('"');
            match section.as_str() {
                "features" if name != "default" => {
                    manifest.features.push(Feature {
                        name: name.to_owned(),
                        explained,
                    });
                }
                "workspace.dependencies" => manifest.shared.push(name.to_owned()),
                "test" if name == "name" => value.trim_matches('"').clone_into(&mut test_name),
                "test" if (name, value) == ("test", "false") => {
                    manifest.separate_tests.push(test_name.clone());
                }
                _ => {
                    if let Some(table) = section.strip_suffix("dependencies") {
                        manifest.dependency(table, name);
                    }
                }
            }
        }
        manifest
    }

    /// `table` is what stands before `dependencies`: nothing, `dev-`, `target.'cfg(..)'.dev-`.
    fn dependency(&mut self, table: &str, name: &str) {
        let kind = match table.rsplit('.').next().unwrap_or(table) {
            "dev-" => Kind::Dev,
            "build-" => Kind::Build,
            _ => Kind::Normal,
        };
        self.dependencies.push(Dependency {
            name: name.to_owned(),
            kind,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_found_in_every_form() {
        let manifest = Manifest::parse(
            "[package]\nname = \"x\"\n[dependencies]\na = \"1\"\nb.workspace = true\nc = { version = \"1\", features = [\n  \"d\",\n] }\n\
             [dependencies.e]\nversion = \"1\"\n[target.'cfg(any(unix, windows))'.dev-dependencies]\nf = \"1\" # why\n\
             [build-dependencies]\ng = \"1\"\n",
        );
        let found: Vec<(&str, Kind)> = manifest
            .dependencies
            .iter()
            .map(|dependency| (dependency.name.as_str(), dependency.kind))
            .collect();
        let expected = [
            ("a", Kind::Normal),
            ("b", Kind::Normal),
            ("c", Kind::Normal),
            ("e", Kind::Normal),
            ("f", Kind::Dev),
            ("g", Kind::Build),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn features_carry_their_comment() {
        let manifest = Manifest::parse(
            "[features]\ndefault = []\n# Why.\na = []\nb = [\n  \"dep:c\",\n]\nc = [] # Why.\n[lints]\nworkspace = true\n",
        );
        let found: Vec<(&str, bool)> = manifest
            .features
            .iter()
            .map(|feature| (feature.name.as_str(), feature.explained))
            .collect();
        assert_eq!(found, [("a", true), ("b", false), ("c", true)]);
    }

    #[test]
    fn separate_tests_are_named() {
        let manifest =
            Manifest::parse("[[test]]\nname = \"a\"\n[[test]]\nname = \"b\"\ntest = false\n");
        assert_eq!(manifest.separate_tests, ["b"]);
    }
}
