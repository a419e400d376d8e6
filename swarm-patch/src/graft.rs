//! The graft of one crate: its files with the code of all its sites inserted.

use anyhow::{Result, bail};

use crate::crate_dir::CrateDir;
use crate::error::Refused;
use crate::inline::{self, Access};
use crate::inner::Marks;
use crate::insertion::{Insertion, Mark, insert};
use crate::locate::{FoundFunction, InFile, ParsedCrate};
use crate::named_expressions;
use crate::outer;
use crate::remedies::remedies_of;
use crate::sites::{Level, LoopShape, Rewrite, SiteLevels, SiteSpec};
use crate::stacks::{STACKS, sites_of};

/// The code to insert into a crate, and what this code records.
#[derive(Clone, Debug, Default)]
pub struct Graft {
    /// The files that get code.
    pub files: Vec<GraftedFile>,
    /// The levels of every site of the crate.
    pub sites: Vec<SiteLevels>,
}

/// A file with code to insert.
#[derive(Clone, Debug)]
pub struct GraftedFile {
    /// The path of the file in the crate.
    pub path: String,
    /// The text of the file without the code.
    pub original: String,
    /// The code to insert, each piece with its site.
    pub insertions: Vec<(SiteSpec, Insertion)>,
    /// Pairs of a text and the one that a patch for upstream puts in its place. A graft has none.
    pub replacements: Vec<(&'static str, &'static str)>,
}

impl GraftedFile {
    /// The text of the file with the code inserted.
    pub fn grafted(&self) -> String {
        let all = self.insertions.iter().map(|(_, insertion)| insertion);
        let replacements = self.replacements.iter();
        let inserted = insert(&self.original, all);
        replacements.fold(inserted, |text, (from, to)| text.replacen(from, to, 1))
    }
}

impl Graft {
    /// Refuses a graft that lacks a level of a site. The grafts of the pristine releases lack none.
    pub fn require_all(&self) -> Result<()> {
        match self.sites.iter().flat_map(SiteLevels::reasons).next() {
            Some(reason) => bail!("{reason}"),
            None => Ok(()),
        }
    }

    /// Adds code to a file, which is given by its path and text.
    pub(crate) fn add(
        &mut self,
        spec: &SiteSpec,
        (path, text): (&str, &str),
        insertions: Vec<Insertion>,
    ) {
        if !insertions.is_empty() {
            let with_site = insertions.into_iter().map(|insertion| (*spec, insertion));
            self.file((path, text)).insertions.extend(with_site);
        }
    }

    pub(crate) fn file(&mut self, (path, text): (&str, &str)) -> &mut GraftedFile {
        let known = self.files.iter().position(|known| known.path == path);
        let file = known.unwrap_or_else(|| {
            self.files.push(GraftedFile {
                path: path.to_owned(),
                original: text.to_owned(),
                insertions: Vec::new(),
                replacements: Vec::new(),
            });
            self.files.len() - 1
        });
        &mut self.files[file]
    }
}

/// Makes the code that records and bounds polls at every site of the crate. A level that a site cannot have is noted with the
/// reason. The crate is refused if it has the first site of a stack, the polls of connections, and these cannot be recorded.
pub fn graft(source: &CrateDir) -> Result<Graft> {
    let parsed = ParsedCrate::read(source)?;
    let mut graft = Graft::default();
    for spec in sites_of(&source.name) {
        let (insertions, levels) = graft_site(&parsed, spec);
        let firsts = STACKS.map(|stack| (stack.sites[0].package, stack.sites[0].name));
        if let (Some(reason), true) = (
            levels.outer.reason(),
            firsts.contains(&(spec.package, spec.name)),
        ) {
            bail!("{reason}");
        }
        for (file, insertion) in insertions {
            graft.add(spec, file.named(), vec![insertion]);
        }
        graft.sites.push(levels);
    }
    Ok(graft)
}

/// Adds the code of the crate's remedies: all of it or none.
fn add_remedies<'a>(
    marks: &mut Marks<'a>,
    parsed: &'a ParsedCrate,
    function: &FoundFunction<'a>,
    spec: &SiteSpec,
) {
    if remedies_of(spec).next().is_none() {
        return;
    }
    let rewrites: Result<Vec<_>, _> = remedies_of(spec)
        .flat_map(|remedy| remedy.rewrites)
        .map(|rewrite| named_expressions::around(parsed, function, Mark::Remedy, rewrite))
        .collect();
    let fields: Result<Vec<_>, _> = remedies_of(spec)
        .map(|remedy| function.fields(remedy.fields.0, remedy.fields.1))
        .collect();
    match rewrites.and_then(|rewrites| Ok((rewrites, fields?))) {
        Ok((rewrites, fields)) => {
            // If a mark is at the same expression, the remedy goes around the mark.
            let (begin, end): (Vec<_>, Vec<_>) = rewrites
                .into_iter()
                .map(|[begin, end]| (begin, end))
                .unzip();
            marks.insertions.splice(0..0, begin);
            marks.insertions.extend(end.into_iter().chain(fields));
            marks.remedies = Some(Level::Present);
        }
        Err(refused) => marks.remedies = Some(Level::from(&refused)),
    }
}

/// The marks of the inner level of a site, and of the levels that need it.
fn inner_marks<'a>(
    parsed: &'a ParsedCrate,
    function: &FoundFunction<'a>,
    spec: &SiteSpec,
) -> Result<Marks<'a>, Refused> {
    let mut marks = match spec.shape {
        LoopShape::Task { .. } => inline::marks(parsed, function, Access::Lent, None)?,
        LoopShape::Poll { loop_in, .. } => {
            inline::marks(parsed, function, Access::Variable, loop_in)?
        }
        LoopShape::BoundedInside(named) => named_expressions::marks(parsed, function, &named)?,
        LoopShape::FutureWithCalls(named) => {
            let mut marks = named_expressions::marks(parsed, function, &named)?;
            // Without its iterations, the inner level would say that there are none.
            let iterations = named_expressions::counts(parsed, function, named.counts)?;
            marks.insertions.extend(iterations);
            marks
        }
    };
    if let Some(rewrites) = counts_of(parsed, spec) {
        marks.counts = Some(
            match named_expressions::counts(parsed, function, rewrites) {
                Ok(insertions) => {
                    marks.insertions.extend(insertions);
                    Level::Present
                }
                Err(refused) => Level::from(&refused),
            },
        );
    }
    add_remedies(&mut marks, parsed, function, spec);
    Ok(marks)
}

/// The expressions around which connections, streams or sockets are counted. None if the site has no counts in this release.
fn counts_of(parsed: &ParsedCrate, spec: &SiteSpec) -> Option<&'static [Rewrite]> {
    match spec.shape {
        LoopShape::Poll { states, .. } => {
            let states = states?;
            let function = parsed.only_function(states.only_if_function_exists);
            function.map(|_| states.rewrites)
        }
        LoopShape::BoundedInside(named) => Some(named.counts),
        LoopShape::Task { .. } | LoopShape::FutureWithCalls(_) => None,
    }
}

/// The code to insert for one site, and what this code records.
fn graft_site<'a>(
    parsed: &'a ParsedCrate,
    spec: &'static SiteSpec,
) -> (Vec<InFile<'a>>, SiteLevels) {
    let function = match parsed.locate(spec) {
        Ok(function) => function,
        Err(refused) => return (Vec::new(), no_levels(parsed, spec, &refused)),
    };
    let marks = inner_marks(parsed, &function, spec);
    let mut insertions = match outer::around(&function, spec, marks.as_ref().ok()) {
        Ok(insertions) => insertions,
        // A site without the outer level has no other level either.
        Err(refused) => return (Vec::new(), no_levels(parsed, spec, &refused)),
    };
    let levels = match marks {
        Ok(marks) => {
            // Insertions at one place keep their order, so the invocation begins before its first mark.
            insertions.extend(marks.insertions);
            SiteLevels {
                spec: *spec,
                outer: Level::Present,
                inner: Level::Present,
                budget: marks.budget,
                counts: marks.counts,
                remedies: marks.remedies,
            }
        }
        Err(refused) => SiteLevels {
            outer: Level::Present,
            ..no_levels(parsed, spec, &refused)
        },
    };
    (insertions, levels)
}

/// The levels of a site that has none of them.
fn no_levels(parsed: &ParsedCrate, spec: &SiteSpec, refused: &Refused) -> SiteLevels {
    let missing = Level::from(refused);
    let has_remedies = remedies_of(spec).next().is_some();
    SiteLevels {
        spec: *spec,
        outer: missing.clone(),
        inner: missing.clone(),
        budget: missing.clone(),
        counts: counts_of(parsed, spec).map(|_| missing.clone()),
        remedies: has_remedies.then_some(missing),
    }
}
