//! Dashed lines, which the backends of plotters do not have.

use super::geometry::Point;

/// Cuts a path into its dashes, which go on around corners.
pub(crate) fn along(points: &[Point], dashes: &[f64]) -> Vec<Vec<Point>> {
    if dashes.is_empty() {
        return vec![points.to_vec()];
    }
    let mut pieces = Vec::new();
    let mut piece: Vec<Point> = points.first().copied().into_iter().collect();
    let (mut dash, mut left) = (0, dashes[0]);
    for ends in points.windows(2) {
        let (from, to) = (ends[0], ends[1]);
        let length = (to.x - from.x).hypot(to.y - from.y);
        let mut gone = 0.0;
        while length - gone > left {
            gone += left;
            let part = gone / length;
            let at = from.towards(to, part);
            piece.push(at);
            if dash % 2 == 0 {
                pieces.push(std::mem::take(&mut piece));
            }
            piece = vec![at];
            dash = (dash + 1) % dashes.len();
            left = dashes[dash];
        }
        left -= length - gone;
        piece.push(to);
    }
    if dash % 2 == 0 {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_are_as_long_as_asked_around_a_corner() {
        let corner = [
            Point::new(0.0, 0.0),
            Point::new(6.0, 0.0),
            Point::new(6.0, 6.0),
        ];
        let pieces = along(&corner, &[4.0, 1.0]);
        assert_eq!(pieces.len(), 3);
        assert_eq!(pieces[0], [Point::new(0.0, 0.0), Point::new(4.0, 0.0)]);
        assert_eq!(
            pieces[1],
            [Point::new(5.0, 0.0), corner[1], Point::new(6.0, 3.0)]
        );
    }

    #[test]
    fn no_dashes_is_one_solid_piece() {
        let line = [Point::new(0.0, 0.0), Point::new(9.0, 0.0)];
        assert_eq!(along(&line, &[]), vec![line.to_vec()]);
    }
}
