//! The place where the future of a connection is handed to the executor.

use syn::spanned::Spanned;
use syn::{Expr, ExprMethodCall};

use crate::calls::Expressions;
use crate::error::Refused;
use crate::locate::{FoundFunction, InFile, ParsedCrate, bytes, only_one};

/// The future that a connection becomes a task with, where it is handed to the executor.
pub(super) struct Spawned<'a> {
    function: FoundFunction<'a>,
    call: &'a ExprMethodCall,
}

impl<'a> Spawned<'a> {
    /// Looks for the place in that function.
    pub(super) fn locate(parsed: &'a ParsedCrate, path: &str) -> Result<Spawned<'a>, Refused> {
        let place = parsed.place("src", path);
        let function = only_one(&place, "one function", parsed.functions(path), |found| {
            found.signature.ident.span()
        })?;
        let expressions = Expressions::in_block(function.body).into_iter();
        let spawns = expressions.filter_map(|expr| match expr {
            Expr::MethodCall(call) => Some(call),
            _ => None,
        });
        let spawns = spawns.filter(|call| call.method == "spawn" && call.args.len() == 1);
        let looked_for = "one `.spawn(FUTURE)`";
        let call = only_one(&function.place, looked_for, spawns.collect(), |call| {
            call.span()
        })?;
        Ok(Spawned { function, call })
    }

    /// Makes the future the argument of a call. The line breaks stay, as `rustfmt` has them.
    pub(super) fn within(&self, begin: &str) -> [InFile<'a>; 2] {
        let paren = self.call.paren_token.span;
        let (open, close) = (bytes(&paren.open()), bytes(&paren.close()));
        [
            self.function.within(open.end, "budget", begin),
            self.function.within(close.start, "budget", ")"),
        ]
    }
}
