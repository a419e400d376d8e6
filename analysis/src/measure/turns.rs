//! What takes turns: budgets in slices of a program, or programs in launches.

use std::borrow::Cow;

use super::Question;
use crate::{
    load::{run::Run, slice::Slice},
    stats::{Counts, Part},
};

/// The complete blocks of a cell. Inside a program a block is a slice of each budget; of several programs it
/// is a launch of each, and what budgets did in a launch is added up.
pub(super) enum Turns<'a> {
    Slices(&'a [Run]),
    Launches {
        /// By block, then by subject.
        blocks: Vec<Vec<&'a Run>>,
        budgets: usize,
    },
}

/// What can be added up over a launch.
pub(super) trait Sum: Sized {
    fn sum(parts: Vec<Self>) -> Self;
}

impl Sum for Part {
    fn sum(parts: Vec<Part>) -> Part {
        Part {
            num: parts.iter().map(|part| part.num).sum(),
            den: parts.iter().map(|part| part.den).sum(),
        }
    }
}

impl Sum for Cow<'_, Counts> {
    fn sum(parts: Vec<Self>) -> Self {
        Cow::Owned(Counts::sum(&parts))
    }
}

impl<'a> Turns<'a> {
    pub(super) fn of_runs(runs: &'a [Run], question: &Question) -> Turns<'a> {
        if question.subjects == 1 {
            return Turns::Slices(runs);
        }
        let block = |number: u32| {
            let launch = |subject: usize| {
                let mut launches = runs.iter();
                launches.find(|run| run.number == number && run.subject == subject)
            };
            (0..question.subjects)
                .map(launch)
                .collect::<Option<Vec<_>>>()
        };
        Turns::Launches {
            blocks: (1..=question.repeat).filter_map(block).collect(),
            budgets: question.budgets,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks() == 0
    }

    /// Launches of one program.
    pub(super) fn runs(&self) -> usize {
        match self {
            Turns::Slices(runs) => runs.len(),
            Turns::Launches { blocks, .. } => blocks.len(),
        }
    }

    pub(super) fn blocks(&self) -> usize {
        match self {
            Turns::Slices(runs) => runs.iter().map(|run| run.blocks.len()).sum(),
            Turns::Launches { blocks, .. } => blocks.len(),
        }
    }

    /// A variant's part of every block, by run; absent if any slice has none. Launches are blocks of a
    /// single run, since nothing else is common to those of a block.
    pub(super) fn of<T: Sum>(
        &self,
        variant: usize,
        part: impl Fn(&'a Slice) -> Option<T>,
    ) -> Option<Vec<Vec<T>>> {
        let of_run = |run: &'a Run, budget: usize| -> Option<Vec<T>> {
            let blocks = run.blocks.iter();
            blocks
                .map(|block| part(&run.slices[block[budget]]))
                .collect()
        };
        match self {
            Turns::Slices(runs) => runs.iter().map(|run| of_run(run, variant)).collect(),
            Turns::Launches { blocks, budgets } => {
                let (subject, budget) = (variant / budgets, variant % budgets);
                let launches = blocks
                    .iter()
                    .map(|block| of_run(block[subject], budget).map(T::sum));
                Some(vec![launches.collect::<Option<_>>()?])
            }
        }
    }
}
