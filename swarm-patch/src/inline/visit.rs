//! What happens at each kind of expression.

use syn::visit::{self, Visit};
use syn::{Arm, Block, Expr, Local, Macro, Pat, Stmt};

use super::loops;
use super::walk::{Access, Arms, Scope, Walk};
use crate::leave;
use crate::locate::bytes;
use crate::macros::expressions;

impl<'ast> Visit<'ast> for Walk<'_, '_> {
    fn visit_block(&mut self, block: &'ast Block) {
        let outer = self.scope.clone();
        for statement in &block.stmts {
            self.visit_stmt(statement);
            if matches!(statement, Stmt::Local(local) if leave::keeps_something(local)) {
                self.scope.keeps = true;
            }
        }
        self.scope = outer;
    }

    fn visit_local(&mut self, local: &'ast Local) {
        if let Some(init) = &local.init {
            self.visit_expr(&init.expr);
            if let Some((_, otherwise)) = &init.diverge {
                self.visit_expr(otherwise);
            }
        }
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::MethodCall(call) => self.method_call(expr, call),
            Expr::Call(call) => self.call(expr, call),
            Expr::Loop(turning) => {
                let begun = self.marks.insertions.len();
                if self.polls(&turning.body) {
                    self.turn_at_start_of(&turning.body);
                }
                self.visit_block(&turning.body);
                self.enter_loop(expr, begun);
            }
            Expr::While(turning) => {
                let begun = self.marks.insertions.len();
                self.while_loop(turning);
                self.enter_loop(expr, begun);
            }
            Expr::ForLoop(turning) => {
                self.visit_expr(&turning.expr);
                self.keeping(true, |walk| {
                    if walk.polls(&turning.body) {
                        walk.turn_at_start_of(&turning.body);
                    }
                    walk.visit_block(&turning.body);
                });
            }
            Expr::If(branching) => {
                self.visit_expr(&branching.cond);
                self.keeping(loops::condition_takes(&branching.cond), |walk| {
                    walk.visit_block(&branching.then_branch);
                });
                if let Some((_, otherwise)) = &branching.else_branch {
                    self.visit_expr(otherwise);
                }
            }
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
                for arm in &matching.arms {
                    self.keeping(leave::takes_something(&arm.pat, &matching.expr), |walk| {
                        if let Pat::Guard(guarded) = &arm.pat {
                            walk.visit_expr(&guarded.guard);
                        }
                        walk.visit_expr(&arm.body);
                    });
                }
            }
            Expr::Closure(closure) => {
                let mut scope = self.scope.clone();
                (scope.awaits, scope.keeps) = (false, true);
                self.scoped(scope, |walk| walk.visit_expr(&closure.body));
            }
            // Its code runs later, or never; a context in it is refused.
            Expr::Async(block) if self.access == Access::Lent => {
                let scope = Scope {
                    cx: None,
                    awaits: true,
                    keeps: false,
                };
                self.scoped(scope, |walk| walk.visit_block(&block.block));
            }
            Expr::Async(_) => {}
            other => visit::visit_expr(self, other),
        }
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        for expr in expressions(invocation) {
            self.visit_expr(&expr);
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
