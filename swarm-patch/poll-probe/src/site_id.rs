/// An instrumented poll function. Whoever instruments the function chooses its number, which is its index in tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteId(u8);

impl SiteId {
    /// The most sites that a process may have.
    pub const MOST: usize = 8;

    /// The site with this number, from 0.
    pub const fn new(number: u8) -> SiteId {
        assert!((number as usize) < SiteId::MOST, "there are too many sites");
        SiteId(number)
    }

    /// The number of this site.
    #[inline]
    pub const fn number(self) -> usize {
        self.0 as usize
    }
}
