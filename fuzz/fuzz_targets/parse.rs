//! Whatever comes from outside: texts of session ids, answers to one-time codes in every alphabet, subjects, steps. No
//! input panics, and each is taken for what a plain reading says.

#![no_main]

use std::cell::RefCell;
use std::time::Duration;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tickwheel::{
    Alphabet, IssueError, Issued, ManualClock, OneTimeCodes, ParseSessionIdError, RefusedCause,
    ReplayError, ReplayGuard, SessionId, Timers,
};

const ALPHABETS: [Alphabet; 4] = [
    Alphabet::Digits,
    Alphabet::Letters,
    Alphabet::Base32,
    Alphabet::Crockford32,
];

#[derive(Debug, Arbitrary)]
enum Input<'a> {
    Id(&'a str),
    /// An alphabet, and what somebody has typed.
    Answer(u8, &'a str),
    /// An alphabet, and how a right answer is written: what comes before each symbol, and whether it is small.
    Right(u8, [(u8, bool); LENGTH]),
    Subject(&'a [u8]),
    /// A subject and steps, whose low bits are enough.
    Steps(&'a [u8], [u8; 8]),
}

const LENGTH: usize = 6;

/// What is typed between symbols and counts for nothing.
const SEPARATORS: [&str; 8] = [
    "",
    " ",
    "-",
    "\u{2013}",
    "\u{a0}",
    "\t",
    "\u{2212}",
    "\u{3000}-",
];

struct Bed {
    _timers: Timers,
    codes: [OneTimeCodes; 4],
    issued: [RefCell<Issued>; 4],
}

impl Bed {
    fn new() -> Self {
        let timers = Timers::builder().clock(ManualClock::new());
        let timers = timers.build_hand_driven().unwrap();
        let codes = ALPHABETS.map(|alphabet| {
            let builder = OneTimeCodes::builder(&timers).alphabet(alphabet, LENGTH);
            let builder = builder.time_to_live(Duration::MAX).cooldown(Duration::ZERO);
            let builder = builder.attempts(u32::MAX);
            let builder = builder.attempts_per_subject(1, Duration::ZERO);
            let builder = builder.issues_per_subject(1, Duration::ZERO);
            builder.build().unwrap()
        });
        let issued = [0, 1, 2, 3].map(|n| RefCell::new(codes[n].issue("ada", "login").unwrap()));
        Self {
            _timers: timers,
            codes,
            issued,
        }
    }

    fn answer(&self, which: usize, answer: &str) {
        let code = self.issued[which].borrow().code.expose().to_owned();
        let read = read(ALPHABETS[which], answer);
        let verified = self.codes[which].verify("ada", "login", answer);
        match (read, verified.map_err(|refused| refused.cause())) {
            (Some(read), Ok(())) if read == code => {
                *self.issued[which].borrow_mut() = self.codes[which].issue("ada", "login").unwrap();
            }
            (Some(read), Err(RefusedCause::Mismatch { .. })) if read != code => {}
            // Nobody is heard out for ever.
            (None, Err(RefusedCause::Malformed)) => {}
            (_, Err(RefusedCause::Malformed)) if answer.len() > 256 => {}
            (read, verified) => panic!("{answer:?} for {code}: {read:?}, {verified:?}"),
        }
    }
}

thread_local! {
    static BED: Bed = Bed::new();
}

/// The code that an answer says, by the rules that are written down.
fn read(alphabet: Alphabet, answer: &str) -> Option<String> {
    let dashes = "-\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2015}\u{2212}";
    let typed = answer.chars();
    let typed = typed.filter(|typed| !typed.is_whitespace() && !dashes.contains(*typed));
    let upper: String = typed.map(|typed| typed.to_ascii_uppercase()).collect();
    let meant = match alphabet {
        Alphabet::Crockford32 => upper.replace(['I', 'L'], "1").replace('O', "0"),
        _ => upper,
    };
    let fits = |symbol: char| alphabet.symbols().contains(symbol);
    (meant.chars().count() == LENGTH && meant.chars().all(fits)).then_some(meant)
}

fn id(text: &str) {
    let is_of_it = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    match SessionId::parse(text) {
        Ok(id) => {
            assert_eq!(id.to_text(), text);
            assert!(text.len() == SessionId::LEN && text.bytes().all(is_of_it));
        }
        Err(ParseSessionIdError::Length { found }) => {
            assert!(found == text.len() && found != SessionId::LEN);
        }
        Err(ParseSessionIdError::Character { at }) => {
            assert_eq!(text.len(), SessionId::LEN);
            assert_eq!(text.bytes().position(|byte| !is_of_it(byte)), Some(at));
        }
        Err(other) => panic!("{other:?}"),
    }
}

fn subject(codes: &OneTimeCodes, subject: &[u8]) {
    let issued = codes.issue(subject, "login");
    match subject.len() {
        0 => assert_eq!(issued.unwrap_err(), IssueError::EmptySubject),
        1..=512 => {
            let issued = issued.unwrap();
            assert!(codes.verify(subject, "login", issued.code.expose()).is_ok());
            assert_eq!(codes.cancel(subject, "login"), None);
        }
        _ => assert_eq!(issued.unwrap_err(), IssueError::LongSubject),
    }
}

fn steps(subject: &[u8], steps: [u8; 8]) {
    let timers = Timers::builder().clock(ManualClock::new());
    let timers = timers.build_hand_driven().unwrap();
    let guard = ReplayGuard::new(&timers, Duration::from_secs(1)).unwrap();
    let mut newest = None;
    for step in steps.map(u64::from) {
        let expected = match subject.len() {
            1..=512 if newest < Some(step) => Ok(()),
            1..=512 => Err(ReplayError::Replayed),
            _ => Err(ReplayError::BadSubject),
        };
        assert_eq!(guard.accept(subject, step), expected);
        newest = newest.max(Some(step));
    }
}

fuzz_target!(|input: Input<'_>| {
    BED.with(|bed| match input {
        Input::Id(text) => id(text),
        Input::Answer(which, answer) => bed.answer(usize::from(which % 4), answer),
        Input::Right(which, writing) => {
            let which = usize::from(which % 4);
            let code = bed.issued[which].borrow().code.expose().to_owned();
            let mut answer = String::new();
            for (symbol, (separator, small)) in code.chars().zip(writing) {
                answer += SEPARATORS[usize::from(separator) % SEPARATORS.len()];
                let lower = symbol.to_ascii_lowercase();
                answer.push(if small { lower } else { symbol });
            }
            assert_eq!(read(ALPHABETS[which], &answer), Some(code), "{answer:?}");
            bed.answer(which, &answer);
        }
        Input::Subject(bytes) => subject(&bed.codes[0], bytes),
        Input::Steps(bytes, numbers) => steps(bytes, numbers),
    });
});
