//! Marks within expressions, for functions that whole lines cannot mark: with several loops or nested ones, with
//! polls in conditions, in macros or in functions that they call.
//!
//! A child becomes `(probe.child(0), CHILD, probe.own()).1`, which has the value of the child and keeps its
//! temporaries as long. An iteration is a turn of any loop that polls. A turn is counted before the condition of
//! a `while`, and in a `for` after its iterator has given something. A budget ends only loops that can be left
//! without losing something (see [`leave`]); it counts the turns of all.

mod calls;
mod loops;
mod scope;

use syn::{
    Block, Expr, Ident, Local, Macro, Pat, Stmt,
    visit::{self, Visit},
};

use self::scope::{Leave, Scope};
use crate::{
    error::Refused,
    helpers::Helpers,
    idents::{refuse_other_contexts, refuse_taken_name},
    inner::{Marks, PROBE},
    insertion::Insertion,
    leave,
    locate::{FoundFunction, ParsedCrate},
    macros::expressions,
};

/// How the marks reach the invocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It is a variable of the function.
    Variable,
    /// The future lends it to the thread.
    Lent,
}

/// The marks of a function, and of those that it hands its context to.
pub(crate) fn marks<'a>(
    parsed: &'a ParsedCrate,
    function: &FoundFunction<'a>,
    access: Access,
) -> Result<Marks<'a>, Refused> {
    let mut helpers = Helpers::new(parsed, function, access == Access::Variable);
    let mut marks = Marks {
        insertions: Vec::new(),
        children: Vec::new(),
        cannot_be_left: Some(function.place.refused(
            "a loop that can be left without losing what it has in hand",
            "none",
        )),
    };
    let mut loops = 0;
    while let Some(called) = helpers.next() {
        let scope = match called.context() {
            Some((cx, _)) => Scope {
                cx: Some(cx.clone()),
                leave: if called.returns_poll() {
                    Leave::Pending
                } else {
                    Leave::Never
                },
                keeps: leave::is_given_something(&called),
            },
            None => Scope::ASYNC,
        };
        if access == Access::Variable {
            refuse_taken_name(&called, PROBE)?;
        }
        let parameter = helpers.parameter(&called);
        marks
            .insertions
            .extend(parameter.map(|it| (called.file, it)));
        let mut walk = Walk {
            contexts: Vec::new(),
            names: scope.cx.iter().cloned().collect(),
            scope,
            function: &called,
            access,
            helpers: &mut helpers,
            marks: &mut marks,
            loops: 0,
            refused: None,
        };
        walk.visit_block(called.body);
        if let Some(refused) = walk.refused {
            return Err(refused);
        }
        loops += walk.loops;
        for name in &walk.names {
            refuse_other_contexts(&called, name, &walk.contexts)?;
        }
    }
    if loops == 0 {
        let looked_for = "a loop that polls";
        return Err(function.refused(
            looked_for,
            "none in the function",
            &function.signature.ident,
        ));
    }
    if loops == 1 {
        // The first turn of the only loop is the first iteration, which has no bound in any case.
        marks
            .insertions
            .retain(|(_, insertion)| insertion.mark != loops::ENTRY);
    }
    Ok(marks)
}

struct Walk<'w, 'a> {
    function: &'w FoundFunction<'a>,
    access: Access,
    helpers: &'w mut Helpers<'a>,
    marks: &'w mut Marks<'a>,
    scope: Scope,
    /// Where contexts are that the marks know of, in bytes.
    contexts: Vec<usize>,
    /// The names of all contexts.
    names: Vec<Ident>,
    loops: usize,
    refused: Option<Refused>,
}

impl Walk<'_, '_> {
    fn insert(&mut self, insertion: Insertion) {
        self.marks.insertions.push((self.function.file, insertion));
    }

    fn within(&mut self, byte: usize, mark: &'static str, text: impl Into<String>) {
        self.insert(self.function.within(byte, mark, text.into()));
    }
}

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
                self.visit_expr(&matching.expr);
                for arm in &matching.arms {
                    self.keeping(leave::takes_something(&arm.pat, &matching.expr), |walk| {
                        if let Pat::Guard(guarded) = &arm.pat {
                            walk.visit_expr(&guarded.guard);
                        }
                        walk.visit_expr(&arm.body);
                    });
                }
            }
            Expr::Closure(closure) => self.closure(closure),
            // Its code runs later, or never; a context in it is refused.
            Expr::Async(block) if self.access == Access::Lent => {
                self.scoped(Scope::ASYNC, |walk| walk.visit_block(&block.block));
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
