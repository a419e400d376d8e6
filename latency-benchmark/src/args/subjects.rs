//! The subjects: versions of the network stack, or settings of the runtime, that are compared.

use anyhow::anyhow;
use clap::Args;
use program::{Failure, bad_input, reject};
use run_format::{Budgets, CENTRAL_ALONE, Ends, LONGEST_LABEL, Role, RuntimeConfig, SubjectConfig};
use swarm_patch::stacks::Stack;
use swarm_patch::subject::Subject;
use swarm_patch::subject::source_spec::{SOURCE_FORMS, SUBJECT_FORMS};
use swarm_patch::subject::spec::{LayerSpec, SubjectSpec};

use super::budgets::refuse_twice;
use super::runtime::{SETTING_FORMS, with_settings};

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "What is compared")]
pub(crate) struct SubjectArgs {
    #[arg(long, value_name = "SPEC", help = format!("A version of the network stack to compare, repeatable, the first is the baseline [default: versions are not compared]:\n- {}", SUBJECT_FORMS.replace("; ", "\n- ")))]
    pub(crate) subject: Vec<SubjectSpec>,
    #[arg(long, value_name = "SOURCE", value_parser = |source: &str| LayerSpec::new("tokio", source), help = format!("Compare each subject (default: released) also with its build on this tokio; repeatable: {SOURCE_FORMS}"))]
    pub(crate) tokio: Vec<LayerSpec>,
    /// The same for yamux: `--yamux released+my.diff` compares a change of the released yamux with the release
    #[arg(long, value_name = "SOURCE", value_parser = |source: &str| LayerSpec::new("yamux", source))]
    pub(crate) yamux: Vec<LayerSpec>,
    #[arg(long, value_name = "SETTING", conflicts_with_all = ["subject", "tokio", "yamux"], help = format!("Add launches with this setting of central's tokio runtime, to compare with launches without it; repeatable: {SETTING_FORMS}"))]
    pub(crate) runtime_setting: Vec<String>,
    /// What a subject's peers run: `first` (the first subject), `same` (that subject), or the SPEC of another --subject
    /// [default: first; a subject with a diff or a patch is measured with `same` and with `first`]
    #[arg(long, value_name = "SUBJECT")]
    pub(crate) peers_subject: Option<String>,
}

impl SubjectArgs {
    /// The release, and the release with the patch of a budget at both ends.
    pub(crate) fn patched(budgets: Budgets) -> SubjectArgs {
        let patch = budgets.with_ends(Ends::Central);
        SubjectArgs {
            subject: vec![
                SubjectSpec::released(None),
                SubjectSpec::released(Some(patch)),
            ],
            peers_subject: Some("same".to_owned()),
            ..SubjectArgs::default()
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let layers = self.tokio.iter().chain(&self.yamux).count();
        self.subject.is_empty() && layers == 0 && self.runtime_setting.is_empty()
    }

    /// Looks the subjects up. `has_control` adds an A/A control of the first.
    pub(crate) fn subjects(
        &self,
        stack: &Stack,
        has_control: bool,
        runtime: RuntimeConfig,
    ) -> Result<Vec<SubjectConfig>, Failure> {
        if self.is_empty() {
            if self.peers_subject.is_some() {
                reject!("--peers-subject: there are no subjects (add --subject)");
            }
            return Ok(Vec::new());
        }
        let mut subjects = match self.runtime_setting.is_empty() {
            true => self.versions(stack)?,
            false => self.runtimes(stack, runtime)?,
        };
        tell_apart(&mut subjects)?;
        subjects[0].role = Role::Baseline;
        if has_control {
            subjects.insert(1, control_of(&subjects[0]));
        }
        self.choose_peers(&mut subjects)?;
        Ok(subjects)
    }

    fn choose_peers(&self, subjects: &mut Vec<SubjectConfig>) -> Result<(), Failure> {
        match self.peers_subject.as_deref() {
            Some("first") => {}
            Some("same") => {
                for (number, subject) in (0..).zip(subjects) {
                    subject.peers = number;
                }
            }
            Some(name) => {
                let is_named =
                    |subject: &SubjectConfig| subject.label == name || subject.spec == name;
                let Some(peers) = subjects.iter().position(is_named) else {
                    reject!(
                        "--peers-subject: there is no subject {name:?} (accepted: first, same, or the SPEC of a --subject)"
                    );
                };
                for subject in subjects {
                    subject.peers = peers;
                }
            }
            // A merge gives both ends the patch, so the peers of a patched subject have it, too.
            None => {
                let is_patched = |subject: &SubjectConfig| {
                    let spec = subject.spec.parse::<SubjectSpec>();
                    spec.is_ok_and(|spec| spec.is_patched())
                };
                let baseline_is_patched = is_patched(&subjects[0]);
                for subject in std::mem::take(subjects) {
                    let alone =
                        (is_patched(&subject) && !baseline_is_patched).then(|| SubjectConfig {
                            label: subject.label.clone() + CENTRAL_ALONE,
                            ..subject.clone()
                        });
                    let peers = if alone.is_some() { subjects.len() } else { 0 };
                    subjects.push(SubjectConfig { peers, ..subject });
                    subjects.extend(alone);
                }
            }
        }
        Ok(())
    }

    /// The subjects of `--runtime-setting`: one program that is launched with several runtimes.
    fn runtimes(
        &self,
        stack: &Stack,
        runtime: RuntimeConfig,
    ) -> Result<Vec<SubjectConfig>, Failure> {
        refuse_twice("--runtime-setting", &self.runtime_setting)?;
        let released = look_up(stack, &SubjectSpec::released(None))?;
        let unchanged = SubjectConfig {
            label: "unchanged runtime".to_owned(),
            ..released.clone()
        };
        let with = |settings: &String| {
            Ok(SubjectConfig {
                label: settings.clone(),
                runtime: Some(with_settings("--runtime-setting", runtime, settings)?),
                ..released.clone()
            })
        };
        let changed = self.runtime_setting.iter().map(with);
        [Ok(unchanged)].into_iter().chain(changed).collect()
    }

    fn versions(&self, stack: &Stack) -> Result<Vec<SubjectConfig>, Failure> {
        let specs = self.specs();
        refuse_twice("--subject", &specs)?;
        specs.iter().map(|spec| look_up(stack, spec)).collect()
    }

    /// The versions: those of `--subject` or else the release, and each of them with the sources of `--tokio` and `--yamux`.
    pub(crate) fn specs(&self) -> Vec<SubjectSpec> {
        let mut specs = self.subject.clone();
        if specs.is_empty() {
            specs.push(SubjectSpec::released(None));
        }
        for layer in self.tokio.iter().chain(&self.yamux) {
            let with_it = specs.iter().filter(|spec| spec.layers.is_empty());
            let with_it: Vec<SubjectSpec> = with_it.map(|spec| spec.with(layer)).collect();
            specs.extend(with_it);
        }
        specs
    }
}

pub(crate) fn look_up(stack: &Stack, spec: &SubjectSpec) -> Result<SubjectConfig, Failure> {
    let subject = Subject::find(stack, spec).map_err(bad_input)?;
    Ok(SubjectConfig {
        label: spec.label(),
        role: Role::Candidate,
        spec: spec.to_string(),
        libp2p: subject.source.record.clone(),
        layers: subject.layer_records(),
        build: None,
        runtime: None,
        peers: 0,
        layouts: 0,
    })
}

fn control_of(baseline: &SubjectConfig) -> SubjectConfig {
    SubjectConfig {
        label: format!("{} (A/A)", baseline.label),
        role: Role::Control,
        ..baseline.clone()
    }
}

/// Gives subjects with the same short label their long one.
fn tell_apart(subjects: &mut [SubjectConfig]) -> Result<(), Failure> {
    let labels = subjects.iter().map(|subject| subject.label.clone());
    let labels: Vec<String> = labels.collect();
    for subject in subjects {
        let alike = labels.iter().filter(|label| **label == subject.label);
        if alike.count() > 1 {
            subject.label = subject.spec.clone();
        }
        if control_of(subject).label.chars().count() > LONGEST_LABEL {
            reject!(
                "--subject {}: its label {} is too long for a file name (give the folder or the revision a shorter name)",
                subject.spec,
                subject.label
            );
        }
    }
    Ok(())
}

pub(crate) fn is_of_this_workspace(subject: &SubjectConfig) -> bool {
    subject.spec == SubjectSpec::released(None).to_string()
}

pub(crate) fn resolve(stack: &Stack, subject: &SubjectConfig) -> anyhow::Result<Subject> {
    let wrong = |error| anyhow!("--subject {}: {error}", subject.spec);
    Subject::resolve(stack, &subject.spec.parse().map_err(wrong)?)
}
