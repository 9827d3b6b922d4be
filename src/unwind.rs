//! What may be used again after somebody has caught a panic around it: all that threads share.
//!
//! A panic in somebody's code (a callback, a hook, a waker, a key that is compared) finds each step of this crate done
//! or not begun, and the tests of panics hold that. The compiler cannot see it behind locks and cells.

use core::panic::{RefUnwindSafe, UnwindSafe};

use crate::{SharedWheel, Sleep, Timers};

impl<T, const BITS: u32> UnwindSafe for SharedWheel<T, BITS> {}
impl<T, const BITS: u32> RefUnwindSafe for SharedWheel<T, BITS> {}

impl UnwindSafe for Timers {}
impl RefUnwindSafe for Timers {}

impl UnwindSafe for Sleep {}
impl RefUnwindSafe for Sleep {}

#[cfg(feature = "typed")]
mod typed {
    use core::hash::Hash;
    use core::panic::{RefUnwindSafe, UnwindSafe};

    use crate::{
        Grant, Holding, LeaseGuard, Leases, Lessor, OneTimeCodes, ReplayGuard, SessionStore,
        Sessions,
    };

    impl<K, V, S> UnwindSafe for Sessions<K, V, S> {}
    impl<K, V, S> RefUnwindSafe for Sessions<K, V, S> {}

    impl<V> UnwindSafe for SessionStore<V> {}
    impl<V> RefUnwindSafe for SessionStore<V> {}

    impl<K, H> UnwindSafe for Leases<K, H>
    where
        K: Hash + Eq + Send + Sync + 'static,
        H: Send + Sync + 'static,
    {
    }
    impl<K, H> RefUnwindSafe for Leases<K, H>
    where
        K: Hash + Eq + Send + Sync + 'static,
        H: Send + Sync + 'static,
    {
    }

    // These give a look at what somebody has put in.
    impl<K: RefUnwindSafe, H: RefUnwindSafe> UnwindSafe for Grant<K, H> {}
    impl<K: RefUnwindSafe, H: RefUnwindSafe> RefUnwindSafe for Grant<K, H> {}
    impl<K: RefUnwindSafe, H: RefUnwindSafe> UnwindSafe for Holding<K, H> {}
    impl<K: RefUnwindSafe, H: RefUnwindSafe> RefUnwindSafe for Holding<K, H> {}

    impl<L: Lessor<Grant: RefUnwindSafe>> UnwindSafe for LeaseGuard<L> {}
    impl<L: Lessor<Grant: RefUnwindSafe>> RefUnwindSafe for LeaseGuard<L> {}

    impl UnwindSafe for OneTimeCodes {}
    impl RefUnwindSafe for OneTimeCodes {}

    impl UnwindSafe for ReplayGuard {}
    impl RefUnwindSafe for ReplayGuard {}
}
