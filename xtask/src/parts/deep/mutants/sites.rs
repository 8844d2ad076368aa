//! Places where a source can be changed, and the changes: read from its syntax tree, so that macros
//! are left alone.

use core::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Arm, Attribute, BinOp, Block, Expr, ExprBinary, ExprCall, ExprIf, ExprMethodCall, ExprStruct,
    ExprUnary, ExprWhile, GenericArgument, ImplItemFn, ItemFn, ItemImpl, ItemMod, PathArguments,
    ReturnType, Signature, Stmt, TraitItemFn, Type, UnOp,
};

/// One change of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// What stands aside for `instead`, in bytes; empty where something is only put in.
    pub(crate) range: Range<usize>,
    pub(crate) instead: String,
    pub(crate) form: Form,
    /// The function it is in, with its type.
    pub(crate) function: String,
    /// The change, as a person reads it.
    pub(crate) what: String,
}

/// What a range is in Rust's grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Expression,
    Statement,
    /// A statement in front of all others of a function.
    First,
}

/// All of one source.
pub(crate) fn sites(text: &str) -> syn::Result<Vec<Site>> {
    let mut search = Search {
        text,
        path: Vec::new(),
        found: Vec::new(),
    };
    search.visit_file(&syn::parse_file(text)?);
    Ok(search.found)
}

struct Search<'a> {
    text: &'a str,
    /// Types and functions around.
    path: Vec<String>,
    found: Vec<Site>,
}

impl Search<'_> {
    fn source(&self, node: &impl Spanned) -> &str {
        self.text.get(node.span().byte_range()).unwrap_or_default()
    }

    fn add(&mut self, range: Range<usize>, form: Form, instead: String, what: String) {
        let function = self.path.join("::");
        self.found.push(Site {
            range,
            instead,
            form,
            function,
            what,
        });
    }

    /// Another expression, and how a person reads that.
    fn replace(&mut self, node: &impl Spanned, instead: String, what: String) {
        self.add(node.span().byte_range(), Form::Expression, instead, what);
    }

    fn change(&mut self, node: &impl Spanned, instead: &str) {
        let what = format!("`{}` is `{}`", short(self.source(node)), short(instead));
        self.replace(node, instead.to_owned(), what);
    }

    /// Another operator or method.
    fn exchange(&mut self, node: &impl Spanned, instead: String, other: &str) {
        let what = format!("`{}` has `{other}`", short(self.source(node)));
        self.replace(node, instead, what);
    }

    /// A condition that always holds, and one that never does.
    fn decide(&mut self, condition: &Expr) {
        if !has_let(condition) {
            self.change(condition, "true");
            self.change(condition, "false");
        }
    }

    /// Whether a function only answers this.
    fn is_all(&self, block: &Block, answer: &str) -> bool {
        match &*block.stmts {
            [] => answer.is_empty(),
            [Stmt::Expr(only, None)] => self.source(only) == answer,
            _ => false,
        }
    }

    /// Goes on in a function, which may also answer at once.
    fn function(&mut self, signature: &Signature, attributes: &[Attribute], block: &Block) {
        if is_elsewhere(attributes) || signature.ident == "fmt" {
            return;
        }
        self.path.push(signature.ident.to_string());
        let start = block.brace_token.span.open().byte_range().end;
        for answer in answers(&signature.output) {
            if self.is_all(block, &answer) {
                continue;
            }
            let what = match &*answer {
                "" => "does nothing".to_owned(),
                _ => format!("answers `{answer}`"),
            };
            self.add(start..start, Form::First, format!("return {answer};"), what);
        }
        visit::visit_block(self, block);
        self.path.pop();
    }
}

impl<'ast> Visit<'ast> for Search<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_elsewhere(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        // Text for people, which the tests that care compare.
        let is_text = item.trait_.as_ref().is_some_and(|(_, path, _)| {
            let name = path.segments.last().map(|last| last.ident.to_string());
            matches!(name.as_deref(), Some("Debug" | "Display" | "Error"))
        });
        if is_elsewhere(&item.attrs) || is_text {
            return;
        }
        let of = self
            .source(&*item.self_ty)
            .split('<')
            .next()
            .unwrap_or_default();
        self.path.push(of.to_owned());
        for item in &item.items {
            self.visit_impl_item(item);
        }
        self.path.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig, &item.attrs, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig, &item.attrs, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, &item.attrs, block);
        }
    }

    // What is computed while compiling cannot be changed later.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_generic_argument(&mut self, _: &'ast GenericArgument) {}
    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Stmt::Expr(expression, Some(_)) = statement
            && is_deed(expression)
        {
            let what = format!("without `{}`", short(self.source(statement)));
            let range = statement.span().byte_range();
            self.add(range, Form::Statement, String::new(), what);
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr_if(&mut self, expression: &'ast ExprIf) {
        self.decide(&expression.cond);
        visit::visit_expr_if(self, expression);
    }

    fn visit_expr_while(&mut self, expression: &'ast ExprWhile) {
        if !has_let(&expression.cond) {
            self.change(&*expression.cond, "false");
        }
        visit::visit_expr_while(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        if let Some((_, guard)) = &arm.guard {
            self.decide(guard);
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_binary(&mut self, expression: &'ast ExprBinary) {
        if !has_let(&expression.left) && !has_let(&expression.right) {
            let sides = [&expression.left, &expression.right].map(|side| {
                let side = self.source(&**side);
                if is_assignment(&expression.op) {
                    side.to_owned()
                } else {
                    format!("({side})")
                }
            });
            for operator in others(&expression.op) {
                self.exchange(expression, sides.join(&format!(" {operator} ")), operator);
            }
        }
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_unary(&mut self, expression: &'ast ExprUnary) {
        if matches!(expression.op, UnOp::Not(_)) {
            let inner = self.source(&*expression.expr).to_owned();
            self.change(expression, &inner);
        }
        visit::visit_expr_unary(self, expression);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let other = match call.method.to_string().as_str() {
            "min" => "max",
            "max" => "min",
            "is_some" => "is_none",
            "is_none" => "is_some",
            "is_some_and" => "is_none_or",
            "is_none_or" => "is_some_and",
            "any" => "all",
            "all" => "any",
            _ => "",
        };
        if !other.is_empty() {
            let (whole, method) = (call.span().byte_range(), call.method.span().byte_range());
            let part = |range| self.text.get(range).unwrap_or_default();
            let before = part(whole.start..method.start);
            let instead = format!("{before}{other}{}", part(method.end..whole.end));
            self.exchange(call, instead, other);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_struct(&mut self, expression: &'ast ExprStruct) {
        if let Some(rest) = &expression.rest {
            for left_out in 0..expression.fields.len() {
                let mut kept = String::new();
                let mut dropped = String::new();
                for (at, field) in expression.fields.iter().enumerate() {
                    let source = self.source(field);
                    if at == left_out {
                        dropped = short(source);
                    } else {
                        kept.extend([source, ", "]);
                    }
                }
                let path = self.source(&expression.path);
                let instead = format!("{path} {{ {kept}..{} }}", self.source(&**rest));
                let what = format!("`{path}` without `{dropped}`");
                self.replace(expression, instead, what);
            }
        }
        visit::visit_expr_struct(self, expression);
    }
}

/// Whether it is compiled for other machines only, or for tests.
fn is_elsewhere(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        let what = |meta: &syn::MetaList| meta.tokens.to_string();
        let what = attribute.meta.require_list().map(what).unwrap_or_default();
        let elsewhere = ["test", "loom", "target_", "miri", "fuzzing", "not (feature"];
        attribute.path().is_ident("test")
            || is_cfg && elsewhere.iter().any(|word| what.contains(word))
    })
}

fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        Expr::Paren(inner) => has_let(&inner.expr),
        _ => false,
    }
}

/// Whether something is done that can be left undone.
fn is_deed(expression: &Expr) -> bool {
    match expression {
        Expr::Call(call) => !is_early_drop(call),
        Expr::MethodCall(_) | Expr::Assign(_) => true,
        Expr::Binary(binary) => is_assignment(&binary.op),
        Expr::Await(inner) => is_deed(&inner.base),
        Expr::Try(inner) => is_deed(&inner.expr),
        _ => false,
    }
}

/// `drop(a)`: it would be dropped anyway, and often has to be where it is, for what comes next to
/// compile.
fn is_early_drop(call: &ExprCall) -> bool {
    matches!(&*call.func, Expr::Path(path) if path.path.is_ident("drop"))
        && call
            .args
            .iter()
            .all(|of: &Expr| matches!(of, Expr::Path(_)))
}

const fn is_assignment(operator: &BinOp) -> bool {
    matches!(
        operator,
        BinOp::AddAssign(_) | BinOp::SubAssign(_) | BinOp::BitOrAssign(_) | BinOp::BitAndAssign(_)
    )
}

const fn others(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Lt(_) => &["<=", ">="],
        BinOp::Le(_) => &["<", ">"],
        BinOp::Gt(_) => &[">=", "<="],
        BinOp::Ge(_) => &[">", "<"],
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Add(_) => &["-"],
        BinOp::Sub(_) | BinOp::Mul(_) => &["+"],
        BinOp::Div(_) => &["*"],
        BinOp::Rem(_) => &["/"],
        BinOp::BitAnd(_) => &["|"],
        BinOp::BitOr(_) => &["&"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::AddAssign(_) => &["-="],
        BinOp::SubAssign(_) => &["+="],
        BinOp::BitOrAssign(_) => &["&="],
        BinOp::BitAndAssign(_) => &["|="],
        _ => &[],
    }
}

/// What a function of this type may answer at once.
fn answers(output: &ReturnType) -> Vec<String> {
    match output {
        ReturnType::Default => vec![String::new()],
        ReturnType::Type(_, output) => values(output),
    }
}

fn values(of: &Type) -> Vec<String> {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let last = match of {
        Type::Path(path) => path.path.segments.last(),
        Type::Tuple(tuple) if tuple.elems.is_empty() => return texts(&["()"]),
        _ => None,
    };
    let Some(last) = last else { return Vec::new() };
    match last.ident.to_string().as_str() {
        "bool" => texts(&["true", "false"]),
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i64" => texts(&["0", "1"]),
        "Duration" => texts(&["core::time::Duration::ZERO"]),
        "Option" => texts(&["None"]),
        "Vec" => texts(&["Vec::new()"]),
        "Result" => {
            let PathArguments::AngleBracketed(arguments) = &last.arguments else {
                return Vec::new();
            };
            let mut types = arguments.args.iter().filter_map(|argument| match argument {
                GenericArgument::Type(of) => Some(of),
                _ => None,
            });
            let of = types.next().map(values).unwrap_or_default();
            of.iter().map(|value| format!("Ok({value})")).collect()
        }
        _ => Vec::new(),
    }
}

/// On one line, and no longer than a person reads.
fn short(text: &str) -> String {
    const MOST: usize = 90;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let all = sites(text).unwrap();
        all.into_iter().map(|site| site.what).collect()
    }

    #[test]
    fn each_kind_of_change_is_found() {
        let source = "fn f(a: u32, b: u32) -> bool { g(a); if a < b && !h { return a + 1 == b; } a.min(b) == 0 }";
        assert_eq!(
            found(source),
            [
                "answers `true`",
                "answers `false`",
                "without `g(a);`",
                "`a < b && !h` is `true`",
                "`a < b && !h` is `false`",
                "`a < b && !h` has `||`",
                "`a < b` has `<=`",
                "`a < b` has `>=`",
                "`!h` is `h`",
                "`a + 1 == b` has `!=`",
                "`a + 1` has `-`",
                "`a.min(b) == 0` has `!=`",
                "`a.min(b)` has `max`",
            ]
        );
    }

    #[test]
    fn a_field_may_be_missing_beside_a_rest() {
        let whats = found("fn f(b: B) -> B { B { c: 1, d, ..b } }");
        assert_eq!(whats, ["`B` without `c: 1`", "`B` without `d`"]);
        let all = sites("fn f(b: B) -> B { B { c: 1, d, ..b } }").unwrap();
        assert_eq!(all[0].instead, "B { d, ..b }");
    }

    #[test]
    fn what_only_answers_is_not_changed_to_that() {
        assert_eq!(found("fn f() -> bool { false }"), ["answers `true`"]);
    }

    #[test]
    fn what_is_not_run_here_is_left_alone() {
        for source in [
            "const A: u32 = 1 + 2;",
            "#[cfg(test)] mod tests { fn f() { g(); } }",
            "#[cfg(target_arch = \"arm\")] fn f() { g(); }",
            "fn f() {}",
            "impl Debug for A { fn fmt(&self) { g(); } }",
            "fn f<T>(a: A) -> T { drop(a); }",
            "fn f<T>(_: [u8; 1 + 2]) -> T { if let Some(a) = b && let c = d { a } else { m!(1 + 1) } }",
        ] {
            assert_eq!(found(source), [""; 0], "{source}");
        }
    }
}
