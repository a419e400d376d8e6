//! Pictures of what was compared. A picture gets values, intervals, labels and marks that are already
//! decided; here they are only laid out and drawn, once for both PNG and SVG.

mod before_after;
mod budget_curve;
mod draw;
mod effects;
#[cfg(test)]
mod gallery;
mod heatmap;
mod indexed;
mod output;
mod parts;
mod percentile_curves;
mod stacks;
mod time_series;
mod trade_off;
mod view;

pub(crate) use before_after::{BeforeAfter, Comparison, Difference};
pub(crate) use budget_curve::{BudgetCurve, BudgetPanel};
pub(crate) use effects::{EffectPanel, Effects};
pub(crate) use heatmap::{Facet, Heatmap};
pub(crate) use output::{Format, write};
pub(crate) use percentile_curves::{CurvePanel, PercentileCurves, Threshold};
pub(crate) use stacks::{Bar, BarGroup, Palette, Stacks};
pub(crate) use time_series::{TimeSeries, TrendLine};
pub(crate) use trade_off::{TradeOff, TradePoint};
pub(crate) use view::{
    Better, Caption, Categories, CellValue, ColourScale, DifferenceScale, Estimate, Mapping,
    Quantity, Series,
};

use self::{
    draw::{Canvas, Rect},
    parts::frame,
};

/// Something to be seen, with the words around it.
pub(crate) trait Picture: Sync {
    fn caption(&self) -> &Caption;

    /// How tall the part between the headings and the small print is, in pixels.
    fn body_height(&self) -> f64;

    fn draw_body(&self, canvas: &mut Canvas<'_>, body: Rect);

    /// In pixels of the PNG.
    fn size(&self) -> (u32, u32) {
        frame::size(self.caption(), self.body_height())
    }
}
