//! Nothing is left to be done, and no test is left out.

use super::workspace::Workspace;

const FORBIDDEN: &[&str] = &["todo!", "unimplemented!", "#[ignore"];

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for member in &workspace.members {
        for source in &member.sources {
            for (number, line) in source.code.lines().enumerate() {
                for word in FORBIDDEN.iter().filter(|word| line.contains(**word)) {
                    let place = format!("{}/{}:{}", member.name, source.path.display(), number + 1);
                    violations.push(format!("{place}: {word}"));
                }
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::workspace::Member;
    use super::*;

    #[test]
    fn what_is_left_out_is_seen() {
        let text =
            "fn a() {\n    todo!()\n}\n#[test]\n#[ignore]\nfn b() { unimplemented!(\"x\") }\n";
        let workspace =
            Workspace::planted("", vec![Member::planted("m", "", &[("tests/a.rs", text)])]);
        assert_eq!(
            check(&workspace),
            [
                "m/tests/a.rs:2: todo!",
                "m/tests/a.rs:5: #[ignore",
                "m/tests/a.rs:6: unimplemented!"
            ]
        );
    }

    #[test]
    fn a_reason_for_miri_is_none() {
        let text = "// todo!()\n#[cfg_attr(miri, ignore = \"a million rounds\")]\nfn a() { println!(\"todo!\") }\n";
        let workspace =
            Workspace::planted("", vec![Member::planted("m", "", &[("src/a.rs", text)])]);
        assert_eq!(check(&workspace), Vec::<String>::new());
    }
}
