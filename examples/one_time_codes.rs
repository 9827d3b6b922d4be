//! A login by a mailed code, on a clock that a test moves: what is accepted, what is refused, and what is told of it.

use std::error::Error;
use std::time::Duration;

use tickwheel::{
    Alphabet, EndReason, IssueError, ManualClock, OneTimeCodes, RefusedCause, ReplayError,
    ReplayGuard, Timers,
};

const ADA: &str = "ada@example.org";

fn main() -> Result<(), Box<dyn Error>> {
    let secs = Duration::from_secs;
    let clock = ManualClock::new(); // a service leaves this out, and calls `build`
    let timers = Timers::builder().clock(clock.clone()).build_hand_driven()?;
    let (told, log) = std::sync::mpsc::channel();
    let codes = OneTimeCodes::builder(&timers)
        .alphabet(Alphabet::Crockford32, 8)
        .time_to_live(secs(600))
        .cooldown(secs(30))
        .on_end(move |ended| {
            // For the log: neither the code nor the address is in it.
            println!(
                "  [{} {}: {}]",
                ended.key.purpose, ended.value, ended.reason
            );
            told.send(ended.reason).unwrap_or(());
        })
        .build()?;

    println!("Ada asks for a code.");
    let issued = codes.issue(ADA, "login")?;
    println!(
        "  mailed: {}, good for {:?}",
        issued.code.expose(),
        issued.expires_in
    );

    println!("She mistypes it twice, and then gets it right.");
    let code = issued.code.expose();
    let last = if code.ends_with('7') { "8" } else { "7" };
    let mistyped = format!("{}{last}", &code[..7]);
    for left in [4, 3] {
        let refused = codes.verify(ADA, "login", &mistyped).unwrap_err();
        println!("  to Ada: {refused}; in the log: {:?}", refused.cause());
        assert_eq!(refused.cause(), RefusedCause::Mismatch { left });
    }
    let as_typed = format!(" {}-{} ", &code[..4], code[4..].to_lowercase());
    codes.verify(ADA, "login", &as_typed)?;
    println!("  {as_typed:?} is accepted");
    assert_eq!(log.try_recv()?, EndReason::Consumed);

    println!("Mallory has seen her type, and tries it again.");
    let refused = codes.verify(ADA, "login", code).unwrap_err();
    println!("  {refused}");
    assert_eq!(refused.cause(), RefusedCause::Ended(EndReason::Consumed));

    println!("Whether there is a Bob he does not learn.");
    let unknown = codes.verify("bob@example.org", "login", code).unwrap_err();
    println!("  {unknown}");
    assert_eq!(unknown.to_string(), refused.to_string());

    println!("The next day Ada asks again, and once more when the letter does not come.");
    clock.advance(secs(86_400));
    timers.turn_fully()?;
    let first = codes.issue(ADA, "login")?;
    let error = codes.issue(ADA, "login").unwrap_err();
    println!("  {error}");
    assert_eq!(error, IssueError::Cooldown(secs(30)));
    clock.advance(secs(30));
    let second = codes.issue(ADA, "login")?;
    assert_eq!(log.try_recv()?, EndReason::Replaced);

    println!("The first letter comes first. Its form knows which code it was for.");
    let late = codes.verify_nonce(ADA, "login", first.nonce, first.code.expose());
    assert_eq!(late.unwrap_err().cause(), RefusedCause::OtherNonce); // and costs nothing

    println!("The second she reads after ten minutes: to the nanosecond too late.");
    clock.set(second.deadline);
    let late = codes.verify_nonce(ADA, "login", second.nonce, second.code.expose());
    let cause = late.unwrap_err().cause();
    assert_eq!(cause, RefusedCause::Ended(EndReason::Absolute));
    assert_eq!(log.try_recv()?, EndReason::Absolute);

    println!(
        "A third she never uses: the timers end it, and forget her when no count matters any more."
    );
    let _ = codes.issue(ADA, "login")?;
    while timers.advance_to_next(&clock) > 0 {}
    assert_eq!(log.try_recv()?, EndReason::Absolute);
    assert_eq!((codes.len(), codes.remembered(), timers.len()), (0, 0, 0));

    println!("Then she takes an authenticator. Its passwords are good for 90 seconds, and once.");
    let steps = ReplayGuard::for_totp(&timers, secs(30), 1)?;
    let step = 59_000_000; // for which the verifier found the password to be right
    steps.accept(ADA, step)?;
    assert_eq!(steps.accept(ADA, step), Err(ReplayError::Replayed));
    assert_eq!(steps.accept(ADA, step - 1), Err(ReplayError::Replayed));
    steps.accept(ADA, step + 1)?;
    clock.advance(secs(90));
    timers.turn_fully()?;
    assert_eq!(steps.remembered(), 0);
    println!("All as it should be.");
    Ok(())
}
