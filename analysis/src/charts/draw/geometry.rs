//! Places in a picture, in pixels from its upper left corner.

/// Across and down.
pub(crate) type Point = (f64, f64);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Rect {
    pub(crate) fn new(x: f64, y: f64, width: f64, height: f64) -> Self {
        Self {
            x,
            y,
            width,
            height,
        }
    }

    pub(crate) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    pub(crate) fn centre(&self) -> Point {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    pub(crate) fn with_width(&self, width: f64) -> Self {
        Self { width, ..*self }
    }

    pub(crate) fn with_height(&self, height: f64) -> Self {
        Self { height, ..*self }
    }

    pub(crate) fn below(&self, height: f64) -> Self {
        Self {
            y: self.y + height,
            height: self.height - height,
            ..*self
        }
    }

    pub(crate) fn right_of(&self, width: f64) -> Self {
        Self {
            x: self.x + width,
            width: self.width - width,
            ..*self
        }
    }

    pub(crate) fn column(&self, index: usize, count: usize, gap: f64) -> Self {
        let width = (self.width - gap * (count as f64 - 1.0)) / count as f64;
        self.right_of(index as f64 * (width + gap))
            .with_width(width)
    }

    pub(crate) fn row(&self, index: usize, count: usize, gap: f64) -> Self {
        let height = (self.height - gap * (count as f64 - 1.0)) / count as f64;
        self.below(index as f64 * (height + gap))
            .with_height(height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fill_the_width_and_do_not_overlap() {
        let whole = Rect::new(10.0, 0.0, 100.0, 5.0);
        let columns = [0, 1, 2].map(|index| whole.column(index, 3, 5.0));
        assert_eq!(columns[0].overlap(&columns[1]), 0.0);
        assert!((columns[2].right() - whole.right()).abs() < 1e-9);
        assert!(columns.iter().all(|column| whole.contains(column)));
    }
}
