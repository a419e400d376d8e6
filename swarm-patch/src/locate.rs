//! Finds the functions of [`sites`](crate::sites) in the syntax tree of a file.

use proc_macro2::Span;
use syn::{
    Block, ExprLoop, File, FnArg, Ident, ImplItem, Item, Pat, Signature, Stmt, Type, UseTree,
    spanned::Spanned,
};

use crate::{
    error::{Refused, SourcePlace},
    sites::SiteSpec,
    text::{LineIndex, one_line},
};

/// A function that was found, and its file.
pub(crate) struct FoundFunction<'a> {
    pub(crate) spec: &'a SiteSpec,
    pub(crate) place: SourcePlace,
    pub(crate) source: &'a str,
    pub(crate) lines: LineIndex<'a>,
    pub(crate) tree: &'a File,
    pub(crate) signature: &'a Signature,
    pub(crate) body: &'a Block,
    /// The only loop among the statements of the body.
    pub(crate) the_loop: &'a ExprLoop,
}

/// Finds the function of `spec` in a file of `package`. Refuses the file unless it has exactly one
/// such function with exactly one loop.
pub(crate) fn locate<'a>(
    package: String,
    source: &'a str,
    tree: &'a File,
    spec: &'a SiteSpec,
) -> Result<FoundFunction<'a>, Refused> {
    let place = SourcePlace {
        package,
        file: spec.file.to_owned(),
        function: spec.function_path(),
    };
    let looked_for = format!("one function {}", place.function);
    let (signature, body) = only_one(
        &place,
        &looked_for,
        &candidates(tree, spec),
        |(signature, _)| signature.ident.span(),
    )?;
    let loops: Vec<&ExprLoop> = body
        .stmts
        .iter()
        .filter_map(|statement| match statement {
            Stmt::Expr(syn::Expr::Loop(the_loop), _) => Some(the_loop),
            _ => None,
        })
        .collect();
    let looked_for = "one `loop` among the statements of the function";
    let the_loop = only_one(&place, looked_for, &loops, |found| found.loop_token.span)?;
    Ok(FoundFunction {
        spec,
        place,
        source,
        lines: LineIndex::new(source),
        tree,
        signature,
        body,
        the_loop,
    })
}

type Candidate<'a> = (&'a Signature, &'a Block);

fn candidates<'a>(file: &'a File, spec: &SiteSpec) -> Vec<Candidate<'a>> {
    let mut found: Vec<Candidate<'a>> = Vec::new();
    for item in &file.items {
        match (item, spec.owner) {
            (Item::Fn(function), None) => found.push((&function.sig, &function.block)),
            (Item::Impl(block), Some(owner))
                if block.trait_.is_none() && is_type(&block.self_ty, owner) =>
            {
                found.extend(block.items.iter().filter_map(|member| match member {
                    ImplItem::Fn(function) => Some((&function.sig, &function.block)),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    found.retain(|(signature, _)| signature.ident == spec.function);
    found
}

fn is_type(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

/// The only element of `found`. The refusal of several names their lines.
pub(crate) fn only_one<T: Copy>(
    place: &SourcePlace,
    looked_for: &str,
    found: &[T],
    span: impl Fn(T) -> Span,
) -> Result<T, Refused> {
    match found {
        [one] => Ok(*one),
        [] => Err(place.refused(looked_for, "none")),
        several => {
            let lines: Vec<String> = several
                .iter()
                .map(|one| format!("line {}", span(*one).start().line))
                .collect();
            let found = format!("{}: {}", several.len(), lines.join(" and "));
            Err(place.refused(looked_for, found))
        }
    }
}

impl<'a> FoundFunction<'a> {
    /// The function is not as expected: `found` is in the first line of `node`.
    pub(crate) fn refused(
        &self,
        looked_for: impl Into<String>,
        found: impl std::fmt::Display,
        node: &impl Spanned,
    ) -> Refused {
        let line = node.span().start().line;
        self.place
            .refused(looked_for, format!("{found} in line {line}"))
    }

    /// The parameter of type `Context`.
    pub(crate) fn context_parameter(&self) -> Result<&'a Ident, Refused> {
        let names = self
            .signature
            .inputs
            .iter()
            .filter_map(|input| match input {
                FnArg::Typed(typed) => match (&*typed.pat, &*typed.ty) {
                    (Pat::Ident(name), Type::Reference(reference))
                        if is_type(&reference.elem, "Context") =>
                    {
                        Some(&name.ident)
                    }
                    _ => None,
                },
                FnArg::Receiver(_) => None,
            });
        let names: Vec<&Ident> = names.collect();
        let looked_for = "one parameter of type `&mut Context`";
        only_one(&self.place, looked_for, &names, Ident::span)
    }

    /// The imports at the top level of the file, each with the names that it brings in.
    pub(crate) fn imports(&self) -> impl Iterator<Item = (&'a Item, Vec<String>)> {
        self.tree.items.iter().filter_map(|item| match item {
            Item::Use(import) => {
                let mut names = Vec::new();
                names_in(&import.tree, &mut names);
                Some((item, names))
            }
            _ => None,
        })
    }

    /// The text of a node, in one line.
    pub(crate) fn text(&self, node: &impl Spanned) -> String {
        one_line(self.source, bytes(node))
    }

    /// The line after a block's opening brace, which must end its line.
    pub(crate) fn first_line_in(&self, block: &Block) -> Result<usize, Refused> {
        let open = block.brace_token.span.open();
        if self.lines.ends_line(bytes(&open).end) {
            Ok(self.lines.number(bytes(&open).start) + 1)
        } else {
            Err(self.refused("a line break after an opening brace", "none", &open))
        }
    }

    /// The line of a node, which must begin its line.
    pub(crate) fn own_line(&self, node: &impl Spanned) -> Result<usize, Refused> {
        let start = bytes(node).start;
        if self.lines.begins_line(start) {
            Ok(self.lines.number(start))
        } else {
            let looked_for = "a line break before the marked code";
            Err(self.refused(looked_for, "other code before it", node))
        }
    }

    /// The line after a node, which must end its line.
    pub(crate) fn line_after(&self, node: &impl Spanned) -> Result<usize, Refused> {
        let end = bytes(node).end;
        let line = self.lines.number(end - 1);
        if self.lines.ends_line(end) {
            Ok(line + 1)
        } else {
            Err(self.place.refused(
                "a line break after the marked code",
                format!("other code behind it in line {line}"),
            ))
        }
    }
}

fn names_in(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => names_in(&path.tree, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| names_in(tree, names)),
        UseTree::Name(name) => names.push(name.ident.to_string()),
        UseTree::Rename(rename) => names.push(rename.rename.to_string()),
        _ => {}
    }
}

/// The bytes of a node.
pub(crate) fn bytes(node: &impl Spanned) -> std::ops::Range<usize> {
    node.span().byte_range()
}
