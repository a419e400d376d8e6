//! Finds the functions of [`sites`](crate::sites) in the syntax trees of a crate.

use std::fmt::Display;

use anyhow::Result;
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Block, Fields, File, FnArg, Ident, ImplItem, Item, Pat, ReturnType, Signature, Type};

use crate::crate_dir::CrateDir;
use crate::error::Refused;
use crate::insertion::{Insertion, LinePlace, Mark};
use crate::sites::{LoopShape, SiteSpec};
use crate::text::{begins_line, ends_line, line_number, one_line};

pub(crate) struct ParsedCrate {
    pub(crate) id: String,
    pub(crate) files: Vec<ParsedFile>,
}

pub(crate) struct ParsedFile {
    /// The path of the file, relative to the crate.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) tree: File,
}

impl ParsedFile {
    /// The path and the text of the file.
    pub(crate) fn named(&self) -> (&str, &str) {
        (&self.path, &self.text)
    }
}

impl ParsedCrate {
    /// Reads all files below `src`. A file that does not parse is taken to have no function to instrument.
    pub(crate) fn read(source: &CrateDir) -> Result<ParsedCrate> {
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

    /// The name of a function in messages.
    pub(crate) fn place(&self, file: &str, path: &str) -> String {
        format!("{}, {file}, {path}", self.id)
    }

    /// Finds the function of a site. It is looked for in the file that the description names, and then in all others.
    pub(crate) fn locate(&self, spec: &SiteSpec) -> Result<FoundFunction<'_>, Refused> {
        let mut found = self.functions(spec.function);
        found.retain(|function| has_fitting_signature(spec, function));
        let is_there = |function: &FoundFunction<'_>| function.file.path == spec.file;
        if found.iter().any(is_there) {
            found.retain(is_there);
        }
        let place = self.place(spec.file, spec.function);
        let looked_for = format!("one function {}", spec.function);
        only_one(&place, looked_for, found, |function| {
            function.signature.ident.span()
        })
    }

    /// The functions with this path: `Type::function`, or `function` for a free one.
    pub(crate) fn functions(&self, path: &str) -> Vec<FoundFunction<'_>> {
        let (owner, name) = path.split_once("::").unwrap_or(("", path));
        let mut found = Vec::new();
        for file in &self.files {
            let mut add = |signature, body| {
                found.push(FoundFunction {
                    place: self.place(&file.path, path),
                    path: path.to_owned(),
                    file,
                    signature,
                    body,
                });
            };
            for item in &file.tree.items {
                match item {
                    Item::Fn(function) if owner.is_empty() => add(&function.sig, &function.block),
                    Item::Impl(block) if is_type(&block.self_ty, owner) => {
                        for member in &block.items {
                            if let ImplItem::Fn(function) = member {
                                add(&function.sig, &function.block);
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        found.retain(|function| function.signature.ident == name);
        found
    }

    pub(crate) fn only_function(&self, path: &str) -> Option<FoundFunction<'_>> {
        let mut found = self.functions(path);
        found.pop().filter(|_| found.is_empty())
    }
}

#[derive(Clone)]
pub(crate) struct FoundFunction<'a> {
    /// The name of the function in messages.
    pub(crate) place: String,
    /// `Type::function`, or `function` for a free one.
    pub(crate) path: String,
    pub(crate) file: &'a ParsedFile,
    pub(crate) signature: &'a Signature,
    pub(crate) body: &'a Block,
}

/// Code to insert, with its file.
pub(crate) type InFile<'a> = (&'a ParsedFile, Insertion);

/// Whether a function with the name of the site's function can be the one that is looked for.
fn has_fitting_signature(spec: &SiteSpec, function: &FoundFunction<'_>) -> bool {
    match spec.shape {
        LoopShape::Task { .. } | LoopShape::FutureWithCalls(_) => {
            function.signature.asyncness.is_some()
        }
        LoopShape::Poll { .. } | LoopShape::BoundedInside(_) => {
            function.context().is_some() && function.returns_poll()
        }
    }
}

/// Whether the type has this name, whatever its path and arguments.
pub(crate) fn is_type(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

/// The only element of `found`. The refusal of several names their lines.
pub(crate) fn only_one<T>(
    place: &str,
    looked_for: impl Display,
    mut found: Vec<T>,
    span: impl Fn(&T) -> Span,
) -> Result<T, Refused> {
    let line = |one| format!("line {}", span(one).start().line);
    let lines: Vec<String> = found.iter().map(line).collect();
    match (found.pop(), lines.len()) {
        (Some(one), 1) => Ok(one),
        (None, _) => Err(Refused::new(place, looked_for, "none")),
        (Some(_), several) => {
            let found = format!("{several}: {}", lines.join(" and "));
            Err(Refused::new(place, looked_for, found))
        }
    }
}

impl<'a> FoundFunction<'a> {
    /// The refusal of a function that is not as expected. `found` is in the first line of `node`.
    pub(crate) fn refused(
        &self,
        looked_for: impl Display,
        found: impl Display,
        node: &impl Spanned,
    ) -> Refused {
        let found = format!("{found} in line {}", node.span().start().line);
        Refused::new(&self.place, looked_for, found)
    }

    /// The name of the parameter of type `Context`, and the whole parameter.
    pub(crate) fn context(&self) -> Option<(&'a Ident, &'a FnArg)> {
        let mut contexts = self.signature.inputs.iter().filter_map(|input| {
            let FnArg::Typed(typed) = input else {
                return None;
            };
            match (&*typed.pat, &*typed.ty) {
                (Pat::Ident(name), Type::Reference(reference))
                    if is_type(&reference.elem, "Context") =>
                {
                    Some((&name.ident, input))
                }
                _ => None,
            }
        });
        contexts.next().filter(|_| contexts.next().is_none())
    }

    /// The return type, if the signature has one.
    fn returned(&self) -> Option<&'a Type> {
        match &self.signature.output {
            ReturnType::Type(_, ty) => Some(ty),
            ReturnType::Default => None,
        }
    }

    pub(crate) fn returns_poll(&self) -> bool {
        self.returned().is_some_and(|ty| is_type(ty, "Poll"))
    }

    pub(crate) fn returned_text(&self) -> String {
        self.returned().map_or_else(String::new, |ty| self.text(ty))
    }

    pub(crate) fn text(&self, node: &impl Spanned) -> String {
        one_line(&self.file.text, bytes(node))
    }

    /// Code at the start of a block. It gets lines of its own if the opening brace ends its line.
    pub(crate) fn at_start_of(&self, block: &Block, mark: Mark, text: &str) -> Vec<InFile<'a>> {
        let open = bytes(&block.brace_token.span.open());
        let place = self.first_line_in(block).map(|line| LinePlace {
            before: line,
            like: line,
        });
        self.code(open.end, place, mark, text)
    }

    /// Code around the body. At the end it gets lines of its own if the closing brace begins its line.
    pub(crate) fn around_body(&self, begin: &str, end: &str) -> Vec<InFile<'a>> {
        let close = bytes(&self.body.brace_token.span.close()).start;
        let like = self.first_line_in(self.body);
        let place = like
            .filter(|_| begins_line(&self.file.text, close))
            .map(|like| LinePlace {
                before: self.line_number(close),
                like,
            });
        let mut around = self.at_start_of(self.body, Mark::Enter, begin);
        around.extend(self.code(close, place, Mark::Leave, end));
        around
    }

    /// Code in lines of its own. Without a place for lines, the code goes to the byte instead.
    fn code(
        &self,
        byte: usize,
        place: Option<LinePlace>,
        mark: Mark,
        text: &str,
    ) -> Vec<InFile<'a>> {
        let insertions = match place {
            Some(place) => Insertion::lines(&self.file.text, place, mark, text),
            None => text
                .lines()
                .map(|line| Insertion::new(byte, mark, format!(" {line}")))
                .collect(),
        };
        insertions
            .into_iter()
            .map(|insertion| (self.file, insertion))
            .collect()
    }

    pub(crate) fn within(&self, byte: usize, mark: Mark, text: impl Into<String>) -> InFile<'a> {
        (self.file, Insertion::new(byte, mark, text))
    }

    /// Adds fields to a struct in the function's file.
    pub(crate) fn fields(&self, name: &str, fields: &str) -> Result<InFile<'a>, Refused> {
        let named = self.file.tree.items.iter().find_map(|item| match item {
            Item::Struct(item) if item.ident == name => match &item.fields {
                Fields::Named(named) => Some(bytes(&named.brace_token.span.open()).end),
                _ => None,
            },
            _ => None,
        });
        let looked_for = || format!("a struct {name} with named fields");
        let byte = named.ok_or_else(|| Refused::new(&self.place, looked_for(), "none"))?;
        Ok((
            self.file,
            Insertion::new(byte, Mark::Remedy, format!(" {fields}")),
        ))
    }

    pub(crate) fn line_number(&self, byte: usize) -> usize {
        line_number(&self.file.text, byte)
    }

    /// The number of the line after a block's opening brace, if the brace ends its line.
    fn first_line_in(&self, block: &Block) -> Option<usize> {
        let open = bytes(&block.brace_token.span.open());
        ends_line(&self.file.text, open.end).then(|| self.line_number(open.start) + 1)
    }
}

pub(crate) fn bytes(node: &impl Spanned) -> std::ops::Range<usize> {
    node.span().byte_range()
}
