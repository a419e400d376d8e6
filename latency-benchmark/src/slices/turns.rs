//! What a block has a slice of.

use crate::{config::ExplainConfig, store::rows::Pass};

/// The variant that the others are compared with.
pub(crate) const BASELINE: usize = 0;

/// A slice to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) pass: Pass,
    pub(super) variant: usize,
}

/// Where variants are compared: every variant, and now and then the baseline with its children, as
/// one more among them.
pub(super) fn to_compare(block: u32, variants: usize) -> Vec<Turn> {
    const CHILDREN_EVERY: u32 = 4;
    let compared = (0..variants).map(|variant| Turn {
        pass: Pass::Compare,
        variant,
    });
    let children = (block % CHILDREN_EVERY == 1).then_some(Turn {
        pass: Pass::Children,
        variant: BASELINE,
    });
    compared.chain(children).collect()
}

/// Where a cell is explained: every kind of evidence that there is, of every variant asked for, and the
/// baseline on a core that is kept warm and on one that is not.
pub(super) fn to_explain(config: &ExplainConfig, there_is: impl Fn(Pass) -> bool) -> Vec<Turn> {
    const OF_EACH_VARIANT: [Pass; 6] = [
        Pass::Stacks,
        Pass::Allocations,
        Pass::Counters,
        Pass::SystemCalls,
        Pass::Timeline,
        Pass::Activity,
    ];
    /// Two of each, because what is told from them is a difference.
    const OF_THE_BASELINE: [Pass; 4] = [Pass::Normal, Pass::Warm, Pass::Normal, Pass::Warm];
    let of_each = OF_EACH_VARIANT
        .into_iter()
        .filter(|pass| there_is(*pass))
        .flat_map(|pass| {
            config
                .variants
                .iter()
                .map(move |&variant| Turn { pass, variant })
        });
    let of_the_baseline = OF_THE_BASELINE
        .into_iter()
        .filter(|_| there_is(Pass::Warm))
        .map(|pass| Turn {
            pass,
            variant: BASELINE,
        });
    of_each.chain(of_the_baseline).collect()
}

/// How many slices there are where a cell is explained, if there is every kind of evidence.
pub(crate) fn most_to_explain(config: &ExplainConfig) -> usize {
    to_explain(config, |_| true).len() * config.blocks as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_every_variant_once_and_some_have_the_children_of_the_baseline() {
        for block in 1..=9 {
            let turns = to_compare(block, 3);
            let compared: Vec<usize> = turns
                .iter()
                .filter(|turn| turn.pass == Pass::Compare)
                .map(|turn| turn.variant)
                .collect();
            assert_eq!(compared, [0, 1, 2]);
            let children = Turn {
                pass: Pass::Children,
                variant: BASELINE,
            };
            assert_eq!(
                turns.contains(&children),
                [1, 5, 9].contains(&block),
                "{block}"
            );
        }
    }

    #[test]
    fn what_there_is_no_evidence_of_has_no_slice() {
        let config = ExplainConfig {
            variants: vec![0, 4],
            blocks: 1,
        };
        let turns = to_explain(&config, |pass| pass == Pass::Stacks);
        let stacks = |variant| Turn {
            pass: Pass::Stacks,
            variant,
        };
        assert_eq!(turns, [stacks(0), stacks(4)]);
        let all = to_explain(&config, |_| true);
        let warm = all.iter().filter(|turn| turn.pass == Pass::Warm);
        assert!(warm.clone().all(|turn| turn.variant == BASELINE));
        assert_eq!((all.len(), warm.count()), (16, 2));
    }
}
