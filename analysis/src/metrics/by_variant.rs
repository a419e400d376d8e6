//! Values of every variant, and of the reference with which candidates are compared.

use run_format::BASELINE;

/// One value for each variant, and one for baseline and A/A control pooled, with which candidates are compared.
#[derive(Clone, Debug)]
pub(crate) struct ByVariant<T> {
    pub(crate) variants: Vec<T>,
    pub(crate) reference: T,
}

/// The side that a change starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Variant(usize),
    /// The baseline and the A/A control together.
    Reference,
}

impl<T> ByVariant<T> {
    pub(super) fn map<U>(&self, value: impl Fn(&T) -> U) -> ByVariant<U> {
        ByVariant {
            variants: self.variants.iter().map(&value).collect(),
            reference: value(&self.reference),
        }
    }

    /// The value of each variant. That of the baseline is the reference, because the changes of candidates start there.
    pub(super) fn with_reference_as_baseline(self) -> Vec<T> {
        let mut variants = self.variants;
        if let Some(baseline) = variants.get_mut(BASELINE) {
            *baseline = self.reference;
        }
        variants
    }
}

impl<T> ByVariant<Option<T>> {
    /// The value of a side. None if it is not known.
    pub(crate) fn value_of(&self, side: Side) -> Option<&T> {
        match side {
            Side::Variant(variant) => self.variants.get(variant)?.as_ref(),
            Side::Reference => self.reference.as_ref(),
        }
    }
}
