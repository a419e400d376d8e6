//! Places in a picture, in pixels of the PNG from its upper left corner.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

impl Point {
    pub(crate) fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }
}

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
        Point::new(self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    /// All around.
    pub(crate) fn corners(&self) -> [Point; 4] {
        let (right, bottom) = (self.right(), self.bottom());
        [
            (self.x, self.y),
            (right, self.y),
            (right, bottom),
            (self.x, bottom),
        ]
        .map(|(x, y)| Point::new(x, y))
    }

    /// Smaller by this much on each side.
    pub(crate) fn inset(&self, by: f64) -> Self {
        Self::new(
            self.x + by,
            self.y + by,
            self.width - 2.0 * by,
            self.height - 2.0 * by,
        )
    }

    pub(crate) fn with_width(&self, width: f64) -> Self {
        Self { width, ..*self }
    }

    pub(crate) fn with_height(&self, height: f64) -> Self {
        Self { height, ..*self }
    }

    /// The part below this height.
    pub(crate) fn below(&self, height: f64) -> Self {
        Self {
            y: self.y + height,
            height: self.height - height,
            ..*self
        }
    }

    /// The part right of this width.
    pub(crate) fn right_of(&self, width: f64) -> Self {
        Self {
            x: self.x + width,
            width: self.width - width,
            ..*self
        }
    }

    /// Columns of equal width, from left to right.
    pub(crate) fn columns(&self, count: usize, gap: f64) -> Vec<Self> {
        let width = (self.width - gap * (count as f64 - 1.0)) / count as f64;
        (0..count)
            .map(|column| Self {
                x: self.x + column as f64 * (width + gap),
                width,
                ..*self
            })
            .collect()
    }

    /// Rows of equal height, from top to bottom.
    pub(crate) fn rows(&self, count: usize, gap: f64) -> Vec<Self> {
        let height = (self.height - gap * (count as f64 - 1.0)) / count as f64;
        (0..count)
            .map(|row| Self {
                y: self.y + row as f64 * (height + gap),
                height,
                ..*self
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fill_the_width_and_do_not_overlap() {
        let whole = Rect::new(10.0, 0.0, 100.0, 5.0);
        let columns = whole.columns(3, 5.0);
        assert_eq!(columns.len(), 3);
        assert_eq!(columns[0].overlap(&columns[1]), 0.0);
        assert!((columns[2].right() - whole.right()).abs() < 1e-9);
        assert!(columns.iter().all(|column| whole.contains(column)));
    }
}
