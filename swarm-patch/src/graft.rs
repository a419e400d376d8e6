//! The graft of one crate: its files with the code of all its sites inserted.

use anyhow::{Result, bail};

use crate::crate_source::CrateSource;
use crate::delegated_bounds;
use crate::error::Refused;
use crate::inline::{self, Access};
use crate::inner::Marks;
use crate::insertion::{Insertion, insert};
use crate::locate::{FoundFunction, InFile, ParsedCrate};
use crate::outer;
use crate::remedies::remedies_of;
use crate::sites::{LoopShape, SiteLevels, SiteSpec};
use crate::stacks::{STACKS, sites_of};

/// The code to insert into a crate, and what this code records.
#[derive(Clone, Debug, Default)]
pub struct Graft {
    pub files: Vec<GraftedFile>,
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
        match self.sites.iter().flat_map(SiteLevels::missing).next() {
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
pub fn graft(source: &CrateSource) -> Result<Graft> {
    let parsed = ParsedCrate::read(source)?;
    let mut graft = Graft::default();
    for spec in sites_of(&source.name) {
        let (insertions, levels) = graft_site(&parsed, spec);
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

/// Adds the code of the crate's remedies: all of it or none.
fn add_remedies<'a>(
    marks: &mut Marks<'a>,
    parsed: &'a ParsedCrate,
    function: &FoundFunction<'a>,
    spec: &SiteSpec,
) {
    let rewrites: Result<Vec<_>, _> = remedies_of(spec)
        .flat_map(|remedy| remedy.rewrites)
        .map(|rewrite| delegated_bounds::around(parsed, function, "remedy", rewrite))
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
        }
        Err(refused) => marks.lacks_remedies = Some(refused),
    }
}

/// The marks of the inner level of a site.
fn inner_marks<'a>(
    parsed: &'a ParsedCrate,
    function: &FoundFunction<'a>,
    spec: &SiteSpec,
) -> Result<Marks<'a>, Refused> {
    let (loop_in, states) = match spec.shape {
        LoopShape::Task { .. } => return inline::marks(parsed, function, Access::Lent, None),
        LoopShape::DelegatedBounds(description) | LoopShape::Future(description) => {
            return delegated_bounds::marks(parsed, function, &description);
        }
        LoopShape::Poll { loop_in, states } => (loop_in, states),
    };
    let mut marks = inline::marks(parsed, function, Access::Variable, loop_in)?;
    if let Some(states) = states
        && parsed
            .only_function(states.only_if_function_exists)
            .is_some()
    {
        let around = states
            .rewrites
            .iter()
            .map(|state| delegated_bounds::around(parsed, function, "count", state));
        // If one of the expressions is not there, none is read.
        if let Ok(insertions) = around.collect::<Result<Vec<_>, _>>() {
            marks.insertions.extend(insertions.into_iter().flatten());
        }
    }
    add_remedies(&mut marks, parsed, function, spec);
    Ok(marks)
}

/// The code to insert for one site, and what this code records.
fn graft_site<'a>(
    parsed: &'a ParsedCrate,
    spec: &'static SiteSpec,
) -> (Vec<InFile<'a>>, SiteLevels) {
    let function = parsed.locate(spec);
    let marks = function
        .clone()
        .and_then(|found| inner_marks(parsed, &found, spec));
    let around = function.and_then(|found| outer::around(&found, spec, marks.as_ref().ok()));
    let (mut insertions, lacks_outer, marks_or_reason) = match around {
        Ok(insertions) => (insertions, None, marks),
        // A site without the outer level has no other level either.
        Err(refused) => (Vec::new(), Some(refused.to_string()), Err(refused)),
    };
    let (inner, budget, remedies) = match marks_or_reason {
        Ok(marks) => {
            // Insertions at one place keep their order, so the invocation begins before its first mark.
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
        outer: lacks_outer,
        inner,
        budget: budget.map(|refused| refused.to_string()),
        remedies: has_remedies.then(|| remedies.map(|refused| refused.to_string())),
    };
    (insertions, levels)
}
