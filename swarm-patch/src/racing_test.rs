//! Sets tests aside that let two clocks race.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use syn::{ItemFn, spanned::Spanned, visit::Visit};

/// A test of upstream's that passes or fails as two clocks happen to go off, which nothing here
/// changes and a busy machine decides.
#[derive(Clone, Copy, Debug)]
pub struct RacingTest {
    /// Its file in the crate.
    pub file: &'static str,
    /// Its name, which only one function of the file has.
    pub function: &'static str,
    /// What races what.
    pub reason: &'static str,
}

/// Has the copy of the crate in `dir` ignore the test, so that whoever runs the ignored ones may give
/// it another chance.
pub(crate) fn set_aside(test: &RacingTest, dir: &Path) -> Result<()> {
    let path = dir.join(test.file);
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let tree =
        syn::parse_file(&text).with_context(|| format!("{}: not a Rust source", path.display()))?;
    let mut found = Functions {
        name: test.function,
        starts: Vec::new(),
    };
    found.visit_file(&tree);
    let [start] = found.starts[..] else {
        bail!(
            "{}: looked for one test {}, found {}",
            test.file,
            test.function,
            found.starts.len()
        );
    };
    let (before, after) = text.split_at(start);
    let ignore = format!("#[ignore = {:?}] ", test.reason);
    fs::write(&path, [before, &ignore, after].concat())
        .with_context(|| format!("cannot write {}", path.display()))
}

struct Functions<'a> {
    name: &'a str,
    starts: Vec<usize>,
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        if function.sig.ident == self.name {
            self.starts.push(function.span().byte_range().start);
        }
        syn::visit::visit_item_fn(self, function);
    }
}
