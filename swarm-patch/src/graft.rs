//! The graft of one crate: its files with the code of all its sites inserted.

use anyhow::{Result, bail};

use crate::{
    crate_source::CrateSource,
    error::Refused,
    inline::{self, Access},
    inner::Marks,
    insertion::{Insertion, insert},
    locate::{ParsedCrate, ParsedFile},
    outer::{self, Spawned},
    passes,
    sites::{LoopShape, SiteLevels, SiteSpec},
    stacks::{STACKS, sites_of},
};

/// What is inserted into a crate, and what that records.
#[derive(Clone, Debug, Default)]
pub struct Graft {
    /// The files that change.
    pub files: Vec<GraftedFile>,
    /// Its sites.
    pub sites: Vec<SiteLevels>,
}

/// A file with code to insert.
#[derive(Clone, Debug)]
pub struct GraftedFile {
    /// Its path in the crate.
    pub file: String,
    /// Its text without the code.
    pub original: String,
    /// Its sites, with what is inserted for each.
    pub sites: Vec<(SiteSpec, Vec<Insertion>)>,
}

impl GraftedFile {
    /// Its text with the code inserted.
    pub fn grafted(&self) -> String {
        let all = self.sites.iter().flat_map(|(_, insertions)| insertions);
        insert(&self.original, &all.cloned().collect::<Vec<_>>())
    }
}

impl Graft {
    /// Refuses a graft without all that the pristine releases have.
    pub fn require_all(&self) -> Result<()> {
        for site in &self.sites {
            for (_, level) in site.levels() {
                if let Some(reason) = level {
                    bail!("{reason}");
                }
            }
        }
        Ok(())
    }

    pub(crate) fn add(&mut self, spec: &SiteSpec, insertions: Vec<(&ParsedFile, Insertion)>) {
        for (file, insertion) in insertions {
            self.add_to(spec, (&file.path, &file.text), insertion);
        }
    }

    /// Code for a file, given by its path and text.
    pub(crate) fn add_to(
        &mut self,
        spec: &SiteSpec,
        (path, text): (&str, &str),
        insertion: Insertion,
    ) {
        let known = self.files.iter().position(|known| known.file == path);
        let file = known.unwrap_or_else(|| {
            self.files.push(GraftedFile {
                file: path.to_owned(),
                original: text.to_owned(),
                sites: Vec::new(),
            });
            self.files.len() - 1
        });
        let sites = &mut self.files[file].sites;
        match sites.last_mut() {
            Some((last, insertions)) if last.name == spec.name => insertions.push(insertion),
            _ => sites.push((*spec, vec![insertion])),
        }
    }
}

/// The probe and the budgets at every site of the crate. What it cannot have is noted with the reason. Without
/// the polls of connections, the first site of a stack, the crate is refused.
pub fn graft(source: &CrateSource) -> Result<Graft> {
    let parsed = ParsedCrate::read(source)?;
    let mut graft = Graft::default();
    for spec in sites_of(&source.name) {
        let (insertions, levels) = match spec.shape {
            LoopShape::Task { spawned_in } => task_site(&parsed, spec, spawned_in),
            _ => poll_site(&parsed, spec),
        };
        let firsts = STACKS.map(|stack| (stack.sites[0].package, stack.sites[0].name));
        if let (Some(reason), true) = (&levels.outer, firsts.contains(&(spec.package, spec.name))) {
            bail!("{reason}");
        }
        graft.add(spec, insertions);
        graft.sites.push(levels);
    }
    Ok(graft)
}

type Site<'a> = (Vec<(&'a ParsedFile, Insertion)>, SiteLevels);

fn poll_site<'a>(parsed: &'a ParsedCrate, spec: &'static SiteSpec) -> Site<'a> {
    let function = parsed.locate(spec);
    let marks = match (&function, spec.shape) {
        (Ok(function), LoopShape::Passes { .. } | LoopShape::Future { .. }) => {
            passes::marks(parsed, function, spec.shape)
        }
        (Ok(function), _) => inline::marks(parsed, function, Access::Variable, spec.loop_in),
        (Err(refused), _) => Err(refused.clone()),
    };
    let outer = function.and_then(|it| match spec.shape {
        LoopShape::Future { .. } => Ok(outer::of_future(&it, spec, marks.as_ref().ok())),
        _ => outer::of_poll_function(&it, spec, marks.as_ref().ok()),
    });
    together(spec, outer, marks)
}

/// The function that drives a connection, by its name or by where it is spawned, or else just the future that is
/// spawned.
fn task_site<'a>(
    parsed: &'a ParsedCrate,
    spec: &'static SiteSpec,
    spawned_in: (&str, &str),
) -> Site<'a> {
    let spawned = Spawned::locate(parsed, spawned_in);
    let by_spawn = || spawned.as_ref().ok()?.made_by(parsed);
    let named = parsed.locate(spec);
    let function = named.or_else(|refused| by_spawn().ok_or(refused));
    let marks = match &function {
        Ok(function) => inline::marks(parsed, function, Access::Lent, spec.loop_in),
        Err(refused) => Err(refused.clone()),
    };
    let outer = match (&function, spawned) {
        (Ok(function), _) if outer::is_future(function) => {
            Ok(outer::of_future(function, spec, marks.as_ref().ok()))
        }
        (_, spawned) => spawned.map(|spawned| spawned.wrapped(spec, marks.as_ref().ok())),
    };
    together(spec, outer, marks)
}

fn together<'a>(
    spec: &SiteSpec,
    outer: Result<Vec<(&'a ParsedFile, Insertion)>, Refused>,
    marks: Result<Marks<'a>, Refused>,
) -> Site<'a> {
    let (mut insertions, outer, marks) = match outer {
        Ok(insertions) => (insertions, None, marks),
        // Then no other level is there either.
        Err(refused) => (Vec::new(), Some(refused.to_string()), Err(refused)),
    };
    let (inner, budget) = match marks {
        Ok(marks) => {
            // Lines at one place keep their order: the invocation begins before its first mark.
            insertions.extend(marks.insertions);
            (None, marks.cannot_be_left)
        }
        Err(refused) => (Some(refused.to_string()), Some(refused)),
    };
    let levels = SiteLevels {
        spec: *spec,
        outer,
        inner,
        budget: budget.map(|refused| refused.to_string()),
    };
    (insertions, levels)
}
