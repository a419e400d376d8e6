//! Marks within expressions, for functions that whole lines cannot mark: with several loops or nested ones, with
//! polls in conditions, in macros or in functions that they call.
//!
//! A child becomes `(probe.child(0), CHILD, probe.own()).1`, which has the value of the child and keeps its
//! temporaries as long. An iteration is a turn of any loop that polls. A turn is counted before the condition of
//! a `while`, and in a `for` after its iterator has given something. A budget ends only loops that can be left
//! without losing something (see [`leave`]); it counts the turns of all.

use syn::{
    Block, Expr, ExprCall, ExprClosure, ExprMethodCall, Ident, Local, Macro, Pat, Stmt,
    punctuated::Punctuated,
    visit::{self, Visit},
};

use crate::{
    calls::{child_of_call, child_of_method},
    error::Refused,
    helpers::{Helpers, is_own},
    idents::{self, refuse_other_contexts, refuse_taken_name},
    inner::{Marks, PROBE},
    insertion::Insertion,
    leave,
    locate::{FoundFunction, ParsedCrate, bytes},
    macros::expressions,
};

/// The mark of an entry into a loop.
const ENTRY: &str = "loop";

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
            .retain(|(_, insertion)| insertion.mark != ENTRY);
    }
    Ok(marks)
}

/// What holds at a place in the code.
#[derive(Clone)]
struct Scope {
    /// The name of the context, if there is one.
    cx: Option<Ident>,
    leave: Leave,
    /// Whether leaving would lose something.
    keeps: bool,
}

impl Scope {
    const ASYNC: Scope = Scope {
        cx: None,
        leave: Leave::Await,
        keeps: false,
    };
}

/// How a loop is left when the budget is spent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leave {
    /// By `return Poll::Pending`.
    Pending,
    /// It waits for the next poll.
    Await,
    Never,
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

    /// Runs in another scope.
    fn scoped(&mut self, scope: Scope, walk: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.scope, scope);
        walk(self);
        self.scope = outer;
    }

    /// The same, where more may be lost.
    fn keeping(&mut self, more: bool, walk: impl FnOnce(&mut Self)) {
        let keeps = self.scope.keeps || more;
        self.scoped(
            Scope {
                keeps,
                ..self.scope.clone()
            },
            walk,
        );
    }

    /// The bytes of the context in an argument.
    fn context_in(&self, argument: &Expr) -> Option<usize> {
        let name = match argument {
            Expr::Path(path) => path,
            // A reborrow: `&mut *cx`.
            Expr::Reference(reference) => match &*reference.expr {
                Expr::Unary(unary) => match &*unary.expr {
                    Expr::Path(path) => path,
                    _ => return None,
                },
                _ => return None,
            },
            _ => return None,
        };
        let cx = self.scope.cx.as_ref()?;
        name.path.is_ident(cx).then(|| bytes(name).start)
    }

    /// Whether that name stands for a poll.
    fn is_polling(&self, ident: &Ident) -> bool {
        const AWAITING: &str = "await poll_fn join select select_biased try_join";
        match &self.scope.cx {
            Some(cx) => ident == cx,
            None => AWAITING.split(' ').any(|name| ident == name),
        }
    }

    fn polls(&self, block: &Block) -> bool {
        idents::count(block, |ident| self.is_polling(ident)) > 0
    }

    /// The code that counts a turn.
    fn turn(&mut self) -> (&'static str, String) {
        self.loops += 1;
        let probe = |method: &str| match self.access {
            Access::Variable => format!("{PROBE}.{method}"),
            Access::Lent => format!("::poll_probe::{method}"),
        };
        let leave = match self.scope.leave {
            Leave::Pending if self.scope.keeps => Leave::Never,
            other => other,
        };
        match (leave, &self.scope.cx) {
            (Leave::Await, _) => {
                self.marks.cannot_be_left = None;
                ("iterate", "::poll_probe::iterate().await;".to_owned())
            }
            (Leave::Pending, Some(cx)) => {
                self.marks.cannot_be_left = None;
                let method = match self.access {
                    Access::Variable => "iterate",
                    Access::Lent => "turn",
                };
                let turn = probe(method);
                let text = format!(
                    "if {turn}({cx}).is_pending() {{ return ::core::task::Poll::Pending; }}"
                );
                ("iterate", text)
            }
            _ => ("count", format!("{}();", probe("count"))),
        }
    }

    fn turn_at_start_of(&mut self, body: &Block) {
        let (mark, text) = self.turn();
        for insertion in self.function.at_start_of(body, mark, &text) {
            self.insert(insertion);
        }
    }

    /// Marks the loop as one that a budget may end after its first turn. Its own mark is at `begun`.
    fn enter_loop(&mut self, entered: &Expr, begun: usize) {
        let is_left = self.scope.leave == Leave::Pending;
        if let Some((_, first)) = self.marks.insertions.get(begun)
            && is_left
            && first.mark == "iterate"
        {
            let text = match self.access {
                Access::Variable => format!("{{ {PROBE}.enter_loop(); "),
                Access::Lent => "{ ::poll_probe::enter_loop(); ".to_owned(),
            };
            let at = bytes(entered);
            let begin = self.function.within(at.start, ENTRY, text);
            self.marks
                .insertions
                .insert(begun, (self.function.file, begin));
            self.within(at.end, ENTRY, " }");
        }
    }

    /// Marks a call that gets the context as a poll of a child.
    fn child(&mut self, call: &Expr, name: String, parts: &[&Expr]) {
        if let Some(inner) = parts.iter().find(|part| self.has_poll(part)) {
            let refused = self
                .function
                .refused("one poll at a time", "a poll within one", *inner);
            self.refused.get_or_insert(refused);
            return;
        }
        let known = self.marks.children.iter().position(|known| *known == name);
        let index = known.unwrap_or_else(|| {
            self.marks.children.push(name.clone());
            self.marks.children.len() - 1
        });
        let (begin, end) = match self.access {
            Access::Variable => (
                format!("({PROBE}.child({index}), "),
                format!(", {PROBE}.own()).1"),
            ),
            Access::Lent => (
                format!("(::poll_probe::child({index}), "),
                ", ::poll_probe::own()).1".to_owned(),
            ),
        };
        let at = bytes(call);
        self.insert(Insertion {
            child: Some(name),
            ..self.function.within(at.start, "child", begin)
        });
        self.within(at.end, "own", end);
    }

    fn has_poll(&self, expr: &Expr) -> bool {
        struct Polls<'p, 'w, 'a>(&'p Walk<'w, 'a>, bool);
        impl<'ast> Visit<'ast> for Polls<'_, '_, '_> {
            fn visit_expr(&mut self, expr: &'ast Expr) {
                let arguments = match expr {
                    Expr::Call(call) => Some(&call.args),
                    Expr::MethodCall(call) => Some(&call.args),
                    _ => None,
                };
                let mut arguments = arguments.into_iter().flatten();
                self.1 |= arguments.any(|argument| self.0.context_in(argument).is_some());
                visit::visit_expr(self, expr);
            }
        }
        let mut polls = Polls(self, false);
        polls.visit_expr(expr);
        polls.1
    }

    /// A call of a function of this crate that polls in loops of its own is no child: its polls are.
    fn follow(&mut self, owned: bool, name: &Ident, context: &Expr) -> bool {
        let follows = self.helpers.follow(owned, name);
        if follows && self.access == Access::Variable {
            self.within(bytes(context).end, "pass", format!(", {PROBE}"));
        }
        follows
    }

    fn closure(&mut self, closure: &ExprClosure) {
        let scope = Scope {
            leave: Leave::Never,
            keeps: true,
            ..self.scope.clone()
        };
        self.scoped(scope, |walk| walk.visit_expr(&closure.body));
    }

    /// The closure of a `poll_fn` has a context of its own, and is polled as long as it is `Pending`.
    fn polled_closure(&mut self, closure: &ExprClosure) -> bool {
        let parameter = match closure.inputs.first() {
            Some(Pat::Ident(name)) => name,
            Some(Pat::Type(typed)) => match &*typed.pat {
                Pat::Ident(name) => name,
                _ => return false,
            },
            _ => return false,
        };
        self.contexts.push(bytes(&parameter.ident).start);
        self.names.push(parameter.ident.clone());
        let cx = Some(parameter.ident.clone());
        let scope = Scope {
            cx,
            leave: Leave::Pending,
            keeps: false,
        };
        self.scoped(scope, |walk| walk.visit_expr(&closure.body));
        true
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
                self.keeping(condition_takes(&branching.cond), |walk| {
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

impl Walk<'_, '_> {
    fn method_call(&mut self, expr: &Expr, call: &ExprMethodCall) {
        let Some((context, at)) = self.context_among(&call.args) else {
            return visit::visit_expr_method_call(self, call);
        };
        self.contexts.push(at);
        if is_own(&call.receiver) && self.follow(true, &call.method, context) {
            return;
        }
        let mut parts = vec![&*call.receiver];
        parts.extend(&call.args);
        self.child(expr, child_of_method(self.function, call), &parts);
    }

    fn call(&mut self, expr: &Expr, call: &ExprCall) {
        let callee = match &*call.func {
            Expr::Path(path) => path.path.segments.last().map(|last| (path, &last.ident)),
            _ => None,
        };
        if let (Some((_, name)), Some(Expr::Closure(closure))) = (callee, call.args.first())
            && name == "poll_fn"
            && self.access == Access::Lent
            && self.polled_closure(closure)
        {
            return;
        }
        let Some((context, at)) = self.context_among(&call.args) else {
            return visit::visit_expr_call(self, call);
        };
        self.contexts.push(at);
        if let Some((path, name)) = callee {
            let segments = &path.path.segments;
            let owned = segments.len() == 2 && segments[0].ident == "Self";
            if (owned || segments.len() == 1) && self.follow(owned, name, context) {
                return;
            }
        }
        let name = child_of_call(self.function, call, |it| self.context_in(it).is_some());
        let parts: Vec<&Expr> = call.args.iter().collect();
        self.child(expr, name, &parts);
    }

    fn context_among<'e, P>(
        &self,
        arguments: &'e Punctuated<Expr, P>,
    ) -> Option<(&'e Expr, usize)> {
        let mut contexts = arguments.iter();
        contexts.find_map(|argument| Some((argument, self.context_in(argument)?)))
    }

    /// A turn begins with the condition, before that takes anything.
    fn while_loop(&mut self, turning: &syn::ExprWhile) {
        let takes = condition_takes(&turning.cond);
        let first = first_operand(&turning.cond);
        let polls_first = idents::are_in(&turning.cond, |ident| self.is_polling(ident));
        if !polls_first && !self.polls(&turning.body) {
            self.visit_expr(&turning.cond);
        } else if self.scope.leave == Leave::Await || leave::lies_elsewhere(first) {
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
fn condition_takes(condition: &Expr) -> bool {
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
