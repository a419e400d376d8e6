//! The looks and words of cells without a value.

use crate::charts::{
    draw::{Canvas, FAINT_INK, Lettering, Rect, fitting, grey},
    view::{CellValue, NoValue},
};

const ALL: [NoValue; 5] = [
    NoValue::Failed,
    NoValue::Invalid,
    NoValue::Missing,
    NoValue::NotApplicable,
    NoValue::NeverFires,
];

impl NoValue {
    pub(crate) fn among<'a>(values: impl IntoIterator<Item = &'a CellValue>) -> Vec<Self> {
        let seen: Vec<Self> = values.into_iter().filter_map(|value| value.err()).collect();
        ALL.into_iter()
            .filter(|reason| seen.contains(reason))
            .collect()
    }

    pub(crate) fn meaning(self) -> &'static str {
        match self {
            NoValue::Failed => "failed: the run ended without a result",
            NoValue::Invalid => "invalid: the network was not as configured",
            NoValue::Missing => "missing: not measured",
            NoValue::NotApplicable => "n/a: no such value in this cell",
            NoValue::NeverFires => "idle: this budget ended no poll, or would have ended none",
        }
    }

    /// A grey that no value has.
    pub(crate) fn grey(self) -> u8 {
        match self {
            NoValue::Failed => 0xc8,
            NoValue::Invalid => 0xd8,
            NoValue::NotApplicable | NoValue::NeverFires => 0xee,
            NoValue::Missing => 0xff,
        }
    }

    pub(crate) fn draw(self, canvas: &mut Canvas, cell: Rect) {
        let meaning = self.meaning();
        let word = meaning.split_once(':').map_or(meaning, |(word, _)| word);
        canvas.fill(cell, grey(self.grey()));
        let size = fitting([word], cell.width - 8.0, 16.0, false).min(0.45 * cell.height);
        let style = Lettering::new(size).colour(FAINT_INK).centred();
        canvas.text_across(cell.centre(), word, &style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legend_explains_only_the_reasons_that_occur() {
        let values = [NoValue::Missing, NoValue::Failed, NoValue::Missing].map(Err);
        assert_eq!(NoValue::among(&values), [NoValue::Failed, NoValue::Missing]);
    }
}
