//! The cells that are simulated. They have six variants, as the default sweep.

use super::world::{LaunchSpread, World};

/// Many polls are slow, and slices hardly differ.
pub(super) const COMMON: World = World {
    name: "13 → 10 %, noise 10 %, uniform launches",
    runs: 3,
    blocks: 6,
    variants: 6,
    polls: 3000.0,
    share: 0.13,
    ratio: 10.0 / 13.0,
    noise: 0.1,
    correlation: 0.0,
    launches: LaunchSpread::Uniform(0.3),
    disagreement: 0.0,
    stops_early: false,
    timed: 500,
};

/// As many polls are slow, and everything else is as bad as it gets.
pub(super) const ROUGH: World = World {
    name: "13 → 10 %, noise 20 %, autocorrelation 0.6, normal launches",
    noise: 0.2,
    correlation: 0.6,
    launches: LaunchSpread::Normal(0.3),
    ..COMMON
};

/// A slice has a few slow polls or none.
pub(super) const RARE: World = World {
    name: "0.1 → 0.05 %, noise 15 %, autocorrelation 0.3, normal launches",
    share: 0.001,
    ratio: 0.5,
    noise: 0.15,
    correlation: 0.3,
    ..ROUGH
};

pub(super) const RARER: World = World {
    name: "0.05 → 0.025 %, noise 20 %, autocorrelation 0.6, uniform launches",
    share: 0.0005,
    noise: 0.2,
    correlation: 0.6,
    launches: LaunchSpread::Uniform(0.3),
    ..RARE
};

/// Further kinds of cells.
pub(super) fn beyond() -> [World; 8] {
    let (short, long) = (
        World { runs: 1, ..ROUGH },
        World {
            blocks: 12,
            ..ROUGH
        },
    );
    let once = World { runs: 1, ..long };
    let strong = 2.0 / 13.0;
    [
        World {
            name: "as the second, but 13 → 2 %",
            ratio: strong,
            ..short
        },
        World {
            name: "as the second, but 13 → 2 %",
            ratio: strong,
            ..long
        },
        World {
            name: "as the second, three variants",
            variants: 3,
            ..short
        },
        World {
            name: "as the second, three blocks",
            blocks: 3,
            ..short
        },
        World {
            name: "as the first, stops when precise",
            runs: 1,
            blocks: 12,
            stops_early: true,
            ..COMMON
        },
        World {
            name: "as the second, stops when precise",
            stops_early: true,
            ..once
        },
        World {
            name: "as the second, launches differ by 10 % in the change",
            disagreement: 0.1,
            ..long
        },
        World {
            name: "as the second, two runs",
            runs: 2,
            ..long
        },
    ]
}

/// Each world with each of these numbers of runs and blocks.
pub(super) fn shaped(worlds: &[World], shapes: &[(usize, usize)]) -> Vec<World> {
    let in_shape = |world: World| {
        shapes.iter().map(move |&(runs, blocks)| World {
            runs,
            blocks,
            ..world
        })
    };
    worlds.iter().copied().flat_map(in_shape).collect()
}
