//! Writes the section that says why the worst cells are slow.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use run_format::{BASELINE, ChosenBecause, ENOUGH_SLOW_SAMPLES, Pass, Site};

use super::markdown::{Field, Row, paragraphs, table};
use crate::explain::events::{AllocationRates, Rate};
use crate::explain::findings::WorkFinding;
use crate::explain::flamegraph::{CellFlamegraph, flamegraphs};
use crate::explain::thresholds::{AGREEMENT_PP, RARER_SAMPLES};
use crate::explain::{Explanation, FOLDER, VariantKey, worst};
use crate::load::{CellEvidence, CellExplained};
use crate::options::Options;
use crate::prose::{self, prose};
use crate::stats::{CellEstimate, paired_change, percent};
use crate::text::{self, count, joined, number, quoted, uncertain};

/// Writes the section. At most `detailed` cells have details.
pub(super) fn text(explanation: &Explanation, detailed: usize, options: &Options) -> String {
    const MOST_FINDINGS: usize = 6;
    let needed = [Pass::Stacks, Pass::Allocations, Pass::Activity].into_iter();
    let unseen = needed.filter(|pass| explanation.launches().any(|evidence| !evidence.has(*pass)));
    let text = prose::text(&prose!('a "explain.txt" {
        explanation: &'a Explanation = explanation,
        link_base: String = options.link_base(),
        unseen: Vec<String> = unseen.map(quoted).collect(),
        findings: Vec<&'a WorkFinding> = explanation.findings.iter().take(MOST_FINDINGS).collect(),
    }));
    let sections = explanation
        .cells
        .iter()
        .enumerate()
        .flat_map(|(index, cell)| {
            let section = Section {
                explanation,
                cell,
                evidence: cell.evidence(),
                function: explanation.sites.function(explanation.site),
                link_base: options.link_base(),
            };
            let has_subjects = explanation.has_subjects();
            [
                Some(section.in_short()),
                section.frames(),
                has_subjects.then(|| section.side_by_side()),
                has_subjects.then(|| section.per_request()),
                (index < detailed).then(|| section.details()),
            ]
        });
    let parts = [Some(text)].into_iter().chain(sections);
    paragraphs(parts.chain([Some(caveats(explanation))]))
}

fn caveats(explanation: &Explanation) -> String {
    // Evidence is usually unavailable in all cells, so each reason is written once.
    let mut unavailable: BTreeMap<(String, &str), BTreeSet<&str>> = BTreeMap::new();
    let launches = explanation.launches();
    for missing in launches.flat_map(|evidence| &evidence.seen.unavailable) {
        let reason = (missing.pass.to_string(), &*missing.why);
        unavailable.entry(reason).or_default().insert(&missing.what);
    }
    let with_losses = |evidence: &'_ CellEvidence| {
        let stacks = evidence.seen.allocation_stacks_lost;
        let stacks_lost = stacks.filter(|lost| *lost > 0);
        let percents = evidence.lost().into_iter();
        let kinds = percents.map(|(what, percent)| format!("{} % of {what}", number(percent)));
        let lost = kinds.chain(stacks_lost.map(|lost| format!("{lost} stacks of allocations")));
        LaunchLosses {
            name: evidence.name.clone(),
            rarer: rarer_samples(evidence),
            lost: lost.collect(),
        }
    };
    let listed = |(reason, what): (_, BTreeSet<&str>)| (reason, joined(what, ", "));
    prose::text(&prose!('a "explain_caveats.txt" {
        explanation: &'a Explanation = explanation,
        launches: Vec<LaunchLosses> = explanation.launches().map(with_losses).collect(),
        unavailable: Vec<((String, &'a str), String)> = unavailable.into_iter().map(listed).collect(),
    }))
}

/// What was lost of the evidence of a launch.
struct LaunchLosses {
    name: String,
    rarer: Option<RarerSamples>,
    lost: Vec<String>,
}

/// The time of polls between two samples of the stack: what the machine gave, and what was asked for.
struct RarerSamples {
    given_us: f64,
    asked_us: f64,
}

/// Returns None if samples are not much rarer than asked for.
fn rarer_samples(evidence: &CellEvidence) -> Option<RarerSamples> {
    let asked_ns = evidence.seen.stack_interval_ns? as f64;
    let given_ns = evidence.given_interval_ns()?;
    (given_ns > RARER_SAMPLES * asked_ns).then(|| RarerSamples {
        given_us: given_ns / 1000.0,
        asked_us: asked_ns / 1000.0,
    })
}

const MOST_ROWS: usize = 10;

struct Section<'a> {
    explanation: &'a Explanation,
    cell: &'a CellExplained,
    evidence: &'a CellEvidence,
    function: &'a str,
    link_base: String,
}

impl Section<'_> {
    fn link(&self, suffix: &str) -> String {
        format!("{}{FOLDER}/{}.{suffix}", self.link_base, self.cell.id())
    }

    /// A value of each variant that was launched. The baseline comes first.
    fn by_variant<T>(&self, value: impl Fn(&CellEvidence, usize) -> T) -> Vec<(String, T)> {
        let variants = self.explanation.variants.iter();
        let values = variants.filter_map(|explained| {
            let evidence = self.cell.launches.get(&explained.key.subject)?;
            let value = value(evidence, explained.key.variant);
            Some((quoted(&explained.label), value))
        });
        values.collect()
    }

    /// Names the subject or the variant of figures that only the baseline has.
    fn baseline_words(&self) -> String {
        match self.explanation.has_subjects() {
            true => format!("of {}", quoted(&self.explanation.variants[0].label)),
            false => "without a budget".to_owned(),
        }
    }

    fn in_short(&self) -> String {
        let slow_percents = self.cell.launches.iter().filter_map(|(subject, evidence)| {
            let percent = format!("{} %", number(evidence.slow_percent()?));
            let key = VariantKey {
                subject: *subject,
                variant: BASELINE,
            };
            Some(match self.explanation.has_subjects() {
                true => format!("{percent} ({})", quoted(self.explanation.label(key))),
                false => percent,
            })
        });
        let graphs = flamegraphs(self.explanation, self.cell).into_iter();
        let links = graphs.map(|graph| format!("[{}]({})", graph.link, self.link(&graph.name)));
        prose::text(&prose!('a "explained.txt" {
            section: &'a Section<'a> = self,
            slow_percents: Vec<String> = slow_percents.collect(),
            in_kernel_percent: Option<f64> = self.evidence.in_kernel_percent(),
            flamegraphs: Vec<String> = links.collect(),
        }))
    }

    fn frames(&self) -> Option<String> {
        let found = self.by_variant(CellEvidence::frames);
        let (_, baseline) = found.first().filter(|(_, frames)| frames.samples > 0)?;
        let (function, samples) = (self.function, baseline.samples);
        if samples < ENOUGH_SLOW_SAMPLES {
            return Some(format!(
                "{} in slow polls of `{function}`: too few for a claim. At least {ENOUGH_SLOW_SAMPLES} are needed.",
                count(samples, "sample")
            ));
        }
        let rows = baseline.percents.iter().take(MOST_ROWS).map(|(name, _)| {
            let row = Row::new("innermost frame in slow polls", quoted(name));
            found.iter().fold(row, |row, (label, frames)| {
                let same = frames.percents.iter().find(|(other, _)| other == name);
                let percent = number(same.map_or(0.0, |(_, percent)| *percent));
                let shown = (frames.samples >= ENOUGH_SLOW_SAMPLES).then_some(percent);
                row.with_optional(format!("% of samples, {label}"), shown)
            })
        });
        let about = format!(
            "Shares of {samples} samples in slow polls of `{function}`, by the innermost frame. {}",
            self.agreement()
        );
        Some(paragraphs([table(rows), about].map(Some)))
    }

    fn agreement(&self) -> String {
        let shares = self.evidence.shares();
        let Some(worst) = shares.first() else {
            return "There is no table of children to compare the flamegraph with.".to_owned();
        };
        let difference = match worst.interval_pp {
            Some(interval) => text::with_signed_interval(worst.pp, "pp", interval),
            None => format!("{} pp", text::with_plus(worst.pp, number(worst.pp))),
        };
        prose::text(&prose!('a "agreement.txt" {
            agrees: Option<bool> = worst.agree(),
            difference: String = difference,
            child: &'a str = &worst.child,
            slices: usize = worst.slices,
        }))
    }

    fn details(&self) -> String {
        let (allocations, functions) = self.allocations().unwrap_or_default();
        let disturbing = self.evidence.disturbing_reading();
        prose::text(&prose!('a "evidence.txt" {
            section: &'a Section<'a> = self,
            allocations: String = allocations,
            functions: String = functions,
            counters: String = self.counters(disturbing.is_none()),
            disturbing: Option<[f64; 2]> = disturbing,
            system_calls: String = self.system_calls().unwrap_or_default(),
            throughput: Option<[f64; 2]> = self.evidence.throughput_under_strace(),
            worst: String = self.worst(),
        }))
    }

    fn allocations(&self) -> Option<(String, String)> {
        let by_variant = self.by_variant(CellEvidence::allocation_rates);
        let (_, baseline) = by_variant.first()?;
        let mut keys: Vec<&(Site, String)> = baseline.keys().collect();
        let most = |key| {
            let rates: &AllocationRates = &baseline[key];
            rates.per_request.unwrap_or(rates.per_poll).count
        };
        keys.sort_by(|one, other| most(other).total_cmp(&most(one)));
        let rows = keys.into_iter().take(MOST_ROWS + 2).map(|key| {
            let row = Row::new("site", key.0).with("child", quoted(&key.1));
            by_variant.iter().fold(row, |row, (label, rates)| {
                let rates = rates.get(key);
                let per_poll = rates.map(|rates| in_words(rates.per_poll));
                let per_request = rates.and_then(|rates| rates.per_request);
                row.with_optional(format!("objects (bytes) per poll, {label}"), per_poll)
                    .with_optional(format!("per request, {label}"), per_request.map(in_words))
            })
        });
        let functions = self.evidence.allocating_functions();
        let all: u64 = functions.iter().map(|(_, [objects, _])| objects).sum();
        let shown = functions.iter().take(MOST_ROWS);
        let rows_of_functions = shown.map(|(function, [objects, bytes])| {
            let share = percent(*objects as f64, all as f64);
            Row::new("function", quoted(function))
                .with_optional("share of objects, %", share.map(number))
                .with("objects", objects)
                .with("bytes", bytes)
        });
        Some((table(rows), table(rows_of_functions)))
    }

    fn counters(&self, has_polls: bool) -> String {
        let by_variant = self.by_variant(CellEvidence::counter_rates);
        let variants = by_variant.iter();
        let all = variants.flat_map(|(label, counters)| {
            let named = counters.iter();
            named.map(move |(name, rates)| (name, label, rates))
        });
        let mut rates: Vec<_> = all.collect();
        rates.sort_by_key(|(name, ..)| *name);
        table(rates.into_iter().map(|(name, label, rates)| {
            let by_poll = [rates.per_poll, rates.per_slow_poll];
            let [per_poll, per_slow_poll] = by_poll.map(|rate| rate.filter(|_| has_polls));
            Row::new("counter", quoted(name))
                .with("variant", label)
                .with_optional("per poll", per_poll.map(number))
                .with_optional("per slow poll", per_slow_poll.map(number))
                .with_optional("whole process, per s", rates.process_per_s.map(number))
        }))
    }

    fn system_calls(&self) -> Option<String> {
        let by_variant = self.by_variant(CellEvidence::call_rates);
        let (_, baseline) = by_variant.first()?;
        let rows = baseline.iter().take(MOST_ROWS).map(|first| {
            let row = Row::new("call", quoted(&first.name));
            by_variant.iter().fold(row, |row, (label, calls)| {
                let same = calls.iter().find(|call| call.name == first.name);
                let per_request = same.and_then(|call| call.per_request).map(in_words);
                row.with_optional(format!("calls, {label}"), same.map(|call| call.calls))
                    .with_optional(format!("time, {label}"), same.map(|call| number(call.us)))
                    .with_optional(format!("calls (time) per request, {label}"), per_request)
            })
        });
        Some(table(rows))
    }

    fn worst(&self) -> String {
        let worst = worst::polls(self.evidence, 0);
        let all = worst.iter();
        let baseline = all.filter(|poll| poll.variant == VariantKey::BASELINE);
        table(baseline.take(MOST_ROWS).map(|worst| {
            Row::new("rank", worst.poll.rank)
                .with("µs", number(worst.us()))
                .with_optional("iterations", worst.poll.iterations)
                .with("iteration by iteration", worst.words())
        }))
    }

    /// The flamegraphs of slow polls beside each other, and below them the flamegraphs of differences.
    fn side_by_side(&self) -> String {
        let all = flamegraphs(self.explanation, self.cell);
        let ending_with = |end| all.iter().filter(move |graph| graph.name.ends_with(end));
        let picture = |graph: &CellFlamegraph| {
            let file = self.link(&graph.name);
            format!("[![{}]({file})]({file})", graph.link.replace('`', ""))
        };
        let fields = ending_with("slow.svg").map(|graph| Field {
            title: graph.link.clone(),
            text: picture(graph),
        });
        let row = Row {
            fields: fields.collect(),
        };
        let row = (!row.fields.is_empty()).then_some(row);
        let differences = ending_with("slow-difference.svg").map(picture);
        paragraphs([table(row)].into_iter().chain(differences).map(Some))
    }

    fn per_request(&self) -> String {
        let mut calls_by_name: BTreeMap<&str, u64> = BTreeMap::new();
        let launches = self.cell.launches.values();
        for row in launches.flat_map(|evidence| &evidence.system_calls) {
            *calls_by_name.entry(&row.what).or_default() += row.count;
        }
        let mut calls: Vec<&str> = calls_by_name.keys().copied().collect();
        calls.sort_by_key(|call| Reverse(calls_by_name[call]));
        calls.truncate(MOST_ROWS);
        let counted = self.by_variant(|evidence, variant| evidence.by_request(variant, &calls));
        let (_, baseline) = &counted[0];
        let rows = baseline.iter().enumerate().map(|(index, (what, before))| {
            let row = Row::new("per request", what);
            let launches = counted.iter().enumerate();
            launches.fold(row, |row, (launch, (label, counts))| {
                let (_, counted) = &counts[index];
                let row =
                    row.with_optional(label, counted.as_ref().map(|count| number(count.value)));
                match launch {
                    0 => row,
                    _ => row.with_optional("change", changed(before.as_ref(), counted.as_ref())),
                }
            })
        });
        let about = "**Allocations and system calls per request.** Intervals (95 %) come from the slices of one launch of each program. \
             What changes from launch to launch is not in them.";
        paragraphs([about.to_owned(), table(rows)].map(Some))
    }
}

/// Returns the count and the amount, such as "20.0 (2000)".
fn in_words(Rate { count, amount }: Rate) -> String {
    format!("{} ({})", number(count), number(amount))
}

fn changed(before: Option<&CellEstimate>, after: Option<&CellEstimate>) -> Option<String> {
    let relative = paired_change(before?, after?)?.relative?;
    Some(uncertain(&relative.times(100.0), "%"))
}
