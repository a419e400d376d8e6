//! Shows in one line what is known of the variants while they are measured, such as "none 483 → muxer=1/deferred 54.8 ms per s
//! beyond 50 µs".

use run_format::{BlockReport, Role, VariantConfig};

/// If there are more candidates, only the lowest one is shown.
const MOST_CANDIDATES: usize = 3;

const BEYOND: &str = "ms per s beyond 50 µs";

/// The value of each variant. None while no value is known.
pub(crate) fn progress_line(block: &BlockReport, variants: &[VariantConfig]) -> Option<String> {
    let (values, unit) = match block.requests_per_s.is_empty() {
        true => (&block.beyond_ms_per_s, BEYOND),
        false => (&block.requests_per_s, "requests per s"),
    };
    let [baseline, mut candidates] =
        [Role::Baseline, Role::Candidate].map(|role| known(variants, role, values));
    let count = candidates.len();
    if count > MOST_CANDIDATES {
        candidates.sort_by(|one, other| one.value.total_cmp(&other.value));
        candidates.truncate(1);
        candidates[0].text = format!("lowest of {count}: {}", candidates[0].text);
    }
    joined(&[baseline, candidates], unit)
}

struct Figure {
    value: f64,
    text: String,
}

/// The known values of the variants with that role.
fn known(variants: &[VariantConfig], role: Role, values: &[Option<f64>]) -> Vec<Figure> {
    let numbered = variants.iter().enumerate();
    let with_role = numbered.filter(|(_, variant)| variant.role == role);
    let figures = with_role.filter_map(|(number, variant)| {
        let value = (*values.get(number)?)?;
        let text = format!("{} {}", variant.label, three_digits(value));
        Some(Figure { value, text })
    });
    figures.collect()
}

/// The figures of the baseline, and those of the candidates.
fn joined(sides: &[Vec<Figure>; 2], unit: &str) -> Option<String> {
    let texts = |side: &Vec<Figure>| {
        let texts: Vec<&str> = side.iter().map(|figure| &*figure.text).collect();
        texts.join(", ")
    };
    let sides = sides.iter().filter(|side| !side.is_empty());
    let sides: Vec<String> = sides.map(texts).collect();
    (!sides.is_empty()).then(|| format!("{} {unit}", sides.join(" → ")))
}

/// Three significant digits, without an exponent.
fn three_digits(value: f64) -> String {
    let rounded: Result<f64, _> = format!("{value:.2e}").parse();
    rounded.unwrap_or(value).to_string()
}

#[cfg(test)]
mod tests {
    use run_format::Budgets;

    use super::*;

    fn variants(budgets: &[&str]) -> Vec<VariantConfig> {
        let budgets = budgets.iter().map(|text| text.parse().expect("budgets"));
        let budgets: Vec<Budgets> = budgets.collect();
        VariantConfig::from_budgets(budgets, true)
    }

    /// The values come in the order of the variants; the second is that of the A/A control.
    fn shown(budgets: &[&str], beyond_ms_per_s: &[Option<f64>]) -> Option<String> {
        let block = BlockReport {
            beyond_ms_per_s: beyond_ms_per_s.to_vec(),
            ..BlockReport::default()
        };
        progress_line(&block, &variants(budgets))
    }

    #[test]
    fn the_baseline_comes_first_and_the_control_is_left_out() {
        let one = ["none", "muxer=1/deferred"];
        assert_eq!(
            shown(&one, &[Some(483.21), Some(470.0), Some(54.84)]).as_deref(),
            Some("none 483 → muxer=1/deferred 54.8 ms per s beyond 50 µs")
        );
        let two = ["none", "connection=8", "muxer=1/deferred"];
        assert_eq!(
            shown(&two, &[Some(483.0), Some(470.0), Some(480.0), Some(54.8)]).as_deref(),
            Some("none 483 → connection=8 480, muxer=1/deferred 54.8 ms per s beyond 50 µs")
        );
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let two = ["none", "connection=8", "muxer=1/deferred"];
        assert_eq!(
            shown(&two, &[Some(483.0), None, None, Some(0.0)]).as_deref(),
            Some("none 483 → muxer=1/deferred 0 ms per s beyond 50 µs")
        );
        assert_eq!(
            shown(&two, &[Some(483.0), None, None, None]).as_deref(),
            Some("none 483 ms per s beyond 50 µs")
        );
        assert_eq!(
            shown(&two, &[None, None, None, Some(0.01234)]).as_deref(),
            Some("muxer=1/deferred 0.0123 ms per s beyond 50 µs")
        );
        assert_eq!(shown(&two, &[None; 4]), None);
        assert_eq!(shown(&two, &[]), None);
    }

    #[test]
    fn of_many_candidates_the_lowest_is_shown() {
        let many = ["none", "muxer=4", "muxer=3", "muxer=2", "muxer=1"];
        let values = [483.0, 470.0, 90.0, 80.0, 54.8, 60.0].map(Some);
        assert_eq!(
            shown(&many, &values).as_deref(),
            Some("none 483 → lowest of 4: muxer=2 54.8 ms per s beyond 50 µs")
        );
    }

    #[test]
    fn where_no_poll_is_recorded_requests_are_shown() {
        let block = BlockReport {
            beyond_ms_per_s: vec![Some(0.0); 3],
            requests_per_s: [21_456.0, 21_300.0, 9_999.0].map(Some).to_vec(),
            ..BlockReport::default()
        };
        assert_eq!(
            progress_line(&block, &variants(&["none", "muxer=1"])).as_deref(),
            Some("none 21500 → muxer=1 10000 requests per s")
        );
    }
}
