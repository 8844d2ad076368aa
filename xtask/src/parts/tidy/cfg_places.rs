//! `cfg` stands on items, never inside a function: then an item is wholly present or wholly absent.

use proc_macro2::TokenStream;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ItemMod, Macro};

use super::workspace::Workspace;

pub(crate) fn check(workspace: &Workspace) -> Vec<String> {
    let mut violations = Vec::new();
    for (package, source) in workspace.sources() {
        let is_checked = source.path.starts_with("src") && !source.path.ends_with("tests.rs");
        if is_checked && package != "xtask" {
            match lines(&source.code) {
                Ok(lines) => violations.extend(source.places(package, &lines)),
                Err(error) => {
                    violations.push(format!("{package}/{}: {error}", source.path.display()));
                }
            }
        }
    }
    violations
}

/// The lines of `cfg` inside functions, but for those of unit tests.
fn lines(code: &TokenStream) -> syn::Result<Vec<usize>> {
    let mut search = Search::default();
    search.visit_file(&syn::parse2(code.clone())?);
    Ok(search.lines)
}

#[derive(Default)]
struct Search {
    blocks: usize,
    lines: Vec<usize>,
}

impl<'ast> Visit<'ast> for Search {
    fn visit_block(&mut self, block: &'ast Block) {
        self.blocks += 1;
        visit::visit_block(self, block);
        self.blocks -= 1;
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let is_test = |list: &syn::MetaList| list.tokens.to_string() == "test";
        let mut lists = module
            .attrs
            .iter()
            .filter_map(|attribute| attribute.meta.require_list().ok());
        if !lists.any(is_test) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let is_cfg = attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr");
        if self.blocks > 0 && is_cfg {
            self.lines.push(attribute.span().start().line);
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let code = call.tokens.to_string();
        let has_cfg =
            call.path.is_ident("cfg") || code.contains("# [cfg") || code.contains("cfg !");
        if self.blocks > 0 && has_cfg {
            self.lines.push(call.span().start().line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cfg_inside_functions_is_found() {
        let found = |text: &str| lines(&text.parse().unwrap()).unwrap();
        let text =
            "fn a() {\n    #[cfg(x)]\n    b();\n    if cfg!(y) {}\n    c! { #[cfg(z)] d }\n}\n";
        assert_eq!(found(text), [2, 4, 5]);
        let text = "#![cfg_attr(x, no_std)]\n#[cfg(x)]\nmod a;\nimpl A {\n    #[cfg(x)]\n    fn b(c: [u8; 2], d: fn(u8)) {}\n}\n\
                    trait B {\n    fn f();\n    #[cfg(x)]\n    fn g() {}\n}\n#[cfg(test)]\nmod tests {\n    fn b() { if cfg!(miri) {} }\n}\n";
        assert_eq!(found(text), []);
    }
}
