//! Parses the name of a subject: the arguments of `--subject`, `--tokio` and `--yamux`.

use std::fmt;
use std::str::FromStr;

use run_format::Budgets;

use super::source_spec::{Origin, Part, SOURCE_FORMS, SourceSpec, parse};

/// A subject as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectSpec {
    /// The source of the stack's crates.
    pub stack: SourceSpec,
    /// The budget whose patch the crates get.
    pub budgets: Option<Budgets>,
    /// The crates that come from elsewhere.
    pub layers: Vec<LayerSpec>,
}

/// Another source of one crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerSpec {
    /// The name of the crate.
    pub name: String,
    /// The source of the crate.
    pub source: SourceSpec,
}

impl SubjectSpec {
    /// The version of the lock file, with the patch of a budget if there is one.
    pub fn released(budgets: Option<Budgets>) -> SubjectSpec {
        SubjectSpec {
            stack: SourceSpec::without_diffs(Origin::Registry(None)),
            budgets,
            layers: Vec::new(),
        }
    }

    /// The same subject with another source of one crate.
    pub fn with(&self, layer: &LayerSpec) -> SubjectSpec {
        let mut spec = self.clone();
        spec.layers.push(layer.clone());
        spec
    }

    /// A short name: the last folder of each path, with the revision.
    pub fn label(&self) -> String {
        let mut label = self.stack.label("released");
        if let Some(budgets) = self.budgets {
            label += &format!("+{budgets}");
        }
        for LayerSpec { name, source } in &self.layers {
            label += &format!(" + {}", source.label(name));
        }
        label
    }

    /// Whether the patch of a budget or a diff changes the sources.
    pub fn is_patched(&self) -> bool {
        let layers = self.layers.iter().map(|layer| &layer.source);
        let mut sources = std::iter::once(&self.stack).chain(layers);
        self.budgets.is_some() || sources.any(|source| !source.diffs.is_empty())
    }
}

impl LayerSpec {
    /// Reads the text of a source of the crate `name`.
    pub fn new(name: &str, source: &str) -> Result<LayerSpec, String> {
        let layer = LayerSpec {
            name: name.to_owned(),
            source: source.parse()?,
        };
        layer.changes_something()
    }

    /// Refuses a source that is the version of the lock file without a diff.
    fn changes_something(self) -> Result<LayerSpec, String> {
        match self.source.origin == Origin::Registry(None) && self.source.diffs.is_empty() {
            true => Err(format!("this changes nothing (accepted: {SOURCE_FORMS})")),
            false => Ok(self),
        }
    }
}

impl FromStr for SubjectSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (origin, parts) = parse(text)?;
        let mut stack = SourceSpec::without_diffs(origin);
        let (mut budgets, mut named) = (Vec::new(), Vec::<LayerSpec>::new());
        for part in parts {
            match part {
                Part::Diff(diff) => {
                    let last = named.last_mut().map(|layer| &mut layer.source);
                    last.unwrap_or(&mut stack).diffs.push(diff);
                }
                Part::Budget(bounds) => budgets.push(bounds.to_string()),
                Part::Layer(name, origin) => {
                    let source = SourceSpec::without_diffs(origin);
                    named.push(LayerSpec { name, source });
                }
            }
        }
        let mut layers = Vec::new();
        for layer in named {
            let shown = layer.to_string();
            let checked = layer.changes_something();
            layers.push(checked.map_err(|wrong| format!("{shown}: {wrong}"))?);
        }
        Ok(SubjectSpec {
            stack,
            layers,
            budgets: match &budgets[..] {
                [] => None,
                budgets => Some(budgets.join(",").parse()?),
            },
        })
    }
}

impl fmt::Display for LayerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{}={}", self.name, self.source)
    }
}

impl fmt::Display for SubjectSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stack)?;
        if let Some(budgets) = self.budgets {
            write!(f, "+{budgets}")?;
        }
        self.layers
            .iter()
            .try_for_each(|layer| write!(f, "{layer}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_may_come_from_elsewhere() {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let root = dir.path().join("a@b=c").display().to_string();
        let diff = dir.path().join("x.diff").display().to_string();
        std::fs::create_dir(&root).expect("the folder is ours");
        std::fs::write(&diff, "").expect("the folder is ours");
        let text = format!("released+muxer=1+yamux=released@0.13.4+{diff}+tokio={root}@r/s");
        let spec: SubjectSpec = text.parse().expect("a subject");
        assert_eq!(spec.to_string(), text);
        let label = "released+muxer=1 + yamux@0.13.4+x.diff + a@b=c@r/s";
        assert_eq!(spec.label(), label);
        assert!(spec.is_patched());
        let tokio = LayerSpec::new("tokio", &root).expect("a folder");
        let spec = SubjectSpec::released(None).with(&tokio);
        assert_eq!(spec.to_string().parse(), Ok(spec.clone()));
        assert!(!spec.is_patched());
        assert_eq!(
            root.parse().map(|spec: SubjectSpec| spec.layers),
            Ok(Vec::new())
        );
    }

    #[test]
    fn a_part_that_names_no_source_is_refused() {
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
            let complaint = wrong.parse::<SubjectSpec>().expect_err(wrong);
            assert!(complaint.contains(part), "{wrong}: {complaint}");
        }
    }

    #[test]
    fn diffs_budgets_and_crates_come_in_any_number_and_order() {
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let root = dir.path().join("a").display().to_string();
        let [one, two] = ["x@y.diff", "two.patch"].map(|name| format!("{root}{name}"));
        for folder in [root.clone(), format!("{root}@b")] {
            std::fs::create_dir(folder).expect("the folder is ours");
        }
        for file in [&one, &two] {
            std::fs::write(file, "").expect("the folder is ours");
        }
        let read = |text: &str| {
            let spec: SubjectSpec = text
                .parse()
                .unwrap_or_else(|wrong| panic!("{text}: {wrong}"));
            assert_eq!(spec.to_string().parse(), Ok(spec.clone()), "{text}");
            assert!(spec.is_patched(), "{text}");
            spec
        };
        let label = |text: &str| read(text).label();
        for origin in [
            "released",
            "released@0.56",
            &root,
            &format!("{root}@r/s"),
            &format!("{root}@b"),
        ] {
            let plain = origin.replace(&root, "a");
            assert_eq!(
                label(&format!("{origin}+{one}")),
                format!("{plain}+ax@y.diff")
            );
            assert_eq!(
                label(&format!("{origin}+muxer=1")),
                format!("{plain}+muxer=1")
            );
            let all = format!(
                "{plain}+ax@y.diff+atwo.patch+connection=2,muxer=1/deferred + tokio@1.50.0"
            );
            for order in [
                format!("{origin}+{one}+{two}+muxer=1/deferred+connection=2+tokio=released@1.50.0"),
                format!("{origin}+connection=2+{one}+muxer=1/deferred+{two}+tokio=released@1.50.0"),
                format!("{origin}+{one}+connection=2,muxer=1/deferred+{two}+tokio=released@1.50.0"),
            ] {
                assert_eq!(label(&order), all, "{order}");
            }
        }
        // A diff after a crate is one of that crate, and a budget is one of the whole subject wherever it is.
        let text = format!("released+tokio={root}@r/s+muxer=1+{one}+yamux=released+{two}");
        let expected = "released+muxer=1 + a@r/s+ax@y.diff + yamux+atwo.patch";
        assert_eq!(label(&text), expected);
        for (wrong, part) in [
            ("released+".to_owned(), "\"\" after the + is neither a file"),
            (
                "released+none".to_owned(),
                "\"none\" after the + is neither a file",
            ),
            (
                "released+muxer=1+muxer=2".to_owned(),
                "site muxer is named twice",
            ),
            (
                format!("released+{one}+gone.diff"),
                "\"gone.diff\" after the + is neither a file",
            ),
            (
                format!("{root}@r+muxr=1"),
                "+muxr=1: there is no such folder",
            ),
            (
                format!("{root}@r+gone.diff"),
                "\"gone.diff\" after the + is neither a file",
            ),
            (format!("{root}@v1+gone"), "names with + are not accepted"),
            (
                format!("released+{one}+muxer=0"),
                "\"muxer=0\" after the + is no budget",
            ),
            ("released+muxer=1@both".to_owned(), "--peers-subject"),
        ] {
            let complaint = wrong.parse::<SubjectSpec>().expect_err(&wrong);
            assert!(complaint.contains(part), "{wrong}: {complaint}");
        }
    }
}
