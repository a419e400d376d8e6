//! Finds the functions named by [`sites`](crate::sites) in the syntax tree of a file.

use proc_macro2::Span;
use syn::{
    Block, Expr, ExprLoop, File, FnArg, Ident, ImplItem, Item, Pat, Signature, Stmt, Type, UseTree,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::{
    error::{Place, Refused},
    sites::SiteSpec,
    text::LineIndex,
};

/// A function found.
pub struct Found<'a> {
    /// Its name, parameters and result.
    pub signature: &'a Signature,
    /// Its body.
    pub body: &'a Block,
    /// The one loop among the statements of its body.
    pub the_loop: &'a ExprLoop,
    /// The item at the top level of the file that the function is or is in.
    pub item: &'a Item,
}

/// The function of `spec` in `file`, if there is exactly one, with exactly one loop.
pub fn locate<'a>(file: &'a File, spec: &SiteSpec, place: &Place) -> Result<Found<'a>, Refused> {
    let candidates = candidates(file, spec);
    let looked_for = format!("one function {}", spec.function_path());
    let (item, signature, body) = match candidates.as_slice() {
        [one] => *one,
        [] => return Err(place.refused(looked_for, "none")),
        several => {
            let spans = several
                .iter()
                .map(|(_, signature, _)| signature.ident.span());
            return Err(place.refused(looked_for, format!("{}: {}", several.len(), lines(spans))));
        }
    };
    Ok(Found {
        signature,
        body,
        the_loop: the_loop(body, place)?,
        item,
    })
}

type Candidate<'a> = (&'a Item, &'a Signature, &'a Block);

fn candidates<'a>(file: &'a File, spec: &SiteSpec) -> Vec<Candidate<'a>> {
    let mut found: Vec<Candidate<'a>> = Vec::new();
    for item in &file.items {
        match (item, spec.owner) {
            (Item::Fn(function), None) if function.sig.ident == spec.function => {
                found.push((item, &function.sig, &function.block));
            }
            (Item::Impl(block), Some(owner))
                if block.trait_.is_none() && is_type(&block.self_ty, owner) =>
            {
                found.extend(block.items.iter().filter_map(|member| match member {
                    ImplItem::Fn(function) if function.sig.ident == spec.function => {
                        Some((item, &function.sig, &function.block))
                    }
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    found
}

fn is_type(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

fn the_loop<'a>(body: &'a Block, place: &Place) -> Result<&'a ExprLoop, Refused> {
    let loops: Vec<&ExprLoop> = body
        .stmts
        .iter()
        .filter_map(|statement| match statement {
            Stmt::Expr(Expr::Loop(the_loop), _) => Some(the_loop),
            _ => None,
        })
        .collect();
    let looked_for = "one `loop` among the statements of the function";
    match loops.as_slice() {
        [one] => Ok(one),
        [] => Err(place.refused(looked_for, "none")),
        several => Err(place.refused(
            looked_for,
            format!(
                "{}: {}",
                several.len(),
                lines(several.iter().map(|the_loop| the_loop.loop_token.span))
            ),
        )),
    }
}

fn lines(spans: impl Iterator<Item = Span>) -> String {
    let lines: Vec<String> = spans
        .map(|span| format!("line {}", span.start().line))
        .collect();
    lines.join(" and ")
}

/// The parameter of type `Context`.
pub fn context_parameter<'a>(
    signature: &'a Signature,
    place: &Place,
) -> Result<&'a Ident, Refused> {
    let names = signature.inputs.iter().filter_map(|input| match input {
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
    match names.as_slice() {
        [one] => Ok(one),
        _ => Err(place.refused(
            "one parameter of type `&mut Context`",
            names.len().to_string(),
        )),
    }
}

/// Refuses a function that uses the name of the inserted variable itself.
pub fn refuse_taken_name(body: &Block, name: &str, place: &Place) -> Result<(), Refused> {
    struct Names<'n> {
        name: &'n str,
        taken: Option<usize>,
    }
    impl<'ast> Visit<'ast> for Names<'_> {
        fn visit_ident(&mut self, ident: &'ast Ident) {
            if ident == self.name {
                self.taken.get_or_insert(ident.span().start().line);
            }
            visit::visit_ident(self, ident);
        }
    }
    let mut names = Names { name, taken: None };
    names.visit_block(body);
    match names.taken {
        None => Ok(()),
        Some(line) => Err(place.refused(
            format!("the name `{name}` to be free"),
            format!("it in line {line}"),
        )),
    }
}

/// The names that an import brings in.
pub(crate) fn names_in(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => names_in(&path.tree, names),
        UseTree::Group(group) => group.items.iter().for_each(|tree| names_in(tree, names)),
        UseTree::Name(name) => names.push(name.ident.to_string()),
        UseTree::Rename(rename) => names.push(rename.rename.to_string()),
        _ => {}
    }
}

/// The line after a block's opening brace, which must end its own.
pub(crate) fn first_line_in(
    lines: &LineIndex<'_>,
    block: &Block,
    place: &Place,
) -> Result<usize, Refused> {
    let open = bytes(&block.brace_token.span.open());
    let line = lines.number(open.start);
    if lines.ends_line(open.end) {
        Ok(line + 1)
    } else {
        Err(place.refused(
            "a line break after an opening brace",
            format!("none in line {line}"),
        ))
    }
}

/// The bytes of a node.
pub(crate) fn bytes(node: &impl Spanned) -> std::ops::Range<usize> {
    node.span().byte_range()
}
