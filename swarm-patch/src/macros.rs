//! The expressions in the invocation of a macro, as far as it is written like a list of them or a `select!`.

use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::token::Brace;
use syn::{Expr, Ident, Macro, Pat, Result, Token};

/// The expressions that a macro gets. None if it is written in another way.
pub(crate) fn expressions(invocation: &Macro) -> Vec<Expr> {
    let list = Punctuated::<Expr, Token![,]>::parse_terminated;
    if let Ok(list) = list.parse2(invocation.tokens.clone()) {
        return list.into_iter().collect();
    }
    syn::parse2::<SelectArms>(invocation.tokens.clone()).map_or_else(|_| Vec::new(), |arms| arms.0)
}

/// The futures, conditions and handlers of a `select!`, as tokio and futures have it:
/// `PATTERN = FUTURE [, if CONDITION] => HANDLER`.
struct SelectArms(Vec<Expr>);

impl Parse for SelectArms {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut found = Vec::new();
        if input.peek(Ident) && input.peek2(Token![;]) {
            input.parse::<Ident>()?; // `biased`
            input.parse::<Token![;]>()?;
        }
        while !input.is_empty() {
            if input.peek(Token![else]) {
                input.parse::<Token![else]>()?;
            } else if input.peek(Ident) && input.peek2(Token![=>]) {
                input.parse::<Ident>()?; // `complete` or `default`
            } else {
                Pat::parse_multi_with_leading_vert(input)?;
                input.parse::<Token![=]>()?;
                found.push(input.parse()?);
                if input.peek(Token![,]) {
                    input.parse::<Token![,]>()?;
                    input.parse::<Token![if]>()?;
                    found.push(input.parse()?);
                }
            }
            input.parse::<Token![=>]>()?;
            found.push(if input.peek(Brace) {
                Expr::Block(input.parse()?)
            } else {
                input.parse()?
            });
            if input.peek(Token![,]) {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(SelectArms(found))
    }
}
