//! The `sessionize` example, from the inside and from the outside. Properties:
//!
//! - `against_oracle`: on any log the wheel finds the sessions that a scan without timers
//!   finds, in the order in which they end; so it does on the log that is shipped.
//! - `lines`: what is a hit is read right, what is not is named; dates follow the calendar.
//! - `at_the_second`: what begins, continues and ends a session, and when exactly.
//! - `command`: the same answer whichever way the log comes in; output that other programs
//!   and terminals can bear; failure with status 2, and only then.

#[path = "../examples/sessionize/date.rs"]
mod date;
#[path = "../examples/sessionize/log.rs"]
mod log;
#[path = "../examples/sessionize/sessions.rs"]
mod sessions;

#[path = "sessionize/against_oracle.rs"]
mod against_oracle;
#[path = "sessionize/at_the_second.rs"]
mod at_the_second;
#[path = "sessionize/command.rs"]
mod command;
#[path = "sessionize/lines.rs"]
mod lines;
#[path = "sessionize/run.rs"]
mod run;
