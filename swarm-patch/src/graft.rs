//! The graft of one crate: its files with the code of all its sites inserted.

use anyhow::{Result, bail};

use crate::crate_source::CrateSource;
use crate::error::Refused;
use crate::inline::{self, Access};
use crate::inner::Marks;
use crate::insertion::{Insertion, insert};
use crate::locate::{FoundFunction, InFile, ParsedCrate};
use crate::outer;
use crate::passes;
#[cfg(feature = "subjects")]
use crate::remedies::Way;
use crate::remedies::remedies_of;
use crate::sites::{LoopShape, SiteLevels, SiteSpec};
use crate::stacks::{STACKS, sites_of};

/// The code to insert into a crate, and what that records.
#[derive(Clone, Debug, Default)]
pub struct Graft {
    pub files: Vec<GraftedFile>,
    pub sites: Vec<SiteLevels>,
}

/// A file with code to insert.
#[derive(Clone, Debug)]
pub struct GraftedFile {
    /// The path of the file in the crate.
    pub file: String,
    /// The text of the file without the code.
    pub original: String,
    /// The code to insert, each piece with its site.
    pub insertions: Vec<(SiteSpec, Insertion)>,
    /// Pairs of a text and the one that a patch for upstream puts in its place. A graft has none.
    pub replacements: Vec<(&'static str, &'static str)>,
}

impl GraftedFile {
    /// Its text with the code inserted.
    pub fn grafted(&self) -> String {
        let all = self.insertions.iter().map(|(_, insertion)| insertion);
        let replacements = self.replacements.iter();
        let inserted = insert(&self.original, all);
        replacements.fold(inserted, |text, (from, to)| text.replacen(from, to, 1))
    }
}

impl Graft {
    /// Refuses a graft without all that the pristine releases have.
    pub fn require_all(&self) -> Result<()> {
        match self.sites.iter().flat_map(SiteLevels::missing).next() {
            Some(reason) => bail!("{reason}"),
            None => Ok(()),
        }
    }

    /// Lines of a budget without a probe, before the line `before` and with the indentation of the line `like`.
    #[cfg(feature = "subjects")]
    pub(crate) fn add_lines(
        &mut self,
        spec: &SiteSpec,
        file: (&str, &str),
        (before, like): (usize, usize),
        text: &str,
    ) {
        let lines = Insertion::lines(file.1, (before, like), "budget", text);
        self.add(spec, file, lines);
    }

    /// Code for a file, given by its path and text.
    pub(crate) fn add(
        &mut self,
        spec: &SiteSpec,
        (path, text): (&str, &str),
        insertions: Vec<Insertion>,
    ) {
        if insertions.is_empty() {
            return;
        }
        let insertions = insertions.into_iter().map(|insertion| (*spec, insertion));
        self.file((path, text)).insertions.extend(insertions);
    }

    fn file(&mut self, (path, text): (&str, &str)) -> &mut GraftedFile {
        let known = self.files.iter().position(|known| known.file == path);
        let file = known.unwrap_or_else(|| {
            self.files.push(GraftedFile {
                file: path.to_owned(),
                original: text.to_owned(),
                insertions: Vec::new(),
                replacements: Vec::new(),
            });
            self.files.len() - 1
        });
        &mut self.files[file]
    }

    /// Puts a new way of a remedy in the place of the old one.
    #[cfg(feature = "subjects")]
    pub(crate) fn replace(&mut self, file: (&str, &str), way: &Way) {
        let replacements = way.replacements.iter().copied();
        self.file(file).replacements.extend(replacements);
    }
}

/// The probe and the budgets at every site of the crate. What it cannot have is noted with the reason. Without
/// the polls of connections, the first site of a stack, the crate is refused.
pub fn graft(source: &CrateSource) -> Result<Graft> {
    let parsed = ParsedCrate::read(source)?;
    let mut graft = Graft::default();
    for spec in sites_of(&source.name) {
        let (insertions, levels) = site(&parsed, spec);
        let firsts = STACKS.map(|stack| (stack.sites[0].package, stack.sites[0].name));
        if let (Some(reason), true) = (&levels.outer, firsts.contains(&(spec.package, spec.name))) {
            bail!("{reason}");
        }
        for (file, insertion) in insertions {
            graft.add(spec, file.named(), vec![insertion]);
        }
        graft.sites.push(levels);
    }
    Ok(graft)
}

/// Adds the new ways of the crate's remedies. They are all there, or none is.
fn add_remedies<'a>(
    marks: &mut Marks<'a>,
    parsed: &'a ParsedCrate,
    function: &FoundFunction<'a>,
    spec: &SiteSpec,
) {
    let rewrites = remedies_of(spec).flat_map(|remedy| remedy.rewrites);
    let rewrites = rewrites.map(|rewrite| passes::around(parsed, function, "remedy", rewrite));
    let fields = remedies_of(spec).map(|remedy| remedy.fields);
    let fields = fields.map(|(of, fields)| function.fields(of, fields));
    let rewrites: Result<Vec<_>, _> = rewrites.collect();
    let fields: Result<Vec<_>, _> = fields.collect();
    match rewrites.and_then(|rewrites| Ok((rewrites, fields?))) {
        Ok((rewrites, fields)) => {
            // A remedy goes around what marks the same expression.
            let (begin, end): (Vec<_>, Vec<_>) = rewrites
                .into_iter()
                .map(|[begin, end]| (begin, end))
                .unzip();
            marks.insertions.splice(0..0, begin);
            marks.insertions.extend(end.into_iter().chain(fields));
        }
        Err(refused) => marks.lacks_remedies = Some(refused),
    }
}

/// The marks of the inner level of a site.
fn marks<'a>(
    parsed: &'a ParsedCrate,
    function: &FoundFunction<'a>,
    spec: &SiteSpec,
) -> Result<Marks<'a>, Refused> {
    let (loop_in, states) = match spec.shape {
        LoopShape::Task { .. } => return inline::marks(parsed, function, Access::Lent, None),
        LoopShape::Passes(passes) | LoopShape::Future(passes) => {
            return passes::marks(parsed, function, &passes);
        }
        LoopShape::Poll { loop_in, states } => (loop_in, states),
    };
    let mut marks = inline::marks(parsed, function, Access::Variable, loop_in)?;
    let known = states.filter(|(needed, _)| parsed.only_function(needed).is_some());
    let states = known.map_or(&[][..], |(_, states)| states).iter();
    let states = states.map(|state| passes::around(parsed, function, "count", state));
    let states: Result<Vec<_>, _> = states.collect();
    marks
        .insertions
        .extend(states.into_iter().flatten().flatten());
    add_remedies(&mut marks, parsed, function, spec);
    Ok(marks)
}

/// The code to insert for one site, and what that records.
fn site<'a>(parsed: &'a ParsedCrate, spec: &'static SiteSpec) -> (Vec<InFile<'a>>, SiteLevels) {
    let function = parsed.locate(spec);
    let marks = function
        .clone()
        .and_then(|found| marks(parsed, &found, spec));
    let outer = function.and_then(|found| outer::around(&found, spec, marks.as_ref().ok()));
    let (mut insertions, outer, marks) = match outer {
        Ok(insertions) => (insertions, None, marks),
        // Then no other level is there either.
        Err(refused) => (Vec::new(), Some(refused.to_string()), Err(refused)),
    };
    let (inner, budget, remedies) = match marks {
        Ok(marks) => {
            // Lines at one place keep their order: the invocation begins before its first mark.
            insertions.extend(marks.insertions);
            (None, marks.cannot_be_left, marks.lacks_remedies)
        }
        Err(refused) => (
            Some(refused.to_string()),
            Some(refused.clone()),
            Some(refused),
        ),
    };
    let has_remedies = remedies_of(spec).next().is_some();
    let levels = SiteLevels {
        spec: *spec,
        outer,
        inner,
        budget: budget.map(|refused| refused.to_string()),
        remedies: has_remedies.then(|| remedies.map(|refused| refused.to_string())),
    };
    (insertions, levels)
}
