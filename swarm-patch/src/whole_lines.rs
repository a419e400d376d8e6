//! Marks on lines of their own, for a poll function with one loop whose children are polled one by one.
//!
//! * At the top of the loop: count an iteration, and return if the budget is spent.
//! * Before every statement that polls a child: from here on the time is the child's. Where the
//!   call is in a match arm instead, a second arm with the same pattern comes before it. Its guard
//!   marks the child and is never true.
//! * Where the function handles the result of the call: from here on the time is the function's own.
//!
//! A child is any call in the loop that gets the context. Whatever whole lines cannot mark correctly is
//! refused, and so is any other use of the context. Then [`inline`](crate::inline) marks the function.

use syn::{Arm, Block, Expr, Local, Pat, Stmt};

use crate::{
    calls::{CallSearch, ContextCall},
    error::Refused,
    idents::{refuse_other_contexts, refuse_taken_name},
    inner::{Marks, PROBE, number},
    insertion::{Insertion, Place},
    leave,
    locate::{FoundFunction, bytes},
    plain::{is_plain, is_plain_statement, only_looks_at},
};

const OWN: &str = "probe.own();";

/// The marks of a poll function.
pub(crate) fn marks<'a>(function: &FoundFunction<'a>) -> Result<Marks<'a>, Refused> {
    refuse_taken_name(function, PROBE)?;
    let cx = function.context_parameter()?;
    let the_loop = function.the_loop()?;
    if !leave::loses_nothing(function.body, the_loop) {
        let looked_for = "a loop that keeps nothing in variables outside of it";
        return Err(function.refused(looked_for, "one that does", the_loop));
    }
    let iterate =
        format!("if {PROBE}.iterate({cx}).is_pending() {{ return ::core::task::Poll::Pending; }}");
    let first = function.first_line_in(&the_loop.body)?;
    let mut marks = PollMarks {
        function,
        search: CallSearch { function, cx },
        insertions: vec![Insertion::new(first, "iterate", iterate)],
        children: Vec::new(),
        contexts: Vec::new(),
    };
    marks.block(&the_loop.body)?;
    refuse_other_contexts(function, cx, &marks.contexts)?;
    Ok(Marks {
        insertions: function.in_file(marks.insertions),
        children: marks.children,
        cannot_be_left: None,
    })
}

struct PollMarks<'f, 'a> {
    function: &'f FoundFunction<'a>,
    search: CallSearch<'f, 'a>,
    insertions: Vec<Insertion>,
    children: Vec<String>,
    /// Where marked children get the context, in bytes.
    contexts: Vec<usize>,
}

/// Where a line can go that runs right before an expression.
#[derive(Clone, Copy)]
enum Anchor<'a> {
    Statement(&'a Stmt),
    Arm(&'a Arm),
}

impl PollMarks<'_, '_> {
    fn block(&mut self, block: &Block) -> Result<(), Refused> {
        for (at, statement) in block.stmts.iter().enumerate() {
            let marked = match statement {
                Stmt::Expr(expr, _) => self.expr(expr, Anchor::Statement(statement))?,
                Stmt::Local(Local {
                    init: Some(init), ..
                }) => {
                    let marked = self.expr(&init.expr, Anchor::Statement(statement))?;
                    if let Some((_, otherwise)) = &init.diverge {
                        self.otherwise(otherwise, marked)?;
                    }
                    marked
                }
                Stmt::Macro(statement) => {
                    self.search.in_macro(&statement.mac)?;
                    false
                }
                Stmt::Local(_) | Stmt::Item(_) => false,
            };
            let next = block.stmts.get(at + 1);
            // The value of a block must stay its last statement. The code after the block marks again.
            let is_value = next.is_none() && matches!(statement, Stmt::Expr(_, None));
            if marked && !is_value && !next.is_some_and(|next| self.begins_with_child(next)) {
                let before = self.function.line_after(statement)?;
                self.insertions.push(Insertion {
                    place: Place::OwnLine {
                        like: self.function.own_line(statement)?,
                    },
                    ..Insertion::new(before, "own", OWN)
                });
            }
        }
        Ok(())
    }

    /// Marks the children in an expression; a line at `anchor` runs right before it. Returns whether
    /// there were any.
    fn expr(&mut self, expr: &Expr, anchor: Anchor<'_>) -> Result<bool, Refused> {
        match expr {
            Expr::Match(matching) => {
                let head = self.head(&matching.expr, anchor)?;
                let mut any = head;
                for arm in &matching.arms {
                    any |= self.arm(arm, head)?;
                }
                Ok(any)
            }
            Expr::If(branching) => {
                let head = self.head(&branching.cond, anchor)?;
                let mut any = head | self.branch(&branching.then_branch, head)?;
                if let Some((_, otherwise)) = &branching.else_branch {
                    any |= self.otherwise(otherwise, head)?;
                }
                Ok(any)
            }
            Expr::Block(block) => self.branch(&block.block, false),
            Expr::Unsafe(block) => self.branch(&block.block, false),
            Expr::While(inner) => {
                self.refuse_calls(&inner.cond, "no poll in the condition of a `while`")?;
                self.refuse_calls(expr, "no poll in a loop within the loop")?;
                Ok(false)
            }
            // One mark would stand for many polls, or a child's time would include that between polls.
            Expr::Loop(_) | Expr::ForLoop(_) => {
                self.refuse_calls(expr, "no poll in a loop within the loop")?;
                Ok(false)
            }
            other => self.head(other, anchor),
        }
    }

    /// Marks the children in the code after an `else`.
    fn otherwise(&mut self, expr: &Expr, head: bool) -> Result<bool, Refused> {
        match expr {
            Expr::Block(block) => self.branch(&block.block, head),
            chained if head => Err(self.function.refused(
                "no `else if` after a poll, since its condition would be timed with the poll",
                "one",
                chained,
            )),
            chained => {
                self.refuse_calls(chained, "no poll in an `else if`")?;
                Ok(false)
            }
        }
    }

    fn arm(&mut self, arm: &Arm, head: bool) -> Result<bool, Refused> {
        if let Pat::Guard(guarded) = &arm.pat {
            self.refuse_calls(&guarded.guard, "no poll in the guard of a match arm")?;
            if head && !is_plain(&guarded.guard) {
                return Err(self.refuse_work(&guarded.guard));
            }
        }
        match &*arm.body {
            Expr::Block(block) => self.branch(&block.block, head),
            other if head && !is_plain(other) && !self.is_head_a_child(other) => {
                Err(self.refuse_work(other))
            }
            other => self.expr(other, Anchor::Arm(arm)),
        }
    }

    fn refuse_work(&self, expr: &Expr) -> Refused {
        self.function.refused(
            "a block around the code that handles the result of a poll, so that it is not timed with the poll",
            "other code",
            expr,
        )
    }

    /// Marks the children in a block. If `head` is true, the time is a child's when the block begins.
    fn branch(&mut self, block: &Block, head: bool) -> Result<bool, Refused> {
        let before = self.insertions.len();
        let begins_with_child = block
            .stmts
            .first()
            .is_some_and(|first| self.begins_with_child(first));
        if head && !begins_with_child {
            let open = bytes(&block.brace_token.span.open());
            // A block in one line has no place for a mark. Without work it needs none.
            if self.function.lines.ends_line(open.end)
                || !block.stmts.iter().all(is_plain_statement)
            {
                let first = self.function.first_line_in(block)?;
                self.insertions.push(Insertion::new(first, "own", OWN));
            }
        }
        let marks = self.insertions.len();
        self.block(block)?;
        Ok(self.insertions.len() > marks || marks > before && head)
    }

    /// Marks the child in an expression that has no statements of its own.
    fn head(&mut self, expr: &Expr, anchor: Anchor<'_>) -> Result<bool, Refused> {
        let calls = self.search.in_expr(expr)?;
        match calls.as_slice() {
            [] => Ok(false),
            [call] if only_looks_at(expr, &|expr| self.search.is_call(expr)) => {
                self.mark(call, anchor)?;
                Ok(true)
            }
            [call] => Err(self.function.refused(
                "a poll apart from the code that handles its result",
                format!("both in one expression, {}", call.child),
                expr,
            )),
            several => {
                let children: Vec<&str> = several.iter().map(|call| &*call.child).collect();
                let children = children.join(" and ");
                Err(self.function.refused("one poll at a time", children, expr))
            }
        }
    }

    fn mark(&mut self, call: &ContextCall, anchor: Anchor<'_>) -> Result<(), Refused> {
        self.contexts.extend(&call.contexts);
        let child = call.child.clone();
        let index = number(&mut self.children, &child);
        let (before, text) = match anchor {
            Anchor::Statement(statement) => (
                self.function.own_line(statement)?,
                format!("{PROBE}.child({index});"),
            ),
            Anchor::Arm(Arm {
                pat: Pat::Guard(guarded),
                ..
            }) => {
                let looked_for = format!("a match arm without a guard around {child}");
                return Err(self.function.refused(looked_for, "a guard", &guarded.guard));
            }
            Anchor::Arm(arm) => (
                self.function.own_line(arm)?,
                format!(
                    "#[allow(unused_variables)] {} if {PROBE}.child_at_arm({index}) => unreachable!(),",
                    self.function.text(&arm.pat)
                ),
            ),
        };
        self.insertions.push(Insertion {
            child: Some(child),
            ..Insertion::new(before, "child", text)
        });
        Ok(())
    }

    fn begins_with_child(&self, statement: &Stmt) -> bool {
        let expr = match statement {
            Stmt::Expr(expr, _) => expr,
            Stmt::Local(Local {
                init: Some(init), ..
            }) => &init.expr,
            _ => return false,
        };
        self.is_head_a_child(expr)
    }

    /// Whether the expression begins with the poll of a child.
    fn is_head_a_child(&self, expr: &Expr) -> bool {
        let head = match expr {
            Expr::Match(matching) => &matching.expr,
            Expr::If(branching) => &branching.cond,
            Expr::Block(_)
            | Expr::Unsafe(_)
            | Expr::Loop(_)
            | Expr::While(_)
            | Expr::ForLoop(_) => return false,
            other => other,
        };
        let calls = self.search.in_expr(head);
        calls.is_ok_and(|calls| !calls.is_empty())
    }

    fn refuse_calls(&self, expr: &Expr, looked_for: &str) -> Result<(), Refused> {
        match self.search.in_expr(expr)?.first() {
            None => Ok(()),
            Some(call) => Err(self.function.refused(looked_for, &call.child, expr)),
        }
    }
}
