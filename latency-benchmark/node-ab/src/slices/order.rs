//! The order of the turns of a block.

use rand::Rng;
use rand::seq::{SliceRandom, index};

/// The index of the slice of each turn. `turns` has the number of turns of each slice. There are as many rounds as the
/// largest number. A slice has at most one turn in a round, and each round is in random order, so that no slice is early or
/// late in its block.
pub fn order(turns: &[u32], rng: &mut impl Rng) -> Vec<usize> {
    let most = turns.iter().copied().max().unwrap_or(0) as usize;
    let mut rounds: Vec<Vec<usize>> = vec![Vec::new(); most];
    for (slice, count) in turns.iter().enumerate() {
        for round in index::sample(rng, most, *count as usize) {
            rounds[round].push(slice);
        }
    }
    for round in &mut rounds {
        round.shuffle(rng);
    }
    rounds.concat()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn every_round_has_each_slice_once_and_those_with_fewer_turns_at_random() {
        let mut alone = [0; 4];
        for seed in 0..200 {
            let order = order(&[4, 4, 1], &mut StdRng::seed_from_u64(seed));
            assert_eq!(order.len(), 9);
            let place = order
                .iter()
                .position(|slice| *slice == 2)
                .expect("one turn");
            // Rounds before the one with the rare slice have two turns.
            let round = (place / 2).min(3);
            alone[round] += 1;
            let others: Vec<usize> = order.into_iter().filter(|slice| *slice != 2).collect();
            for round in others.chunks(2) {
                assert_eq!(round[0] + round[1], 1, "both, once each");
            }
        }
        assert!(alone.iter().all(|count| *count > 20), "{alone:?}");
    }
}
