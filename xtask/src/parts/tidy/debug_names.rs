//! A hand-written `Debug` shows the name of its own type: after a renaming nobody sees the old one
//! in a log.

use super::workspace::Workspace;

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for (package, source) in workspace.sources() {
        let found = wrong(&source.code.to_string());
        violations.extend(found.map(|what| format!("{package}/{}: {what}", source.path.display())));
    }
    violations
}

/// Types whose impls give another name to the first `debug_struct` or `debug_tuple`. The code is as
/// tokens are printed.
fn wrong(code: &str) -> Option<String> {
    code.split("Debug for ").skip(1).find_map(|rest| {
        let name = rest.split([' ', '<']).next()?;
        let of_impl = rest.split(" impl ").next()?;
        let (_, call) = of_impl
            .split_once("debug_struct (")
            .or_else(|| of_impl.split_once("debug_tuple ("))?;
        let shown = call.strip_prefix('"')?.split('"').next()?;
        (shown != name).then(|| format!("{name} is shown as {shown}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_name_is_seen() {
        let wrong = |text: &str| {
            wrong(
                &text
                    .parse::<proc_macro2::TokenStream>()
                    .unwrap()
                    .to_string(),
            )
        };
        let debug = |name: &str| {
            format!(
                "mod a {{ impl<T: Debug> fmt::Debug for Slot<T> where T: Copy {{ fn fmt(&self) {{ f.debug_struct({name:?}) }} }} }}"
            )
        };
        assert_eq!(wrong(&debug("Slot")), None);
        assert_eq!(
            wrong(&debug("Place")),
            Some("Slot is shown as Place".to_owned())
        );
        assert_eq!(wrong("fn a() { f.debug_struct(name) }"), None);
    }
}
