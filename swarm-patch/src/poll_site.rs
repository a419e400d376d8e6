//! The lines that make a poll function a site.
//!
//! * At the function's start: begin an invocation. It ends by its drop, after everything else.
//! * At the loop's top: count an iteration, and return if the budget is spent.
//! * Before every statement that polls a child: from here on the time is the child's. Where the
//!   call stands in a match arm instead, a second arm with the same pattern goes before it, whose
//!   guard does the marking and never holds.
//! * Where the result of the call is dealt with: from here on the time is the function's own.
//! * Before `return Poll::Pending`: note the outcome.
//!
//! A child is any call in the loop that is handed the context. Whatever cannot be marked by whole
//! lines is refused rather than marked wrongly, and so is any other use of the context.

use syn::{Arm, Block, Expr, Local, Pat, Stmt, spanned::Spanned};

use crate::{
    calls::{Call, Search},
    context_uses,
    error::{Place, Refused},
    insertion::{Insertion, Purpose},
    locate::{Found, bytes, context_parameter, first_line_in, refuse_taken_name},
    plain::{is_plain, is_plain_statement, only_looks_at},
    sites::SiteSpec,
    text::{LineIndex, one_line},
    ways_out,
};

/// The inserted variable.
const PROBE: &str = "probe";
const OWN: &str = "probe.own();";

/// The lines for the poll function `found`.
pub fn insertions(
    source: &str,
    found: &Found<'_>,
    spec: &SiteSpec,
    place: &Place,
) -> Result<Vec<Insertion>, Refused> {
    refuse_taken_name(found.body, PROBE, place)?;
    let cx = context_parameter(found.signature, place)?;
    let mut marks = Marks {
        source,
        lines: LineIndex::new(source),
        place,
        search: Search { source, place, cx },
        insertions: Vec::new(),
        children: Vec::new(),
        contexts: Vec::new(),
    };
    marks.iterate(&found.the_loop.body)?;
    marks.block(&found.the_loop.body)?;
    marks.outcomes(found.body)?;
    context_uses::refuse_others(found.body, cx, &marks.contexts, place)?;
    let enter = marks.enter(found.body, spec)?;
    let mut insertions = vec![enter];
    insertions.extend(marks.insertions);
    Ok(insertions)
}

struct Marks<'a> {
    source: &'a str,
    lines: LineIndex<'a>,
    place: &'a Place,
    search: Search<'a>,
    insertions: Vec<Insertion>,
    children: Vec<String>,
    /// Where children that are marked are handed the context.
    contexts: Vec<usize>,
}

/// Where a line can go that runs right before an expression.
#[derive(Clone, Copy)]
enum Anchor<'a> {
    Statement(&'a Stmt),
    Arm(&'a Arm),
}

impl Marks<'_> {
    fn enter(&self, body: &Block, spec: &SiteSpec) -> Result<Insertion, Refused> {
        let names: Vec<String> = self
            .children
            .iter()
            .map(|child| format!("{child:?}"))
            .collect();
        let before = self.first_line_in(body)?;
        Ok(Insertion {
            before,
            like: before,
            text: format!(
                "let mut {PROBE} = ::poll_probe::Invocation::enter(::poll_probe::Site::{}, &[{}]);",
                spec.site,
                names.join(", ")
            ),
            purpose: Purpose::Enter,
        })
    }

    fn iterate(&mut self, loop_body: &Block) -> Result<(), Refused> {
        let before = self.first_line_in(loop_body)?;
        let text = format!(
            "if {PROBE}.iterate({}).is_pending() {{ return ::core::task::Poll::Pending; }}",
            self.search.cx
        );
        self.push(before, before, text, Purpose::Iterate);
        Ok(())
    }

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
            // The value of a block must stay its last statement; what comes after it marks again.
            let is_value = next.is_none() && matches!(statement, Stmt::Expr(_, None));
            if marked && !is_value && !next.is_some_and(|next| self.begins_with_child(next)) {
                let before = self.line_after(statement)?;
                let like = self.own_line(statement)?;
                self.push(before, like, OWN.into(), Purpose::Own);
            }
        }
        Ok(())
    }

    /// Marks the children in an expression that `anchor` runs right before. Returns whether there
    /// were any.
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
            // One mark would stand for many polls, or the time between them be a child's.
            Expr::Loop(_) | Expr::ForLoop(_) => {
                self.refuse_calls(expr, "no poll in a loop within the loop")?;
                Ok(false)
            }
            other => self.head(other, anchor),
        }
    }

    /// What follows an `else`.
    fn otherwise(&mut self, expr: &Expr, head: bool) -> Result<bool, Refused> {
        match expr {
            Expr::Block(block) => self.branch(&block.block, head),
            chained if head => {
                let line = chained.span().start().line;
                Err(self.place.refused(
                    "no `else if` after a poll, whose condition would be timed with it",
                    format!("one in line {line}"),
                ))
            }
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
        let line = expr.span().start().line;
        self.place.refused(
            "a block around what deals with the result of a poll, lest it be timed with it",
            format!("other code in line {line}"),
        )
    }

    /// A block that is entered with the time still going to a child, if `head` says so.
    fn branch(&mut self, block: &Block, head: bool) -> Result<bool, Refused> {
        let before = self.insertions.len();
        let begins_with_child = block
            .stmts
            .first()
            .is_some_and(|first| self.begins_with_child(first));
        if head && !begins_with_child {
            let open = bytes(&block.brace_token.span.open());
            // In one line there is no place for a mark, nor need for one if there is no work.
            if self.lines.ends_line(open.end) || !block.stmts.iter().all(is_plain_statement) {
                let first = self.first_line_in(block)?;
                self.push(first, first, OWN.into(), Purpose::Own);
            }
        }
        let marks = self.insertions.len();
        self.block(block)?;
        Ok(self.insertions.len() > marks || marks > before && head)
    }

    /// Marks the child in an expression that has no statements of its own.
    fn head(&mut self, expr: &Expr, anchor: Anchor<'_>) -> Result<bool, Refused> {
        let calls = self.search.in_expr(expr)?;
        let line = expr.span().start().line;
        match calls.as_slice() {
            [] => Ok(false),
            [call] if only_looks_at(expr, &|expr| self.search.is_call(expr)) => {
                self.mark(call, anchor)?;
                Ok(true)
            }
            [call] => Err(self.place.refused(
                "a poll and what is done with its result to be apart",
                format!("both in one expression, {} in line {line}", call.child),
            )),
            several => {
                let children: Vec<&str> = several.iter().map(|call| &*call.child).collect();
                Err(self.place.refused(
                    "one poll at a time",
                    format!("{} in line {line}", children.join(" and ")),
                ))
            }
        }
    }

    fn mark(&mut self, call: &Call, anchor: Anchor<'_>) -> Result<(), Refused> {
        self.contexts.extend(&call.contexts);
        let child = call.child.clone();
        let index = self.child_index(&child);
        match anchor {
            Anchor::Statement(statement) => {
                let before = self.own_line(statement)?;
                self.push(
                    before,
                    before,
                    format!("{PROBE}.child({index});"),
                    Purpose::Child(child),
                );
            }
            Anchor::Arm(arm) => {
                if let Pat::Guard(guarded) = &arm.pat {
                    let line = guarded.guard.span().start().line;
                    return Err(self.place.refused(
                        format!("a match arm without a guard around {child}"),
                        format!("a guard in line {line}"),
                    ));
                }
                let before = self.own_line(arm)?;
                let pattern = one_line(self.source, bytes(&arm.pat));
                let text = format!(
                    "#[allow(unused_variables)] {pattern} if {PROBE}.child_at_arm({index}) => unreachable!(),"
                );
                self.push(before, before, text, Purpose::Child(child));
            }
        }
        Ok(())
    }

    fn child_index(&mut self, child: &str) -> usize {
        match self.children.iter().position(|known| known == child) {
            Some(index) => index,
            None => {
                self.children.push(child.to_owned());
                self.children.len() - 1
            }
        }
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

    /// Whether a child is polled first thing in the expression.
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

    fn outcomes(&mut self, body: &Block) -> Result<(), Refused> {
        if !matches!(body.stmts.last(), Some(Stmt::Expr(Expr::Loop(_), _))) {
            return Err(self.place.refused(
                "the loop to be the function's last statement",
                "more after it",
            ));
        }
        for statement in ways_out::pending(body, self.place)? {
            let before = self.own_line(statement)?;
            self.push(
                before,
                before,
                format!("{PROBE}.pending();"),
                Purpose::Pending,
            );
        }
        Ok(())
    }

    fn refuse_calls(&self, expr: &Expr, looked_for: &str) -> Result<(), Refused> {
        match self.search.in_expr(expr)?.first() {
            None => Ok(()),
            Some(call) => {
                let line = expr.span().start().line;
                Err(self
                    .place
                    .refused(looked_for, format!("{} in line {line}", call.child)))
            }
        }
    }

    fn push(&mut self, before: usize, like: usize, text: String, purpose: Purpose) {
        self.insertions.push(Insertion {
            before,
            like,
            text,
            purpose,
        });
    }

    fn first_line_in(&self, block: &Block) -> Result<usize, Refused> {
        first_line_in(&self.lines, block, self.place)
    }

    /// The line of a node that begins its line.
    fn own_line(&self, node: &impl Spanned) -> Result<usize, Refused> {
        let start = bytes(node).start;
        let line = self.lines.number(start);
        if self.lines.begins_line(start) {
            Ok(line)
        } else {
            Err(self.place.refused(
                "a line of its own for what is marked",
                format!("other code before it in line {line}"),
            ))
        }
    }

    fn line_after(&self, node: &impl Spanned) -> Result<usize, Refused> {
        let end = bytes(node).end;
        let line = self.lines.number(end - 1);
        if self.lines.ends_line(end) {
            Ok(line + 1)
        } else {
            Err(self.place.refused(
                "a line break after what is marked",
                format!("other code behind it in line {line}"),
            ))
        }
    }
}
