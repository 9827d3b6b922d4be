//! What is no code, no subject, no policy; what is shown and what is not.

use std::time::Duration;

use tickwheel::{
    Alphabet, BuildCodesError, CodeNonce, IssueError, OneTimeCodes, OneTimeCodesBuilder,
    RefusedCause, ReplayGuard, Timers,
};

use crate::{Bed, secs};

#[test]
fn a_policy_that_makes_no_sense_is_refused() {
    type Build = fn(OneTimeCodesBuilder) -> OneTimeCodesBuilder;
    let cases: [(Build, BuildCodesError); 8] = [
        (|b| b.alphabet(Alphabet::Digits, 0), BuildCodesError::Length),
        (
            |b| b.alphabet(Alphabet::Digits, 65),
            BuildCodesError::Length,
        ),
        (
            |b| b.alphabet(Alphabet::Digits, usize::MAX),
            BuildCodesError::Length,
        ),
        (|b| b.attempts(0), BuildCodesError::ZeroAttempts),
        (
            |b| b.attempts_per_subject(0, secs(1)),
            BuildCodesError::ZeroAttempts,
        ),
        (
            |b| b.issues_per_subject(0, secs(1)),
            BuildCodesError::ZeroIssues,
        ),
        (|b| b.capacity(0), BuildCodesError::ZeroCapacity),
        (|b| b.subjects(0), BuildCodesError::ZeroCapacity),
    ];
    let bed = Bed::new();
    for (build, expected) in cases {
        let built = build(OneTimeCodes::builder(&bed.timers)).build();
        assert_eq!(built.err(), Some(expected));
        assert!(!expected.to_string().is_empty());
    }
}

#[test]
fn the_largest_policy_works() {
    let bed = Bed::with(|codes| {
        codes
            .alphabet(Alphabet::Crockford32, 64)
            .time_to_live(Duration::MAX)
            .attempts(u32::MAX)
            .attempts_per_subject(u16::MAX, Duration::MAX)
            .issues_per_subject(u16::MAX, Duration::MAX)
            .cooldown(Duration::MAX)
            .capacity(usize::MAX)
            .subjects(usize::MAX)
    });
    let issued = bed.issue("ada", "login");
    assert_eq!(issued.code.len(), 64);
    assert_eq!(
        bed.codes.issue("ada", "login").unwrap_err().retry_after(),
        Some(Duration::from_nanos(u64::MAX)) // never
    );
    assert!(bed.accepts("ada", &issued));
    assert_eq!(bed.codes.remembered(), 1); // for ever
    bed.end();
}

#[test]
fn a_subject_has_1_to_512_bytes() {
    let bed = Bed::new();
    for (len, error, cause) in [
        (0, Some(IssueError::EmptySubject), RefusedCause::BadSubject),
        (1, None, RefusedCause::Mismatch { left: 4 }),
        (512, None, RefusedCause::Mismatch { left: 4 }),
        (513, Some(IssueError::LongSubject), RefusedCause::BadSubject),
        (
            1 << 24,
            Some(IssueError::LongSubject),
            RefusedCause::BadSubject,
        ),
    ] {
        let subject = "s".repeat(len);
        let issued = bed.codes.issue(&subject, "login");
        let answer = issued.as_ref().map_or(String::from("000000"), crate::wrong);
        assert_eq!(issued.err(), error, "{len}");
        assert_eq!(bed.verify(&subject, &answer), Err(cause), "{len}");
        let living = bed.codes.time_to_live(&subject, "login");
        assert_eq!(living.is_some(), error.is_none());
        assert_eq!(
            bed.codes.cancel(&subject, "login").is_some(),
            error.is_none()
        );
        assert_eq!(bed.codes.cancel_all(&subject), 0);
    }
    let raw = [0xff, 0x00, 0x80]; // any bytes
    let issued = bed.codes.issue(raw, "login").unwrap();
    assert!(bed.codes.verify(raw, "login", issued.code.expose()).is_ok());
    // An empty purpose is one like any other.
    let issued = bed.codes.issue("ada", "").unwrap();
    assert!(bed.codes.verify("ada", "", issued.code.expose()).is_ok());
}

#[test]
fn an_answer_is_read_kindly_up_to_256_bytes() {
    let bed = Bed::new();
    let spread = |issued: &tickwheel::Issued, len: usize| {
        let code = issued.code.expose();
        format!("{}{code}", " ".repeat(len - code.len()))
    };
    let issued = bed.issue("ada", "login");
    let answer = spread(&issued, 257);
    assert_eq!(bed.verify("ada", &answer), Err(RefusedCause::Malformed));
    assert_eq!(bed.verify("ada", &spread(&issued, 256)), Ok(()));

    let bed = Bed::with(|codes| codes.alphabet(Alphabet::Crockford32, 8));
    for change in [
        |code: &str| code.to_lowercase(),
        |code: &str| format!(" {}-{}\n", &code[..4], &code[4..]),
        |code: &str| code.replace('1', "l").replace('0', "o"),
        |code: &str| code.replace('1', "I").replace('0', "O"),
    ] {
        let issued = bed.issue("ada", "login");
        assert_eq!(bed.verify("ada", &change(issued.code.expose())), Ok(()));
    }
}

#[test]
fn codes_have_the_alphabet_and_the_length_asked_for() {
    for alphabet in [
        Alphabet::Digits,
        Alphabet::Letters,
        Alphabet::Base32,
        Alphabet::Crockford32,
    ] {
        for length in [1, 6, 64] {
            let bed = Bed::with(|codes| codes.alphabet(alphabet, length));
            let issued = bed.issue("ada", "login");
            assert_eq!(issued.code.len(), length);
            let code = issued.code.expose();
            assert!(
                code.chars()
                    .all(|symbol| alphabet.symbols().contains(symbol))
            );
        }
    }
}

#[test]
fn refusals_look_all_the_same() {
    let bed = Bed::with(|codes| codes.cooldown(secs(600)));
    let issued = bed.issue("ada", "login");
    let other = CodeNonce::from_u64(issued.nonce.as_u64() ^ 1);
    let wrong = crate::wrong(&issued);
    let mut refusals = vec![
        bed.codes.verify("bob", "login", "000000").unwrap_err(),
        bed.codes.verify("", "login", "000000").unwrap_err(),
        bed.codes.verify("ada", "login", "what?").unwrap_err(),
        bed.codes.verify("ada", "login", &wrong).unwrap_err(),
        bed.codes
            .verify_nonce("ada", "login", other, &wrong)
            .unwrap_err(),
    ];
    bed.clock.advance(secs(60));
    refusals.push(
        bed.codes
            .verify("ada", "login", issued.code.expose())
            .unwrap_err(),
    );
    let mut causes = Vec::new();
    for refused in refusals {
        assert_eq!(refused.to_string(), "the code was refused");
        assert_eq!(format!("{refused:?} {refused:#?}"), "Refused Refused");
        assert!(std::error::Error::source(&refused).is_none());
        causes.push(format!("{:?}", refused.cause()));
    }
    causes.dedup();
    assert_eq!(causes.len(), 6, "{causes:?}"); // in logs they differ
}

#[test]
fn neither_codes_nor_subjects_nor_keys_are_printed() {
    let bed = Bed::new();
    let codes = OneTimeCodes::builder(&bed.timers).digest_key([0x5a; 32]);
    let mut shown = format!("{codes:?}");
    let codes = codes.build().unwrap();
    let issued = codes.issue("ada@example.org", "login").unwrap();
    let refused = codes
        .verify("ada@example.org", "login", "13579")
        .unwrap_err();
    let id = codes.subject_id("ada@example.org");
    shown += &format!("{issued:?} {:?} {codes:?} {id} {id:?}", issued.code);
    shown += &format!("{refused:?} {refused} {:?}", refused.cause());
    let code = issued.code.expose();
    for secret in [code, "ada", "example", "13579", "5a5a", "90, 90"] {
        // A code of digits may be in a nonce by chance; then it is not there by name.
        let nonce = issued.nonce.to_string();
        assert!(
            !shown
                .replace(&nonce, "")
                .replace(&id.to_string(), "")
                .contains(secret)
        );
    }
}

#[test]
fn with_the_same_key_a_subject_has_the_same_id() {
    let bed = Bed::new();
    let with_key = |key| {
        let codes = OneTimeCodes::builder(&bed.timers).digest_key(key);
        codes.build().unwrap().subject_id("ada")
    };
    assert_eq!(with_key([1; 32]), with_key([1; 32]));
    assert_ne!(with_key([1; 32]), with_key([2; 32]));
    assert_ne!(bed.codes.subject_id("ada"), with_key([1; 32]));
    assert_ne!(bed.codes.subject_id("ada"), bed.codes.subject_id("bob"));
    assert_ne!(bed.codes.subject_id("ada").as_bytes(), &[0; 32]);
}

#[test]
fn nonces_are_text_and_back() {
    let bed = Bed::new();
    let issued = bed.issue("ada", "login");
    let text = issued.nonce.to_string();
    assert_eq!(text.len(), 16);
    assert_eq!(text.parse::<CodeNonce>().unwrap(), issued.nonce);
    assert!("xyz".parse::<CodeNonce>().is_err());
    assert_ne!(issued.nonce, bed.issue("ada", "login").nonce);
}

/// Pearson's chi-square for each place of a code, against the mean and 14 deviations: a fair draw exceeds it less than
/// once in 10^10 runs.
#[test]
fn in_each_place_of_a_code_each_digit_is_as_likely() {
    const CODES: u64 = 5000;
    let bed = Bed::with(|codes| codes.attempts(u32::MAX));
    let mut seen = [[0u64; 10]; 6];
    for _ in 0..CODES {
        let issued = bed.issue("ada", "login");
        for (place, digit) in issued.code.expose().bytes().enumerate() {
            seen[place][usize::from(digit - b'0')] += 1;
        }
    }
    let expected = CODES as f64 / 10.0;
    for place in seen {
        let each = place.map(|seen| (seen as f64 - expected).powi(2) / expected);
        let found: f64 = each.iter().sum();
        assert!(found < 9.0 + 14.0 * 18f64.sqrt(), "{found}: {place:?}");
    }
    bed.end();
}

#[test]
fn a_builder_shows_its_rules_and_not_its_key() {
    let timers = Timers::builder().build_hand_driven().unwrap();
    let builder = OneTimeCodes::builder(&timers).attempts(77);
    let shown = format!("{:?}", builder.digest_key([231; 32]));
    assert!(shown.contains("77"), "{shown}");
    assert!(!shown.contains("231"), "{shown}");
    let guard = ReplayGuard::with_digest_key(&timers, secs(77), [231; 32]).unwrap();
    let shown = format!("{guard:?}");
    assert!(shown.contains("77s"), "{shown}");
    assert!(!shown.contains("231"), "{shown}");
}
