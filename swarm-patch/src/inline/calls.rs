//! Calls that get the context: polls of children, and functions that are part of the site.

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ExprClosure, ExprMethodCall, Pat};

use super::{Access, Arms, Walk};
use crate::calls::{Expressions, callee, child_of_call, child_of_method};
use crate::inner::PROBE;
use crate::insertion::Mark;
use crate::locate::bytes;
use crate::methods::is_self;

impl Walk<'_, '_> {
    pub(super) fn method_call(&mut self, expr: &Expr, call: &ExprMethodCall) {
        let Some((context, byte)) = self.context_among(&call.args) else {
            return visit::visit_expr_method_call(self, call);
        };
        self.contexts.push(byte);
        if is_self(&call.receiver) && self.methods.contains(&&call.method) {
            return self.within(bytes(context).end, Mark::Pass, format!(", {PROBE}"));
        }
        let mut parts = vec![&*call.receiver];
        parts.extend(&call.args);
        self.child(expr, context, child_of_method(self.function, call), &parts);
    }

    pub(super) fn call(&mut self, expr: &Expr, call: &ExprCall) {
        if let (Some(name), Some(Expr::Closure(closure))) = (callee(call), call.args.first())
            && name == "poll_fn"
            && self.access == Access::Lent
            && self.polled_closure(closure)
        {
            return;
        }
        let Some((context, byte)) = self.context_among(&call.args) else {
            return visit::visit_expr_call(self, call);
        };
        self.contexts.push(byte);
        let name = child_of_call(self.function, call, |argument| {
            self.context_in(argument).is_some()
        });
        let parts: Vec<&Expr> = call.args.iter().collect();
        self.child(expr, context, name, &parts);
    }

    /// The argument that is the context, and the byte at which its name begins.
    fn context_among<'e, P>(
        &self,
        arguments: &'e Punctuated<Expr, P>,
    ) -> Option<(&'e Expr, usize)> {
        let mut contexts = arguments.iter();
        contexts.find_map(|argument| Some((argument, self.context_in(argument)?)))
    }

    fn context_in(&self, argument: &Expr) -> Option<usize> {
        let name = match argument {
            // A reborrow: `&mut *cx`.
            Expr::Reference(reference) => match &*reference.expr {
                Expr::Unary(unary) => &*unary.expr,
                _ => return None,
            },
            name => name,
        };
        let Expr::Path(name) = name else {
            return None;
        };
        let cx = self.cx.as_ref()?;
        name.path.is_ident(cx).then(|| bytes(name).start)
    }

    /// Marks a call that gets the context as a poll of a child.
    fn child(&mut self, call: &Expr, context: &Expr, name: String, parts: &[&Expr]) {
        if let Some(inner) = parts.iter().find(|part| self.has_poll(part)) {
            let function = self.function;
            let refused = function.refused("one poll at a time", "a poll within one", *inner);
            self.refused.get_or_insert(refused);
            return;
        }
        let number = self.marks.number(&name);
        let begin = format!("{}({number})", self.access.call("child"));
        let child_ended = format!("{}()", self.access.call("child_ended"));
        let arms = self.arms.take().filter(|arms| arms.polled == bytes(call));
        let (marked, begin) = match arms {
            Some(_) if matches!(context, Expr::Path(_)) => {
                (bytes(context), format!("{{ {begin}; &mut *"))
            }
            Some(_) => (bytes(context), format!("{{ {begin}; ")),
            None => (bytes(call), format!("({begin}, ")),
        };
        self.marks
            .begin_child(self.function, marked.start, name, begin);
        let Some(Arms { begin, pattern, .. }) = arms else {
            return self.within(marked.end, Mark::ChildEnd, format!(", {child_ended}).1"));
        };
        self.within(marked.end, Mark::Child, " }");
        let arm = format!(" {pattern} if {{ {child_ended}; false }} => unreachable!(),");
        self.within(begin, Mark::ChildEnd, arm);
    }

    fn has_poll(&self, expr: &Expr) -> bool {
        let mut expressions = Expressions::in_expr(expr).into_iter();
        expressions.any(|expr| match expr {
            Expr::Call(call) => self.context_among(&call.args).is_some(),
            Expr::MethodCall(call) => self.context_among(&call.args).is_some(),
            _ => false,
        })
    }

    /// Visits the closure of a `poll_fn`, which has a context of its own. Returns whether it is such a closure.
    fn polled_closure(&mut self, closure: &ExprClosure) -> bool {
        let parameter = match closure.inputs.first() {
            Some(Pat::Type(typed)) => Some(&*typed.pat),
            other => other,
        };
        let Some(Pat::Ident(parameter)) = parameter else {
            return false;
        };
        self.contexts.push(bytes(&parameter.ident).start);
        self.names.push(parameter.ident.clone());
        let outer = self.cx.replace(parameter.ident.clone());
        self.visit_expr(&closure.body);
        self.cx = outer;
        true
    }
}
