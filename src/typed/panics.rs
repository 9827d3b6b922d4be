//! Somebody's code, run one piece after the other, whatever each does.

use alloc::boxed::Box;
use core::any::Any;
use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};

/// The first panic of several pieces of somebody's code, for whoever has called.
#[derive(Default)]
pub(super) struct Panics(Option<Box<dyn Any + Send>>);

// === impl Panics ===

impl Panics {
    /// Runs a piece. If it panics, the next ones run all the same.
    pub(super) fn run(&mut self, piece: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(piece)) {
            if self.0.is_none() {
                self.0 = Some(panic);
            } else {
                forgotten(panic);
            }
        }
    }

    /// Lets the caller have a panic, unless it is unwinding already.
    pub(super) fn end(self) {
        if let Some(panic) = self.0 {
            if std::thread::panicking() {
                forgotten(panic);
            } else {
                resume_unwind(panic);
            }
        }
    }

    /// As [`end`](Self::end), with what the last piece has come to, which was caught by itself.
    pub(super) fn end_with<R>(self, last: std::thread::Result<R>) -> R {
        let panic = match (last, self.0) {
            (Ok(answer), None) => return answer,
            (Ok(answer), Some(panic)) if std::thread::panicking() => {
                forgotten(panic);
                return answer;
            }
            (Ok(answer), Some(first)) => {
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(answer))) {
                    forgotten(panic);
                }
                first
            }
            (Err(panic), None) => panic,
            (Err(panic), Some(first)) => {
                forgotten(panic);
                first
            }
        };
        resume_unwind(panic)
    }
}

/// Drops what somebody has panicked with, which may panic in turn.
pub(super) fn forgotten(panic: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        core::mem::forget(again);
    }
}
