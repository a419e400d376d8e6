//! The functions of a crate that a site hands its context to, and that poll in loops of their own.

use syn::visit::Visit;
use syn::{Block, Expr, Ident};

use crate::calls::{Expressions, callee};
use crate::idents::{idents, uses};
use crate::inner::PROBE;
use crate::locate::{FoundFunction, InFile, ParsedCrate, bytes};

/// How many functions may call each other before the loop comes.
const MAX_DEPTH: usize = 4;

/// The function of a site and those that it calls, in the order in which they were found.
pub(crate) struct Helpers<'a> {
    parsed: &'a ParsedCrate,
    pub(crate) found: Vec<FoundFunction<'a>>,
    /// Whether they get the invocation as an argument. Then nobody else may call them.
    get_argument: bool,
    site_has_loop: bool,
}

impl<'a> Helpers<'a> {
    pub(crate) fn new(
        parsed: &'a ParsedCrate,
        site: &FoundFunction<'a>,
        get_argument: bool,
    ) -> Helpers<'a> {
        let context = site.context();
        Helpers {
            site_has_loop: context.is_some_and(|(cx, _)| has_loop(site.body, cx)),
            parsed,
            found: vec![site.clone()],
            get_argument,
        }
    }

    /// What gives it the invocation.
    pub(crate) fn parameter(&self, helper: &FoundFunction<'a>) -> Option<InFile<'a>> {
        let (_, context) = helper
            .context()
            .filter(|_| self.get_argument && helper.path != self.found[0].path)?;
        let text = format!(", {PROBE}: &mut ::poll_probe::Invocation");
        Some(helper.within(bytes(context).end, "pass", text))
    }

    /// Whether a call of that function, of the site's own type or free, leads to a loop that polls. Then the
    /// function is among the next ones.
    pub(crate) fn follow(&mut self, owned: bool, name: &Ident) -> bool {
        let Some(path) = self.path(owned, name) else {
            return false;
        };
        if let Some(known) = self.found.iter().position(|it| it.path == path) {
            return known > 0;
        }
        let Some(helper) = self.parsed.only_function(&path) else {
            return false;
        };
        let follows = self.leads_to_loop(&helper, MAX_DEPTH)
            && (!self.get_argument || self.is_called_only_here(&helper));
        if follows {
            self.found.push(helper);
        }
        follows
    }

    /// The function that a call may mean. A free function may work for many, so it is followed only from a
    /// site without a loop of its own.
    fn path(&self, owned: bool, name: &Ident) -> Option<String> {
        match self.found[0].path.split_once("::") {
            Some((owner, _)) if owned => Some(format!("{owner}::{name}")),
            _ => (!owned && !self.site_has_loop).then(|| name.to_string()),
        }
    }

    fn leads_to_loop(&self, function: &FoundFunction<'a>, depth: usize) -> bool {
        let Some((cx, _)) = function.context().filter(|_| depth > 0) else {
            return false;
        };
        has_loop(function.body, cx)
            || calls(function.body)
                .filter_map(|(owned, name)| self.parsed.only_function(&self.path(owned, name)?))
                .any(|called| self.leads_to_loop(&called, depth - 1))
    }

    fn is_called_only_here(&self, helper: &FoundFunction<'a>) -> bool {
        let is_it = |ident: &Ident| *ident == helper.signature.ident;
        let everywhere = self.parsed.files.iter().flat_map(|it| idents(&it.tree));
        let known = self.found.iter().chain([helper]);
        let here = known.flat_map(|it| idents(it.body));
        everywhere.filter(is_it).count() == here.filter(is_it).count() + 1
    }
}

/// Whether an expression is what the site's function belongs to.
pub(crate) fn is_own(receiver: &Expr) -> bool {
    match receiver {
        Expr::Path(path) => path.path.is_ident("self") || path.path.is_ident("this"),
        Expr::MethodCall(view) => {
            (view.method == "as_mut" || view.method == "get_mut") && is_own(&view.receiver)
        }
        _ => false,
    }
}

/// Whether a loop in a body uses the context.
fn has_loop(body: &Block, cx: &Ident) -> bool {
    let expressions = Expressions::of(|all| all.visit_block(body));
    expressions.into_iter().any(|expr| match expr {
        Expr::Loop(turning) => uses(&turning.body, cx),
        Expr::ForLoop(turning) => uses(&turning.body, cx),
        Expr::While(turning) => uses(turning, cx),
        _ => false,
    })
}

/// The functions that a body calls: whether they are of the site's own type, and their names.
fn calls(body: &Block) -> impl Iterator<Item = (bool, &Ident)> {
    let expressions = Expressions::of(|all| all.visit_block(body));
    expressions.into_iter().filter_map(|expr| match expr {
        Expr::Call(call) => {
            callee(call).map(|(segments, name)| (segments[0].ident == "Self", name))
        }
        Expr::MethodCall(call) if is_own(&call.receiver) => Some((true, &call.method)),
        _ => None,
    })
}
