//! The looks of lines and letters.

use super::colour::{Colour, INK};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pen {
    pub(crate) colour: Colour,
    pub(crate) width: f64,
    /// The lengths of dashes and gaps in turn. Empty for a solid line.
    pub(crate) dashes: &'static [f64],
}

impl Pen {
    pub(crate) fn new(colour: Colour, width: f64) -> Self {
        Self {
            colour,
            width,
            dashes: &[],
        }
    }

    pub(crate) fn dashed(self, dashes: &'static [f64]) -> Self {
        Self { dashes, ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Centre,
    Right,
}

/// The looks of text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lettering {
    /// The em, in pixels.
    pub(crate) size: f64,
    pub(crate) bold: bool,
    pub(crate) colour: Colour,
    pub(crate) align: Align,
}

impl Lettering {
    pub(crate) fn new(size: f64) -> Self {
        Self {
            size,
            bold: false,
            colour: INK,
            align: Align::Left,
        }
    }

    pub(crate) fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub(crate) fn colour(self, colour: Colour) -> Self {
        Self { colour, ..self }
    }

    pub(crate) fn centred(self) -> Self {
        Self {
            align: Align::Centre,
            ..self
        }
    }

    pub(crate) fn right(self) -> Self {
        Self {
            align: Align::Right,
            ..self
        }
    }

    /// The distance from the middle of digits and capitals to the line on which they stand.
    pub(crate) fn drop(&self) -> f64 {
        0.365 * self.size
    }
}
