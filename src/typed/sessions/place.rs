//! Where a record is filed, and how far it has got, in four bytes.
//!
//! | bits | meaning |
//! |---|---|
//! | 0 | published: its key leads to it, or has done so |
//! | 1 | told: its end was |
//! | 2 | linked: it has neighbours in the order of events |
//! | 3 to 31 | 1 more than the index of the entry of the wheel under which it is filed; 0 if it is not |
//!
//! Whoever looks at the entry makes sure that it is this record's, so an index will do where a key would have to
//! take 16 bytes.

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place(u32);

const PUBLISHED: u32 = 1;
const TOLD: u32 = 1 << 1;
const LINKED: u32 = 1 << 2;
const FLAGS: u32 = PUBLISHED | TOLD | LINKED;
/// What an index is multiplied with.
const ONE: u32 = FLAGS + 1;

/// Entries of the wheel that a record can be filed under.
pub(super) const ENTRIES: u32 = u32::MAX / ONE;

// === impl Place ===

impl Place {
    /// Whether its key leads to it, or has done so.
    pub(super) fn is_published(self) -> bool {
        self.0 & PUBLISHED != 0
    }

    pub(super) fn set_published(&mut self) {
        self.0 |= PUBLISHED;
    }

    /// Whether its end was told.
    pub(super) fn is_told(self) -> bool {
        self.0 & TOLD != 0
    }

    pub(super) fn set_told(&mut self) {
        self.0 |= TOLD;
    }

    /// Whether it has neighbours in the order of events.
    pub(super) fn is_linked(self) -> bool {
        self.0 & LINKED != 0
    }

    pub(super) fn set_linked(&mut self, linked: bool) {
        self.0 = (self.0 & !LINKED) | if linked { LINKED } else { 0 };
    }

    /// It is filed under that entry, one of [`ENTRIES`].
    pub(super) fn file(&mut self, entry: u32) {
        debug_assert!(entry < ENTRIES, "entry {entry} is none of {ENTRIES}");
        self.0 = (self.0 & FLAGS) | ((entry + 1) * ONE);
    }

    /// It is filed no longer. Says where it was.
    pub(super) fn unfile(&mut self) -> Option<u32> {
        let entry = (self.0 / ONE).checked_sub(1);
        self.0 &= FLAGS;
        entry
    }
}

#[cfg(test)]
mod tests {
    //! Properties: entry and flags are what a struct of four fields would hold.

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Publish,
        Tell,
        Link(bool),
        File(u32),
        Unfile,
    }

    proptest! {
        #[test]
        fn it_holds_what_four_fields_would(
            steps in prop::collection::vec(
                prop_oneof![
                    Just(Step::Publish),
                    Just(Step::Tell),
                    any::<bool>().prop_map(Step::Link),
                    (0..ENTRIES).prop_map(Step::File),
                    Just(Step::File(ENTRIES - 1)),
                    Just(Step::Unfile),
                ],
                0..20,
            ),
        ) {
            let mut place = Place::default();
            let (mut published, mut told, mut linked, mut filed) = (false, false, false, None);
            for step in steps {
                match step {
                    Step::Publish => { place.set_published(); published = true }
                    Step::Tell => { place.set_told(); told = true }
                    Step::Link(is) => { place.set_linked(is); linked = is }
                    Step::File(entry) => { place.file(entry); filed = Some(entry) }
                    Step::Unfile => prop_assert_eq!(place.unfile(), filed.take()),
                }
                prop_assert_eq!(
                    (place.is_published(), place.is_told(), place.is_linked()),
                    (published, told, linked)
                );
            }
            prop_assert_eq!(place.unfile(), filed);
        }
    }
}
