//! Finds the length of turns that suits the load of a node.

use std::iter;
use std::time::Duration;

/// A turn is a multiple of this.
pub(crate) const PIECE: Duration = Duration::from_millis(250);

/// The number of pieces of a turn. `pieces` are the values of the compared figure in pieces without budgets, one after the
/// other. `settling` is the time between turns, in pieces. Turns get longer only if that halves the time which a comparison
/// needs for the same precision.
pub(crate) fn pieces_of_turn(pieces: &[f64], settling: f64) -> usize {
    /// Fewer pairs of turns do not tell the variance well enough.
    const PAIRS: usize = 16;
    let has_enough_turns = |length: &usize| *length == 1 || pieces.len() / (2 * length) >= PAIRS;
    let doubled = iter::successors(Some(1), |length| Some(2 * length));
    let lengths = doubled.take_while(has_enough_turns);
    // The cost is the variance of the difference of neighbouring turns, times the time that a turn takes.
    let cost = |length: usize| {
        let turns = pieces.chunks_exact(length);
        let means: Vec<f64> = turns
            .map(|turn| turn.iter().sum::<f64>() / length as f64)
            .collect();
        let squares = means.windows(2).map(|pair| (pair[1] - pair[0]).powi(2));
        let pairs = means.len().saturating_sub(1).max(1);
        squares.sum::<f64>() / pairs as f64 * (length as f64 + settling)
    };
    let costs: Vec<(usize, f64)> = lengths.map(|length| (length, cost(length))).collect();
    let all = costs.iter().map(|(_, cost)| *cost);
    let least = all.fold(f64::INFINITY, f64::min);
    let first = costs.into_iter().find(|(_, cost)| *cost <= 2.0 * least);
    first.map_or(1, |(length, _)| length)
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn turns_are_longer_only_where_the_load_comes_in_bursts() {
        let turn = |load: fn(usize) -> usize| {
            let pieces: Vec<f64> = (0..512).map(|piece| load(piece) as f64).collect();
            pieces_of_turn(&pieces, 0.2)
        };
        assert_eq!(turn(|_| 0), 1, "silence");
        let noise = |piece| StdRng::seed_from_u64(piece as u64).random_range(0..1000);
        assert_eq!(turn(noise), 1, "noise");
        assert_eq!(turn(|piece| piece / 32), 1, "a slow drift");
        assert_eq!(turn(|piece| 100 * (piece / 2 % 2)), 4, "bursts of 500 ms");
        assert_eq!(turn(|piece| 100 * (piece / 4 % 2)), 8, "bursts of a second");
        assert_eq!(pieces_of_turn(&[1.0, 2.0], 0.2), 1, "little was seen");
        assert_eq!(pieces_of_turn(&[], 0.2), 1);
    }
}
