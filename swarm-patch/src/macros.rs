//! The expressions in the invocation of a macro.

use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Expr, Macro, Token};

/// The expressions that a macro gets. There are none if it is not written like a list of them.
pub(crate) fn expressions(invocation: &Macro) -> Vec<Expr> {
    let list = Punctuated::<Expr, Token![,]>::parse_terminated;
    let list = list.parse2(invocation.tokens.clone());
    list.map_or_else(|_| Vec::new(), |list| list.into_iter().collect())
}
