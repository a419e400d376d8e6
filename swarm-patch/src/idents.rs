//! The identifiers that code uses, those in macros included.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::Ident;

use crate::error::Refused;
use crate::locate::{FoundFunction, bytes};

/// All identifiers, in their order.
pub(crate) fn idents(code: &impl ToTokens) -> Vec<Ident> {
    fn collect(tokens: TokenStream, found: &mut Vec<Ident>) {
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => found.push(ident),
                TokenTree::Group(group) => collect(group.stream(), found),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
    let mut found = Vec::new();
    collect(code.to_token_stream(), &mut found);
    found
}

pub(crate) fn uses(code: &impl ToTokens, name: &Ident) -> bool {
    idents(code).contains(name)
}

/// Refuses a function whose own code uses the name of the inserted variable.
pub(crate) fn refuse_taken_name(function: &FoundFunction<'_>, name: &str) -> Result<(), Refused> {
    match idents(function.body).iter().find(|ident| *ident == name) {
        None => Ok(()),
        Some(ident) => Err(function.refused(format!("no variable `{name}`"), "one", ident)),
    }
}

/// Refuses a function that uses its context `cx` elsewhere than at the `marked` bytes, because it could poll a child unseen
/// there. The function may use the waker of the context.
pub(crate) fn refuse_other_contexts(
    function: &FoundFunction<'_>,
    cx: &Ident,
    marked: &[usize],
) -> Result<(), Refused> {
    let used = idents(function.body);
    let makes_context = |ident: &&Ident| *ident == "from_waker" || *ident == "ContextBuilder";
    if let Some(made) = used.iter().find(makes_context) {
        return Err(function.refused(format!("no context but `{cx}`"), "one made", made));
    }
    let is_known = |ident: &Ident| {
        let place = bytes(ident);
        let after = function.file.text[place.end..].trim_start();
        marked.contains(&place.start) || after.starts_with(".waker()")
    };
    let mut contexts = used.iter().filter(|ident| *ident == cx);
    match contexts.find(|ident| !is_known(ident)) {
        None => Ok(()),
        Some(other) => Err(function.refused(
            format!("no use of `{cx}` except as an argument of polls and for its waker"),
            "another use",
            other,
        )),
    }
}

/// Refuses an `async` function that uses `poll_fn` more often than the `marked` times, because the polls there would not be
/// seen.
pub(crate) fn refuse_other_closures(
    function: &FoundFunction<'_>,
    marked: usize,
) -> Result<(), Refused> {
    let used = idents(function.body);
    let mut found = used.iter().filter(|ident| *ident == "poll_fn");
    match found.nth(marked) {
        None => Ok(()),
        Some(other) => Err(function.refused("`poll_fn` with a closure", "another use", other)),
    }
}
