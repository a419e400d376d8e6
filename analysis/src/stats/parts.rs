//! The parts of the variance of a change between two programs: blocks of a launch, launches, and the layouts of the programs. The
//! method is Kalibera and Jones', "Rigorous benchmarking in reasonable time" (ISMM 2013).

use std::collections::BTreeMap;

use serde::Serialize;

/// The relative change of one cell by launch, in percent.
pub(crate) struct LaunchParts {
    /// How far each launch is from the change of all launches together.
    pub(super) deviations: Vec<f64>,
    /// The variance of a launch's deviation that its blocks explain.
    pub(super) block_variance: f64,
}

/// Variances of one launch, in percent².
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct VarianceParts {
    pub(crate) blocks: f64,
    /// The part that blocks and layouts do not explain.
    pub(crate) launches: f64,
    /// None if there are too few launches to tell layouts from launches.
    pub(crate) layouts: Option<f64>,
}

impl VarianceParts {
    /// Estimates the parts from cells. The layout of each launch stands beside its cell, if programs have several layouts.
    pub(crate) fn estimate(cells: &[(LaunchParts, Vec<Option<u32>>)]) -> Option<VarianceParts> {
        let deviations = || cells.iter().flat_map(|(cell, _)| &cell.deviations);
        let squares: f64 = deviations().map(|deviation| deviation.powi(2)).sum();
        let free = deviations().count() as f64 - cells.len() as f64;
        if free < 1.0 {
            return None;
        }
        let sum: f64 = cells.iter().map(|(cell, _)| cell.block_variance).sum();
        let blocks = sum / cells.len() as f64;
        let beyond = (squares / free - blocks).max(0.0);
        let by_layout = cells.iter().flat_map(|(cell, layouts)| {
            let launches = layouts.iter().zip(&cell.deviations);
            launches.filter_map(|(layout, deviation)| Some(((*layout)?, *deviation)))
        });
        let layouts = between_groups(by_layout).map(|variance| variance.min(beyond));
        let parts = VarianceParts {
            blocks,
            launches: beyond - layouts.unwrap_or(0.0),
            layouts,
        };
        (parts.sum() > 0.0).then_some(parts)
    }

    fn sum(&self) -> f64 {
        self.blocks + self.launches + self.layouts.unwrap_or(0.0)
    }

    /// The factor by which intervals shrink if launches are twice as long.
    pub(crate) fn with_twice_the_time(&self) -> f64 {
        ((self.sum() - self.blocks / 2.0) / self.sum()).sqrt()
    }
}

/// The variance between groups, by an analysis of variance. None unless groups have two values on average.
fn between_groups(values: impl Iterator<Item = (u32, f64)>) -> Option<f64> {
    let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (group, value) in values {
        groups.entry(group).or_default().push(value);
    }
    let count = groups.len() as f64;
    let all: f64 = groups.values().map(|group| group.len() as f64).sum();
    if count < 2.0 || all < 2.0 * count {
        return None;
    }
    let mean = groups.values().flatten().sum::<f64>() / all;
    let (mut between, mut within, mut squared) = (0.0, 0.0, 0.0);
    for group in groups.values() {
        let size = group.len() as f64;
        let group_mean = group.iter().sum::<f64>() / size;
        between += size * (group_mean - mean).powi(2);
        let squares = group.iter().map(|value| (value - group_mean).powi(2));
        within += squares.sum::<f64>();
        squared += size.powi(2);
    }
    // If all groups have the same size, this is their size.
    let typical_size = (all - squared / all) / (count - 1.0);
    let excess = between / (count - 1.0) - within / (all - count);
    Some((excess / typical_size).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight launches of one block's variance each, in which layout 1 adds `layout` and every second launch `launch`.
    fn parts(layout: f64, launch: f64, cells: usize) -> VarianceParts {
        let deviation = |number: usize| {
            let sign = |bit: usize| if number & bit == 0 { 1.0 } else { -1.0 };
            layout * sign(1) + launch * sign(2) + sign(4)
        };
        let cell = || {
            let layouts = (0..8).map(|number| Some(number as u32 & 1)).collect();
            let deviations = (0..8).map(deviation).collect();
            let block_variance = 1.0;
            (
                LaunchParts {
                    deviations,
                    block_variance,
                },
                layouts,
            )
        };
        let cells: Vec<_> = (0..cells).map(|_| cell()).collect();
        VarianceParts::estimate(&cells).expect("eight launches")
    }

    #[test]
    fn the_variances_with_launches_and_with_layouts_are_found() {
        let with_layouts = parts(5.0, 0.0, 12);
        assert!((with_layouts.layouts.expect("many launches") - 50.0).abs() < 25.0);
        assert!(with_layouts.launches < 2.0, "{with_layouts:?}");
        let with_launches = parts(0.0, 5.0, 12);
        assert_eq!(with_launches.layouts, Some(0.0));
        assert!(
            (with_launches.launches - 28.0).abs() < 3.0,
            "{with_launches:?}"
        );
    }

    #[test]
    fn longer_launches_help_only_where_blocks_vary() {
        assert!(parts(0.0, 50.0, 2).with_twice_the_time() > 0.99);
        let factor = parts(0.0, 0.0, 2).with_twice_the_time();
        assert!((factor - 0.5_f64.sqrt()).abs() < 0.05, "{factor}");
    }

    #[test]
    fn with_one_launch_for_each_layout_the_part_with_layouts_is_unknown() {
        let layouts = (1..=4).map(Some).collect();
        let deviations = vec![1.0, -1.0, 2.0, -2.0];
        let cell = LaunchParts {
            deviations,
            block_variance: 0.1,
        };
        let parts = VarianceParts::estimate(&[(cell, layouts)]).expect("four launches");
        assert_eq!(parts.layouts, None);
        assert!(parts.launches > 3.0);
        let single = LaunchParts {
            deviations: vec![0.0],
            block_variance: 0.1,
        };
        assert_eq!(VarianceParts::estimate(&[(single, vec![None])]), None);
    }
}
