//! Parses the name of a subject: the arguments of `--subject`, `--tokio` and `--yamux`.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use run_format::{Budgets, Site};

use super::source_spec::{Origin, SOURCE_FORMS, SourceSpec};

/// A subject as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub stack: SourceSpec,
    /// Crates that come from elsewhere.
    pub layers: Vec<LayerSpec>,
}

/// Another source of one crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerSpec {
    pub name: String,
    pub source: SourceSpec,
}

impl Spec {
    /// The lock file's version of everything, with the patch of a budget if there is one.
    pub fn released(budgets: Option<Budgets>) -> Spec {
        let patch = budgets.map_or_else(String::new, |budgets| format!("+{budgets}"));
        let spec: Result<Spec, String> = format!("released{patch}").parse();
        spec.expect("it is one of the accepted forms")
    }

    /// The same with another source of one crate.
    pub fn with(&self, layer: &LayerSpec) -> Spec {
        let mut with_it = self.clone();
        with_it.layers.push(layer.clone());
        with_it
    }

    /// A short name: the last folder of each path, with the revision.
    pub fn label(&self) -> String {
        let layers = self.layers.iter();
        let layers = layers.map(|layer| format!(" + {}", layer.source.label(&layer.name)));
        let stack = std::iter::once(self.stack.label("released"));
        stack.chain(layers).collect()
    }

    /// Whether a budget's patch or a diff changes its sources.
    pub fn is_patched(&self) -> bool {
        self.sources().any(|source| source.patch.is_some())
    }

    /// That of the stack, and those of crates.
    pub fn sources(&self) -> impl Iterator<Item = &SourceSpec> {
        let layers = self.layers.iter().map(|layer| &layer.source);
        std::iter::once(&self.stack).chain(layers)
    }
}

impl LayerSpec {
    pub fn new(name: &str, source: &str) -> Result<LayerSpec, String> {
        let source: SourceSpec = source.parse()?;
        if source.origin == Origin::Registry(None) && source.patch.is_none() {
            return Err(format!("this changes nothing (accepted: {SOURCE_FORMS})"));
        }
        Ok(LayerSpec {
            name: name.to_owned(),
            source,
        })
    }
}

impl FromStr for Spec {
    type Err = String;

    /// A `+CRATE=` begins a layer, unless CRATE is a site of a budget or what follows names no source, as in the name
    /// of a folder.
    fn from_str(text: &str) -> Result<Self, String> {
        let (mut stack, mut layers, mut refusal) = (text, Vec::new(), None);
        while !Path::new(stack).is_dir() {
            refusal = None;
            let layer = layers_in(stack).find_map(|(at, name, source)| {
                let layer = LayerSpec::new(name, source);
                let layer = layer.map_err(|error| format!("+{name}={source}: {error}"));
                let layer = layer.map_err(|error| refusal = Some(error)).ok()?;
                Some((at, layer))
            });
            let Some((at, layer)) = layer else { break };
            layers.insert(0, layer);
            stack = &stack[..at];
        }
        let stack = stack.parse::<SourceSpec>();
        let stack = stack.map_err(|error| refusal.unwrap_or(error))?;
        Ok(Spec { stack, layers })
    }
}

/// What may be layers: where each begins, its crate, and its source. The last comes first.
fn layers_in(text: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    text.rmatch_indices('+').filter_map(|(at, _)| {
        let (name, source) = text[at + 1..].split_once('=')?;
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let is_crate = !name.is_empty() && name.bytes().all(is_of_name);
        let is_site = Site::ALL.iter().any(|site| site.to_string() == name);
        (is_crate && !is_site).then_some((at, name, source))
    })
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stack)?;
        let mut layers = self.layers.iter();
        layers.try_for_each(|LayerSpec { name, source }| write!(f, "+{name}={source}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_may_come_from_elsewhere() {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let root = dir.path().join("a+b=c").display().to_string();
        let diff = dir.path().join("x.diff").display().to_string();
        std::fs::create_dir(&root).expect("the folder is ours");
        std::fs::write(&diff, "").expect("the folder is ours");
        let text = format!("released+muxer=1+yamux=released@0.13.4+{diff}+tokio={root}@r+s");
        let spec: Spec = text.parse().expect("a subject");
        assert_eq!(spec.to_string(), text);
        let label = "released+muxer=1 + yamux@0.13.4+x.diff + a+b=c@r+s";
        assert_eq!(spec.label(), label);
        assert!(spec.is_patched());
        let tokio = LayerSpec::new("tokio", &root).expect("a folder");
        let spec = Spec::released(None).with(&tokio);
        assert_eq!(spec.to_string().parse(), Ok(spec.clone()));
        assert!(!spec.is_patched());
        assert_eq!(root.parse().map(|spec: Spec| spec.layers), Ok(Vec::new()));
    }

    #[test]
    fn a_source_that_is_none_is_refused() {
        for (wrong, part) in [
            (
                "released+tokio=/nowhere",
                "+tokio=/nowhere: there is no such folder",
            ),
            ("released+muxr=1", "+muxr=1: there is no such folder"),
            (
                "released+yamux=released",
                "+yamux=released: this changes nothing",
            ),
        ] {
            let complaint = wrong.parse::<Spec>().expect_err(wrong);
            assert!(complaint.contains(part), "{wrong}: {complaint}");
        }
    }
}
