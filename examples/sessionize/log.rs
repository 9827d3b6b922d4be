//! One line of a log in the Common or Combined Log Format:
//!
//! ```text
//! host ident user [07/Mar/2004:16:05:49 -0800] "request" status bytes
//! host ident user [07/Mar/2004:16:05:49 -0800] "request" status bytes "referer" "agent"
//! ```
//!
//! Lines are bytes: whatever a client sends may end up in them.

use std::fmt;

use crate::date;

/// What a line says of a visitor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hit<'a> {
    /// The client's address or host name: graphic ASCII characters.
    pub(crate) address: &'a [u8],
    /// The user agent as the log has it, escapes included; `-` if the line has none.
    pub(crate) agent: &'a [u8],
    /// Seconds since 1970.
    pub(crate) at: u64,
}

/// Why a line is not a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    Empty,
    TooLong,
    NoDate,
    Client,
    DateForm,
    Month,
    Day,
    Time,
    Offset,
    Before1970,
    Request,
    Status,
    Size,
    Referer,
    Agent,
}

/// Reads a line, with or without its end.
///
/// What follows the user agent is ignored: many servers add fields of their own there.
///
/// # Errors
///
/// The first thing found wrong with the line.
pub(crate) fn parse(line: &[u8]) -> Result<Hit<'_>, Malformed> {
    let line = line.trim_ascii_end();
    if line.is_empty() {
        return Err(Malformed::Empty);
    }
    // A user name may contain brackets and spaces, but no quote that is not escaped: the
    // first quote after a bracket opens the request, and the bracket closes the date.
    let close = line
        .windows(3)
        .position(|bytes| bytes == b"] \"")
        .ok_or(Malformed::NoDate)?;
    let open = line[..close]
        .iter()
        .rposition(|&byte| byte == b'[')
        .ok_or(Malformed::NoDate)?;
    let address = address(&line[..open]).ok_or(Malformed::Client)?;
    let at = date::parse(&line[open + 1..close])?;
    let (_, rest) = quoted(&line[close + 3..]).ok_or(Malformed::Request)?;

    let (status, rest) = word(rest).ok_or(Malformed::Status)?;
    if status.len() != 3 || !is_number(status) {
        return Err(Malformed::Status);
    }
    let (size, rest) = word(rest).ok_or(Malformed::Size)?;
    if size != b"-" && !is_number(size) {
        return Err(Malformed::Size);
    }
    if rest.is_empty() {
        return Ok(Hit {
            address,
            agent: b"-",
            at,
        });
    }
    let opened = rest.strip_prefix(b" \"").ok_or(Malformed::Referer)?;
    let (_, rest) = quoted(opened).ok_or(Malformed::Referer)?;
    let opened = rest.strip_prefix(b" \"").ok_or(Malformed::Agent)?;
    let (agent, rest) = quoted(opened).ok_or(Malformed::Agent)?;
    if !rest.is_empty() && rest[0] != b' ' {
        return Err(Malformed::Agent);
    }
    Ok(Hit { address, agent, at })
}

/// The host in `host ident user `.
fn address(client: &[u8]) -> Option<&[u8]> {
    let mut fields = client.splitn(3, |&byte| byte == b' ');
    let (address, _ident, user) = (fields.next()?, fields.next()?, fields.next()?);
    let whole = !address.is_empty() && address.iter().all(u8::is_ascii_graphic);
    (whole && user.ends_with(b" ")).then_some(address)
}

/// What stands before the closing quote, and what after it. A backslash escapes a quote.
fn quoted(opened: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    loop {
        at += opened
            .get(at..)?
            .iter()
            .position(|&byte| byte == b'"' || byte == b'\\')?;
        if opened[at] == b'"' {
            return Some((&opened[..at], &opened[at + 1..]));
        }
        at += 2;
    }
}

/// The word after a space, and what follows it.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b" ")?;
    let end = text
        .iter()
        .position(|&byte| byte == b' ')
        .unwrap_or(text.len());
    Some(text.split_at(end))
}

fn is_number(word: &[u8]) -> bool {
    !word.is_empty() && word.iter().all(u8::is_ascii_digit)
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "nothing on it",
            Self::TooLong => "too long",
            Self::NoDate => "no [date] followed by a quoted request",
            Self::Client => "no host, ident and user before the date",
            Self::DateForm => "a date unlike [07/Mar/2004:16:05:49 -0800]",
            Self::Month => "no such month",
            Self::Day => "no such day in that month",
            Self::Time => "no such time of day",
            Self::Offset => "no such offset from UTC",
            Self::Before1970 => "a date before 1970",
            Self::Request => "no quote closes the request",
            Self::Status => "no status of three digits after the request",
            Self::Size => "no number of bytes, nor -, after the status",
            Self::Referer => "no quoted referer after the number of bytes",
            Self::Agent => "no quoted user agent after the referer",
        })
    }
}
