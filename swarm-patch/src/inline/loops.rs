//! The turns of loops.

use quote::ToTokens;
use syn::visit::Visit;
use syn::{Block, Expr, ExprWhile, Ident};

use super::walk::{Access, Walk};
use crate::idents::idents;
use crate::leave;
use crate::locate::bytes;

/// The mark of an entry into a loop.
pub(super) const ENTRY: &str = "loop";

impl Walk<'_, '_> {
    /// Whether that name stands for a poll.
    fn is_polling(&self, ident: &Ident) -> bool {
        const AWAITING: &str = "await poll_fn join select select_biased try_join";
        match &self.scope.cx {
            Some(cx) => ident == cx,
            None => AWAITING.split(' ').any(|name| ident == name),
        }
    }

    pub(super) fn polls(&self, code: &impl ToTokens) -> bool {
        idents(code).iter().any(|ident| self.is_polling(ident))
    }

    /// The code that counts a turn.
    fn turn(&mut self) -> (&'static str, String) {
        self.loops += 1;
        let text = match &self.scope.cx {
            _ if self.scope.awaits => "::poll_probe::iterate().await;".to_owned(),
            Some(cx) if !self.scope.keeps => {
                let turn = self.access.call(match self.access {
                    Access::Variable => "iterate",
                    Access::Lent => "turn",
                });
                format!("if {turn}({cx}).is_pending() {{ return ::core::task::Poll::Pending; }}")
            }
            _ => return ("count", format!("{}();", self.access.call("count"))),
        };
        self.marks.cannot_be_left = None;
        ("iterate", text)
    }

    pub(super) fn turn_at_start_of(&mut self, body: &Block) {
        if !self.counts {
            return;
        }
        let (mark, text) = self.turn();
        let turn = self.function.at_start_of(body, mark, &text);
        self.marks.insertions.extend(turn);
    }

    /// Marks the loop as one that a budget may end after its first turn. Its own mark is at `begun`.
    pub(super) fn enter_loop(&mut self, entered: &Expr, begun: usize) {
        if let Some((_, first)) = self.marks.insertions.get(begun)
            && first.mark == "iterate"
            && !self.scope.awaits
            && !self.scope.keeps
        {
            let text = format!("{{ {}(); ", self.access.call("enter_loop"));
            let at = bytes(entered);
            let begin = self.function.within(at.start, ENTRY, text);
            self.marks.insertions.insert(begun, begin);
            self.within(at.end, ENTRY, " }");
        }
    }

    /// A turn begins with the condition, before that takes anything.
    pub(super) fn while_loop(&mut self, turning: &ExprWhile) {
        let takes = condition_takes(&turning.cond);
        let first = first_operand(&turning.cond);
        if !self.polls(&turning.cond) && !self.polls(&turning.body) {
            self.visit_expr(&turning.cond);
        } else if self.scope.awaits || leave::lies_elsewhere(first) {
            self.visit_expr(&turning.cond);
            self.keeping(takes, |walk| walk.turn_at_start_of(&turning.body));
        } else {
            let (mark, text) = self.turn();
            let at = bytes(first);
            self.within(at.start, mark, format!("({{ {text} }}, "));
            self.visit_expr(&turning.cond);
            self.within(at.end, mark, ").1");
        }
        self.keeping(takes, |walk| walk.visit_block(&turning.body));
    }
}

/// Whether a condition takes something out of a value.
pub(super) fn condition_takes(condition: &Expr) -> bool {
    match condition {
        Expr::Let(taking) => leave::takes_something(&taking.pat, &taking.expr),
        Expr::Binary(both) => condition_takes(&both.left) || condition_takes(&both.right),
        Expr::Paren(inner) => condition_takes(&inner.expr),
        _ => false,
    }
}

/// What a condition evaluates first.
fn first_operand(condition: &Expr) -> &Expr {
    match condition {
        Expr::Let(taking) => &taking.expr,
        Expr::Binary(both) => first_operand(&both.left),
        other => other,
    }
}
