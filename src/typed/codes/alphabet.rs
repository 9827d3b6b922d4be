//! Which symbols codes are made of: drawing them, and reading what somebody has typed.

use super::error::NoRandomness;
use super::issued::Symbols;
use crate::typed::secret::Secret;

/// The symbols of a code, and how an answer is read.
///
/// An answer is read kindly: spaces (of any kind), hyphens and dashes (`-`, U+2010 to U+2015, the minus U+2212)
/// count for nothing wherever they are, and letters of either case are the same. Nothing else is
/// forgiven: one foreign symbol, digits of another script among them, or one symbol too many or too few,
/// and the answer is not a code.
///
/// | alphabet | symbols | bits each | for 20 bits | source |
/// |---|---|---|---|---|
/// | [`Digits`](Self::Digits) | 10 | 3.3 | 7; by custom 6, for 19.9 | |
/// | [`Letters`](Self::Letters) | 20 | 4.3 | 5 | RFC 8628, section 6.1 |
/// | [`Base32`](Self::Base32) | 32 | 5 | 4 | RFC 4648, section 6 |
/// | [`Crockford32`](Self::Crockford32) | 32 | 5 | 4 | Crockford, *Base 32* |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Alphabet {
    /// `0` to `9`.
    #[default]
    Digits,
    /// Consonants, which make no words and look like no digits: `BCDFGHJKLMNPQRSTVWXZ`, as RFC 8628 suggests
    /// for codes that people type.
    Letters,
    /// `A` to `Z` and `2` to `7`, as in RFC 4648: without the digits that look like letters.
    Base32,
    /// Digits and letters without I, L, O and U, as Crockford has it. I and L are read as 1, O as 0.
    Crockford32,
}

// === impl Alphabet ===

impl Alphabet {
    /// The symbols.
    ///
    /// ```
    /// use tickwheel::Alphabet;
    ///
    /// assert_eq!(Alphabet::Base32.symbols(), "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
    /// ```
    #[must_use]
    pub const fn symbols(self) -> &'static str {
        match self {
            Self::Digits => "0123456789",
            Self::Letters => "BCDFGHJKLMNPQRSTVWXZ",
            Self::Base32 => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            Self::Crockford32 => "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
        }
    }

    /// Draws a code of that many symbols. Each symbol is as likely as any other: a random byte that would favour
    /// some is thrown away.
    pub(super) fn draw(self, length: usize, code: &mut Symbols) -> Result<(), NoRandomness> {
        let symbols = self.symbols().as_bytes();
        let fair = 256 - 256 % symbols.len();
        while code.len() < length {
            let random = Secret::<64>::random().map_err(|_| NoRandomness)?;
            // By reference: a copy would not be wiped.
            for byte in random.bytes() {
                let byte = usize::from(*byte);
                if byte < fair && code.len() < length {
                    code.push(symbols[byte % symbols.len()]);
                }
            }
        }
        Ok(())
    }

    /// Reads what an answer says. `None` if it is not a code of that length.
    pub(super) fn read(self, length: usize, answer: &str, code: &mut Symbols) -> Option<()> {
        for typed in answer.chars().filter(|typed| !is_separator(*typed)) {
            if code.len() == length {
                return None;
            }
            code.push(self.symbol(typed)?);
        }
        (code.len() == length).then_some(())
    }

    /// The symbol that somebody means.
    fn symbol(self, typed: char) -> Option<u8> {
        let upper = u8::try_from(typed).ok()?.to_ascii_uppercase();
        let meant = match (self, upper) {
            (Self::Crockford32, b'I' | b'L') => b'1',
            (Self::Crockford32, b'O') => b'0',
            _ => upper,
        };
        self.symbols().as_bytes().contains(&meant).then_some(meant)
    }
}

fn is_separator(typed: char) -> bool {
    typed.is_whitespace() || matches!(typed, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

#[cfg(all(test, not(loom)))]
mod tests {
    //! Properties: what is drawn is read as it is; look-alikes, case and separators are forgiven and
    //! nothing else; all symbols are equally likely.

    use alloc::format;
    use alloc::string::String;
    use alloc::vec;

    use super::*;

    const ALL: [Alphabet; 4] = [
        Alphabet::Digits,
        Alphabet::Letters,
        Alphabet::Base32,
        Alphabet::Crockford32,
    ];

    fn draw(alphabet: Alphabet, length: usize) -> String {
        let mut code = Symbols::new();
        assert!(alphabet.draw(length, &mut code).is_ok());
        String::from(code.as_str())
    }

    fn read(alphabet: Alphabet, length: usize, answer: &str) -> Option<String> {
        let mut code = Symbols::new();
        alphabet.read(length, answer, &mut code)?;
        Some(String::from(code.as_str()))
    }

    #[test]
    fn what_is_drawn_is_read() {
        for alphabet in ALL {
            for length in [1, 6, 63, 64] {
                let code = draw(alphabet, length);
                assert_eq!(code.len(), length);
                assert_eq!(read(alphabet, length, &code).as_ref(), Some(&code));
                for other in [length - 1, length + 1] {
                    assert!(read(alphabet, other, &code).is_none());
                }
            }
        }
    }

    #[test]
    fn separators_and_case_count_for_nothing() {
        let read = |alphabet, answer| read(alphabet, 6, answer);
        for answer in [
            "123456",
            " 123 456\n",
            "1-2-3-4-5-6",
            "123\u{2013}456",
            "12\u{a0}34\u{2009}56",
            "\t123\u{2212}456--",
        ] {
            assert_eq!(read(Alphabet::Digits, answer).as_deref(), Some("123456"));
        }
        assert_eq!(
            read(Alphabet::Letters, "bcd-fgh").as_deref(),
            Some("BCDFGH")
        );
        assert_eq!(read(Alphabet::Base32, "ab 234z").as_deref(), Some("AB234Z"));
        assert_eq!(
            read(Alphabet::Crockford32, "il0 oLz").as_deref(),
            Some("11001Z")
        );
    }

    #[test]
    fn nothing_else_is_a_code() {
        for (alphabet, answer) in [
            (Alphabet::Digits, ""),
            (Alphabet::Digits, " - "),
            (Alphabet::Digits, "12345"),
            (Alphabet::Digits, "1234567"),
            (Alphabet::Digits, "12345O"),
            (Alphabet::Digits, "12345\u{0666}"), // a six, in Arabic
            (Alphabet::Digits, "12345\u{ff16}"), // a six, full width
            (Alphabet::Digits, "123.456"),
            (Alphabet::Digits, "12345\0"),
            (Alphabet::Letters, "ABCDFG"),
            (Alphabet::Base32, "ABCDE1"),
            (Alphabet::Crockford32, "12345U"),
            (Alphabet::Crockford32, "12345\u{e9}"),
        ] {
            assert!(
                read(alphabet, 6, answer).is_none(),
                "{alphabet:?} {answer:?}"
            );
        }
    }

    /// Pearson's chi-square over the symbols, against a bound that a fair draw exceeds less than once in
    /// 10^9 runs. A draw by `byte % n` alone exceeds it by far.
    #[test]
    fn all_symbols_are_equally_likely() {
        // The mean and 14 deviations: for 9, 19 and 31 degrees of freedom a tail below 10^-10.
        const PLACES: usize = 64;
        const CODES: usize = 4000;
        for alphabet in ALL {
            let symbols = alphabet.symbols();
            let mut seen = vec![0u64; symbols.len()];
            for _ in 0..CODES {
                for symbol in draw(alphabet, PLACES).chars() {
                    seen[symbols.find(symbol).unwrap()] += 1;
                }
            }
            let freedom = (symbols.len() - 1) as f64;
            let bound = freedom + 14.0 * (2.0 * freedom).sqrt();
            let found = chi_square(&seen);
            assert!(
                found < bound,
                "{alphabet:?}: {found} of {bound} for {seen:?}"
            );

            let biased: vec::Vec<u64> = (0..symbols.len())
                .map(|symbol| {
                    let bytes = (0..256)
                        .filter(|byte| byte % symbols.len() == symbol)
                        .count();
                    (bytes * PLACES * CODES / 256) as u64
                })
                .collect();
            let bias = chi_square(&biased);
            assert_eq!(
                256 % symbols.len() != 0,
                bias > bound,
                "{alphabet:?}: {bias}"
            );
        }
    }

    fn chi_square(seen: &[u64]) -> f64 {
        let expected = seen.iter().sum::<u64>() as f64 / seen.len() as f64;
        seen.iter()
            .map(|seen| (*seen as f64 - expected).powi(2) / expected)
            .sum()
    }

    #[test]
    fn the_table_of_the_docs_is_right() {
        for alphabet in ALL {
            let mut symbols: vec::Vec<_> = alphabet.symbols().bytes().collect();
            symbols.sort_unstable();
            symbols.dedup();
            assert_eq!(symbols.len(), alphabet.symbols().len(), "{alphabet:?}");
        }
        let counts = ALL.map(|alphabet| alphabet.symbols().len());
        assert_eq!(format!("{counts:?}"), "[10, 20, 32, 32]");
    }
}
