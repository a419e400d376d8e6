//! Places names beside points, such that none hides another.

use crate::charts::draw::{Point, Rect, width_of};

const LINE: f64 = 1.2;
/// A name that is further away needs a line to its point.
const NEAR: f64 = 20.0;

/// The best of several places around the point: free ones before others, near ones before far.
pub(crate) fn place(point: Point, name: &str, size: f64, within: Rect, taken: &[Rect]) -> Rect {
    let (width, height) = (width_of(name, size, false), LINE * size);
    let candidates = candidates(point, width, height);
    let hidden = |place: &Rect| -> f64 {
        let outside = width * height - within.overlap(place);
        10.0 * outside + taken.iter().map(|other| other.overlap(place)).sum::<f64>()
    };
    candidates
        .into_iter()
        .min_by(|one, other| hidden(one).total_cmp(&hidden(other)))
        .unwrap_or(Rect::new(point.x, point.y, width, height))
}

/// From the best to the worst. Of equally free places the first is taken.
fn candidates(point: Point, width: f64, height: f64) -> Vec<Rect> {
    let mut places = Vec::new();
    for gap in [11.0, 26.0, 44.0, 66.0, 92.0] {
        let (right, left) = (point.x + gap, point.x - gap - width);
        let (above, below) = (point.y - gap - height, point.y + gap);
        let corner = 0.5 * gap;
        for (x, y) in [
            (point.x + corner, point.y - corner - height),
            (point.x + corner, point.y + corner),
            (point.x - corner - width, point.y - corner - height),
            (point.x - corner - width, point.y + corner),
            (right, point.y - height / 2.0),
            (left, point.y - height / 2.0),
            (point.x - width / 2.0, above),
            (point.x - width / 2.0, below),
        ] {
            places.push(Rect::new(x, y, width, height));
        }
    }
    places
}

/// The end of a line from the point to its name, if the name is not near.
pub(crate) fn leader(point: Point, label: Rect) -> Option<Point> {
    let end = Point::new(
        point.x.clamp(label.x - 2.0, label.right() + 2.0),
        point.y.clamp(label.y + 2.0, label.bottom() - 2.0),
    );
    ((end.x - point.x).hypot(end.y - point.y) > NEAR).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_close_points_do_not_hide_each_other() {
        let plot = Rect::new(0.0, 0.0, 800.0, 600.0);
        let points: Vec<Point> = (0..6)
            .map(|i| Point::new(400.0 + 8.0 * f64::from(i), 300.0 + 5.0 * f64::from(i)))
            .collect();
        let mut taken = Vec::new();
        for point in points {
            let label = place(point, "muxer=2, deferred", 17.0, plot, &taken);
            assert!(plot.contains(&label));
            assert!(taken.iter().all(|other| label.overlap(other) == 0.0));
            taken.push(label);
        }
    }

    #[test]
    fn a_name_at_the_edge_stays_inside() {
        let plot = Rect::new(0.0, 0.0, 800.0, 600.0);
        let label = place(Point::new(798.0, 2.0), "connection=8", 17.0, plot, &[]);
        assert!(plot.contains(&label));
    }
}
