//! Variants take turns, and the launch ends when their changes are known.

use super::Purpose;

pub(super) struct Compare {
    /// False if subjects are compared, because their launches have to be equally long.
    pub(super) ends_when_precise: bool,
}

impl Purpose for Compare {
    fn is_enough(&self, _: u32, is_precise: &dyn Fn() -> bool) -> bool {
        self.ends_when_precise && is_precise()
    }
}
