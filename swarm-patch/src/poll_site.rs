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
//! lines is refused rather than marked wrongly.

use syn::{
    Arm, Block, Expr, ExprCall, ExprMethodCall, Ident, Local, Macro, Pat, Stmt,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::{
    error::{Place, Refused},
    insertion::{Insertion, Purpose},
    locate::{Found, bytes, context_parameter, refuse_taken_name},
    sites::SiteSpec,
    text::{LineIndex, one_line},
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
        cx,
        insertions: Vec::new(),
        children: Vec::new(),
    };
    marks.iterate(&found.the_loop.body)?;
    marks.block(&found.the_loop.body)?;
    marks.outcomes(found.body)?;
    let enter = marks.enter(found.body, spec)?;
    let mut insertions = vec![enter];
    insertions.extend(marks.insertions);
    Ok(insertions)
}

struct Marks<'a> {
    source: &'a str,
    lines: LineIndex<'a>,
    place: &'a Place,
    cx: &'a Ident,
    insertions: Vec<Insertion>,
    children: Vec<String>,
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
            self.cx
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
                }) => self.expr(&init.expr, Anchor::Statement(statement))?,
                Stmt::Macro(statement) => {
                    self.calls_in_macro(&statement.mac)?;
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
                    any |= match &**otherwise {
                        Expr::Block(block) => self.branch(&block.block, head)?,
                        chained => {
                            self.refuse_calls(chained, "no poll in an `else if`")?;
                            false
                        }
                    };
                }
                Ok(any)
            }
            Expr::Block(block) => self.branch(&block.block, false),
            Expr::Unsafe(block) => self.branch(&block.block, false),
            Expr::Loop(inner) => self.branch(&inner.body, false),
            Expr::While(inner) => {
                self.refuse_calls(&inner.cond, "no poll in the condition of a `while`")?;
                self.branch(&inner.body, false)
            }
            Expr::ForLoop(inner) => {
                let head = self.head(&inner.expr, anchor)?;
                Ok(head | self.branch(&inner.body, head)?)
            }
            other => self.head(other, anchor),
        }
    }

    fn arm(&mut self, arm: &Arm, head: bool) -> Result<bool, Refused> {
        if let Pat::Guard(guarded) = &arm.pat {
            self.refuse_calls(&guarded.guard, "no poll in the guard of a match arm")?;
        }
        match &*arm.body {
            Expr::Block(block) => self.branch(&block.block, head),
            other => self.expr(other, Anchor::Arm(arm)),
        }
    }

    /// A block that is entered with the time still going to a child, if `head` says so.
    fn branch(&mut self, block: &Block, head: bool) -> Result<bool, Refused> {
        let before = self.insertions.len();
        if head
            && self
                .lines
                .ends_line(bytes(&block.brace_token.span.open()).end)
            && !block
                .stmts
                .first()
                .is_some_and(|first| self.begins_with_child(first))
        {
            let first = self.first_line_in(block)?;
            self.push(first, first, OWN.into(), Purpose::Own);
        }
        let marks = self.insertions.len();
        self.block(block)?;
        Ok(self.insertions.len() > marks || marks > before && head)
    }

    /// Marks the child in an expression that has no statements of its own.
    fn head(&mut self, expr: &Expr, anchor: Anchor<'_>) -> Result<bool, Refused> {
        let calls = self.calls(expr)?;
        match calls.as_slice() {
            [] => Ok(false),
            [child] => {
                self.mark(child.clone(), anchor)?;
                Ok(true)
            }
            several => {
                let line = expr.span().start().line;
                Err(self.place.refused(
                    "one poll at a time",
                    format!("{} in line {line}", several.join(" and ")),
                ))
            }
        }
    }

    fn mark(&mut self, child: String, anchor: Anchor<'_>) -> Result<(), Refused> {
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
        let head = match expr {
            Expr::Match(matching) => &matching.expr,
            Expr::If(branching) => &branching.cond,
            Expr::ForLoop(inner) => &inner.expr,
            Expr::Block(_) | Expr::Unsafe(_) | Expr::Loop(_) | Expr::While(_) => return false,
            other => other,
        };
        self.calls(head).is_ok_and(|calls| !calls.is_empty())
    }

    fn outcomes(&mut self, body: &Block) -> Result<(), Refused> {
        if !matches!(body.stmts.last(), Some(Stmt::Expr(Expr::Loop(_), _))) {
            return Err(self.place.refused(
                "the loop to be the function's last statement",
                "more after it",
            ));
        }
        let mut returns = Returns {
            place: self.place,
            pending: Vec::new(),
            refused: None,
        };
        returns.visit_block(body);
        if let Some(refused) = returns.refused {
            return Err(refused);
        }
        for statement in returns.pending {
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

    fn calls(&self, expr: &Expr) -> Result<Vec<String>, Refused> {
        let mut calls = Calls {
            marks: self,
            found: Vec::new(),
            refused: None,
        };
        calls.visit_expr(expr);
        calls.refused.map_or(Ok(calls.found), Err)
    }

    fn calls_in_macro(&self, invocation: &Macro) -> Result<(), Refused> {
        let mut calls = Calls {
            marks: self,
            found: Vec::new(),
            refused: None,
        };
        calls.visit_macro(invocation);
        calls.refused.map_or(Ok(()), Err)
    }

    fn refuse_calls(&self, expr: &Expr, looked_for: &str) -> Result<(), Refused> {
        match self.calls(expr)?.first() {
            None => Ok(()),
            Some(child) => {
                let line = expr.span().start().line;
                Err(self
                    .place
                    .refused(looked_for, format!("{child} in line {line}")))
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

    /// The line after the opening brace, which must end its own.
    fn first_line_in(&self, block: &Block) -> Result<usize, Refused> {
        let open = bytes(&block.brace_token.span.open());
        let line = self.lines.number(open.start);
        if self.lines.ends_line(open.end) {
            Ok(line + 1)
        } else {
            Err(self.place.refused(
                "a line break after an opening brace",
                format!("none in line {line}"),
            ))
        }
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

/// Finds the calls that are handed the context, in the code that runs when the expression does.
struct Calls<'m, 'a> {
    marks: &'m Marks<'a>,
    found: Vec<String>,
    refused: Option<Refused>,
}

impl Calls<'_, '_> {
    fn is_cx(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Path(path) if path.path.is_ident(self.marks.cx))
    }

    fn text(&self, node: &impl Spanned) -> String {
        one_line(self.marks.source, bytes(node))
    }
}

impl<'ast> Visit<'ast> for Calls<'_, '_> {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if call.args.iter().any(|argument| self.is_cx(argument)) {
            self.found
                .push(format!("{}.{}", self.text(&call.receiver), call.method));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if call.args.iter().any(|argument| self.is_cx(argument)) {
            let function = self.text(&call.func);
            let function = function.split("::<").next().unwrap_or(&function).to_owned();
            // `Future::poll(x, cx)` is `x.poll(cx)` written differently: the name is in the argument.
            let polls = function
                .rsplit("::")
                .next()
                .is_some_and(|last| last.starts_with("poll"));
            self.found.push(match call.args.first() {
                Some(polled) if polls && !self.is_cx(polled) => {
                    format!("{function}({})", self.text(polled))
                }
                _ => function,
            });
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        let mentions_cx = invocation
            .tokens
            .to_string()
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| self.marks.cx == word);
        if mentions_cx {
            let line = invocation.span().start().line;
            let found = format!("{}! in line {line}", self.text(&invocation.path));
            let place = self.marks.place;
            self.refused
                .get_or_insert_with(|| place.refused("no macro that is handed the context", found));
        }
    }

    // What these hold runs later, or never.
    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {}
    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

/// Finds the statements that return `Pending`, and refuses what may return it unseen.
struct Returns<'a, 'ast> {
    place: &'a Place,
    pending: Vec<&'ast Stmt>,
    refused: Option<Refused>,
}

impl Returns<'_, '_> {
    fn refuse(&mut self, node: &impl Spanned, found: &str) {
        let line = node.span().start().line;
        self.refused.get_or_insert_with(|| {
            self.place.refused(
                "`return Poll::Pending;`, `return Poll::Ready(...)` and `?` to be the only ways out",
                format!("{found} in line {line}"),
            )
        });
    }
}

impl<'ast> Visit<'ast> for Returns<'_, 'ast> {
    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        match statement {
            Stmt::Expr(Expr::Return(returned), _)
                if returned.expr.as_deref().is_some_and(is_pending) =>
            {
                self.pending.push(statement);
            }
            _ => visit::visit_stmt(self, statement),
        }
    }

    fn visit_expr_return(&mut self, returned: &'ast syn::ExprReturn) {
        if !returned.expr.as_deref().is_some_and(is_ready) {
            self.refuse(returned, "another return");
        }
        visit::visit_expr_return(self, returned);
    }

    fn visit_expr_break(&mut self, broken: &'ast syn::ExprBreak) {
        if broken.expr.is_some() {
            self.refuse(broken, "a `break` with a value");
        }
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        if invocation
            .path
            .segments
            .last()
            .is_some_and(|name| name.ident == "ready")
        {
            self.refuse(invocation, "`ready!`");
        }
    }

    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}
    fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {}
    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

fn is_pending(expr: &Expr) -> bool {
    matches!(expr, Expr::Path(path) if path.path.segments.last().is_some_and(|name| name.ident == "Pending"))
}

fn is_ready(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(call)
        if matches!(&*call.func, Expr::Path(path)
            if path.path.segments.last().is_some_and(|name| name.ident == "Ready")))
}
