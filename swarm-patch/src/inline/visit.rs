//! The walk: what is done at each kind of expression.

use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Arm, Expr, Macro, Pat, Token};

use super::{Arms, Walk};
use crate::locate::bytes;

impl<'ast> Visit<'ast> for Walk<'_, '_> {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::MethodCall(call) => return self.method_call(expr, call),
            Expr::Call(call) => return self.call(expr, call),
            Expr::Loop(found) => self.mark_iterations(found, &found.body),
            Expr::While(found) => self.mark_iterations(found, &found.body),
            Expr::ForLoop(found) => self.mark_iterations(found, &found.body),
            Expr::Match(matching) => {
                let polled = match &*matching.expr {
                    Expr::Try(tried) => &tried.expr,
                    _ => &matching.expr,
                };
                let brace = matching.brace_token.span.open();
                self.arms = Some(Arms {
                    polled: bytes(polled),
                    begin: bytes(&brace).end,
                    pattern: match matching.arms.iter().any(does_nothing_when_pending) {
                        true => "::core::task::Poll::Ready(_)",
                        false => "_",
                    },
                });
                self.visit_expr(&matching.expr);
                self.arms = None;
                return matching.arms.iter().for_each(|arm| self.visit_arm(arm));
            }
            // The code of an `async` block runs later, or never. A context in it is refused.
            Expr::Async(_) => return,
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    /// Visits the arguments of a macro that is written like a call. A context in any other macro is refused.
    fn visit_macro(&mut self, invocation: &'ast Macro) {
        let list = Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(arguments) = list.parse2(invocation.tokens.clone()) {
            arguments.iter().for_each(|expr| self.visit_expr(expr));
        }
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

fn does_nothing_when_pending(arm: &Arm) -> bool {
    let is_pending = matches!(&arm.pat, Pat::Path(path)
        if path.path.segments.iter().map(|part| part.ident.to_string()).eq(["Poll", "Pending"]));
    let is_empty = matches!(&*arm.body, Expr::Block(body) if body.block.stmts.is_empty());
    is_pending && is_empty
}
