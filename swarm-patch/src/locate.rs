//! Finds the functions of [`sites`](crate::sites) in the syntax trees of a crate.

use anyhow::Result;
use proc_macro2::Span;
use syn::{
    Block, File, FnArg, Ident, ImplItem, Item, Pat, ReturnType, Signature, Type, spanned::Spanned,
};

use crate::{
    crate_source::CrateSource,
    error::{Refused, SourcePlace},
    insertion::{Insertion, Place},
    sites::{LoopShape, SiteSpec},
    text::{LineIndex, one_line},
};

pub(crate) struct ParsedCrate {
    pub(crate) id: String,
    pub(crate) files: Vec<ParsedFile>,
}

pub(crate) struct ParsedFile {
    /// Relative to the crate.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) tree: File,
}

impl ParsedCrate {
    /// Reads all files below `src`. One that is not understood has no function to instrument.
    pub(crate) fn read(source: &CrateSource) -> Result<ParsedCrate> {
        let mut files = Vec::new();
        for path in source.rust_files()? {
            let text = source.read(&path)?;
            if let Ok(tree) = syn::parse_file(&text) {
                files.push(ParsedFile { path, text, tree });
            }
        }
        Ok(ParsedCrate {
            id: source.id(),
            files,
        })
    }

    /// The function of a site. It is looked for in the file that it was in, and then in all others.
    pub(crate) fn locate<'a>(&'a self, spec: &'a SiteSpec) -> Result<FoundFunction<'a>, Refused> {
        let all = self.functions(spec.owner, spec.function);
        let all: Vec<FoundFunction<'_>> = all.filter(|found| may_be(spec, found)).collect();
        let is_there = |found: &&FoundFunction<'a>| found.file.path == spec.file;
        let mut there = all.iter().filter(is_there).peekable();
        let found: Vec<&FoundFunction<'_>> = match there.peek() {
            Some(_) => there.collect(),
            None => all.iter().collect(),
        };
        let place = SourcePlace {
            package: self.id.clone(),
            file: spec.file.to_owned(),
            function: spec.function_path(),
        };
        let looked_for = format!("one function {}", place.function);
        only_one(&place, looked_for, &found, |found| {
            found.signature.ident.span()
        })
        .cloned()
    }

    /// The functions of that name: of a type, or free ones.
    pub(crate) fn functions<'a>(
        &'a self,
        owner: Option<&str>,
        name: &str,
    ) -> impl Iterator<Item = FoundFunction<'a>> + use<'a> {
        let mut found = Vec::new();
        for file in &self.files {
            for item in &file.tree.items {
                match (item, owner) {
                    (Item::Fn(function), None) => {
                        found.push((file, &function.sig, &*function.block));
                    }
                    (Item::Impl(block), Some(owner)) if is_type(&block.self_ty, owner) => {
                        found.extend(block.items.iter().filter_map(|member| match member {
                            ImplItem::Fn(function) => Some((file, &function.sig, &function.block)),
                            _ => None,
                        }));
                    }
                    _ => {}
                }
            }
        }
        found.retain(|(_, signature, _)| signature.ident == name);
        let path = owner.map_or_else(|| name.to_owned(), |owner| format!("{owner}::{name}"));
        found
            .into_iter()
            .map(move |(file, signature, body)| FoundFunction {
                place: SourcePlace {
                    package: self.id.clone(),
                    file: file.path.clone(),
                    function: path.clone(),
                },
                file,
                lines: LineIndex::new(&file.text),
                signature,
                body,
            })
    }

    pub(crate) fn only_function<'a>(
        &'a self,
        owner: Option<&str>,
        name: &str,
    ) -> Option<FoundFunction<'a>> {
        let mut found = self.functions(owner, name);
        found.next().filter(|_| found.next().is_none())
    }
}

#[derive(Clone)]
pub(crate) struct FoundFunction<'a> {
    pub(crate) place: SourcePlace,
    pub(crate) file: &'a ParsedFile,
    pub(crate) lines: LineIndex<'a>,
    pub(crate) signature: &'a Signature,
    pub(crate) body: &'a Block,
}

/// Whether a function of the name has the signature of the site's.
fn may_be(spec: &SiteSpec, function: &FoundFunction<'_>) -> bool {
    match spec.shape {
        LoopShape::Task { .. } => true,
        LoopShape::Future { .. } => function.signature.asyncness.is_some(),
        _ => function.context().is_some() && function.returns_poll(),
    }
}

/// Whether the type has that name, whatever its path and arguments.
pub(crate) fn is_type(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

/// The only element of `found`. The refusal of several names their lines.
pub(crate) fn only_one<T: Copy>(
    place: &SourcePlace,
    looked_for: impl Into<String>,
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

    /// The parameter of type `Context`: its name and the whole of it.
    pub(crate) fn context(&self) -> Option<(&'a Ident, &'a FnArg)> {
        let mut contexts = self
            .signature
            .inputs
            .iter()
            .filter_map(|input| match input {
                FnArg::Typed(typed) => match (&*typed.pat, &*typed.ty) {
                    (Pat::Ident(name), Type::Reference(reference))
                        if is_type(&reference.elem, "Context") =>
                    {
                        Some((&name.ident, input))
                    }
                    _ => None,
                },
                FnArg::Receiver(_) => None,
            });
        contexts.next().filter(|_| contexts.next().is_none())
    }

    /// The type that it returns, if that is written there.
    pub(crate) fn returned(&self) -> Option<&'a Type> {
        match &self.signature.output {
            ReturnType::Type(_, ty) => Some(ty),
            ReturnType::Default => None,
        }
    }

    pub(crate) fn returns_poll(&self) -> bool {
        self.returned().is_some_and(|ty| is_type(ty, "Poll"))
    }

    pub(crate) fn text(&self, node: &impl Spanned) -> String {
        one_line(&self.file.text, bytes(node))
    }

    /// Code at the start of a block: a line of its own where the opening brace ends its line.
    pub(crate) fn at_start_of(
        &self,
        block: &Block,
        mark: &'static str,
        text: &str,
    ) -> Vec<Insertion> {
        let open = bytes(&block.brace_token.span.open());
        let line = self.first_line_in(block);
        let lines = text.lines().map(|text| match line {
            Some(line) => Insertion::new(line, mark, text),
            None => self.within(open.end, mark, format!(" {text}")),
        });
        lines.collect()
    }

    /// Code at the end of a block: lines of its own where the closing brace begins its line.
    pub(crate) fn at_end_of(
        &self,
        block: &Block,
        mark: &'static str,
        text: &str,
    ) -> Vec<Insertion> {
        let close = block.brace_token.span.close();
        let lines = text.lines();
        match (self.own_line(&close), self.first_line_in(block)) {
            (Some(line), Some(like)) => lines
                .map(|text| Insertion {
                    place: Place::OwnLine { like },
                    ..Insertion::new(line, mark, text)
                })
                .collect(),
            _ => lines
                .map(|text| self.within(bytes(&close).start, mark, format!(" {text}")))
                .collect(),
        }
    }

    pub(crate) fn in_file(&self, insertions: Vec<Insertion>) -> Vec<(&'a ParsedFile, Insertion)> {
        insertions.into_iter().map(|it| (self.file, it)).collect()
    }

    pub(crate) fn within(&self, byte: usize, mark: &'static str, text: String) -> Insertion {
        Insertion {
            place: Place::Within { byte },
            ..Insertion::new(self.lines.number(byte), mark, text)
        }
    }

    /// The line after a block's opening brace, if that ends its line.
    fn first_line_in(&self, block: &Block) -> Option<usize> {
        let open = bytes(&block.brace_token.span.open());
        let ends_line = self.lines.ends_line(open.end);
        ends_line.then(|| self.lines.number(open.start) + 1)
    }

    /// The line of a node, if it begins its line.
    fn own_line(&self, node: &impl Spanned) -> Option<usize> {
        let start = bytes(node).start;
        let begins_line = self.lines.begins_line(start);
        begins_line.then(|| self.lines.number(start))
    }
}

#[cfg(feature = "subjects")]
impl<'a> FoundFunction<'a> {
    /// The only loop among the statements of the body.
    pub(crate) fn the_loop(&self) -> Result<&'a syn::ExprLoop, Refused> {
        let loops: Vec<&syn::ExprLoop> = self
            .body
            .stmts
            .iter()
            .filter_map(|statement| match statement {
                syn::Stmt::Expr(syn::Expr::Loop(the_loop), _) => Some(the_loop),
                _ => None,
            })
            .collect();
        let looked_for = "one `loop` among the statements of the function";
        only_one(&self.place, looked_for, &loops, |found| {
            found.loop_token.span
        })
    }
}

pub(crate) fn bytes(node: &impl Spanned) -> std::ops::Range<usize> {
    node.span().byte_range()
}
