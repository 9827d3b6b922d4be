//! What the models use of this layer: in no normal build.

use alloc::boxed::Box;
use core::fmt;

use super::FencingToken;
use super::token::{NoToken, Tokens};

/// Where tokens come from, by itself.
pub struct ModelledTokens(Tokens);

impl ModelledTokens {
    /// Those above 0, of which so many are made durable at a time. `persist` says whether they are.
    pub fn new(block: u64, persist: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        let persist = move |mark: FencingToken| {
            let durable = persist(mark.get());
            durable.then_some(()).ok_or_else(|| "not durable".into())
        };
        let none = FencingToken::new(0);
        Self(Tokens::new(none, block, Some(Box::new(persist))))
    }

    /// The next one; `None` if there is none, or it could not be made durable.
    pub fn next(&self) -> Option<u64> {
        loop {
            match self.0.take() {
                Ok(token) => return Some(token.get()),
                Err(NoToken::AtTheMark) => self.0.reserve().ok()?,
                Err(NoToken::Exhausted) => return None,
            }
        }
    }
}

impl fmt::Debug for ModelledTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ModelledTokens")
            .field(&self.0.last())
            .finish()
    }
}
