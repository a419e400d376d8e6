/// An instrumented poll function. Whoever instruments it gives it a number, which is its place in tables, and has a name
/// for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site(u8);

impl Site {
    /// A process has no more sites.
    pub const MOST: usize = 8;

    /// The site with this number, from 0.
    pub const fn new(number: u8) -> Site {
        assert!((number as usize) < Site::MOST, "there are too many sites");
        Site(number)
    }

    /// Its number.
    #[inline]
    pub const fn number(self) -> usize {
        self.0 as usize
    }
}
