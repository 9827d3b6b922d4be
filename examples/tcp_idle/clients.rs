//! The clients: one thread, which looks after each of them twenty times a second.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::{IDLE, LIFETIME, PING, PONG};

/// What a client does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Habit {
    /// Says something twice a second: lives as long as it may.
    Talks,
    /// Says nothing, but answers when it is asked: so does this.
    Answers,
    /// Talks for a second, and then neither talks nor answers.
    FallsSilent,
    /// Hangs up after a second and a half.
    HangsUp,
}

const HABITS: [Habit; 4] = [
    Habit::Talks,
    Habit::Answers,
    Habit::FallsSilent,
    Habit::HangsUp,
];

struct Client {
    stream: TcpStream,
    habit: Habit,
    opened: Instant,
    /// When it said what was not echoed yet.
    says: Option<Instant>,
    /// When it said what was echoed last, and so was heard.
    said: Instant,
}

/// How the connections ended, as the clients saw it.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) hung_up_on: usize,
    pub(crate) hung_up: usize,
}

/// Opens `count` connections, and lives with them until none is left.
pub(crate) fn run(address: SocketAddr, count: usize) -> io::Result<Told> {
    let (mut told, mut clients) = (Told::default(), Vec::new());
    let mut coming = HABITS.into_iter().cycle().take(count).peekable();
    while coming.peek().is_some() || !clients.is_empty() {
        // In a second, but never more at a time than wait in line at a listener.
        for habit in coming.by_ref().take(count.div_ceil(20).min(100)) {
            clients.push(Client::connect(address, habit)?);
        }
        clients.retain_mut(|client| match client.step() {
            Step::Open => true,
            Step::HungUp => {
                told.hung_up += 1;
                false
            }
            Step::HungUpOn => {
                client.check();
                told.hung_up_on += 1;
                false
            }
        });
        thread::sleep(Duration::from_millis(50));
    }
    Ok(told)
}

enum Step {
    Open,
    HungUp,
    HungUpOn,
}

impl Client {
    fn connect(address: SocketAddr, habit: Habit) -> io::Result<Self> {
        let opened = Instant::now();
        let stream = TcpStream::connect(address)?;
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            habit,
            opened,
            says: None,
            said: opened,
        })
    }

    fn step(&mut self) -> Step {
        let mut buffer = [0; 512];
        let got = match self.stream.read(&mut buffer) {
            Ok(0) => return Step::HungUpOn,
            Ok(length) => &buffer[..length],
            Err(error) if error.kind() == ErrorKind::WouldBlock => &[],
            Err(_) => return Step::HungUpOn,
        };
        if got.iter().any(|byte| *byte != PING) {
            self.said = self.says.take().unwrap_or(self.said);
        }
        let age = self.opened.elapsed();
        let talks = self.said.elapsed() >= Duration::from_millis(500);
        let says = match self.habit {
            Habit::HangsUp if age >= Duration::from_millis(1500) => return Step::HungUp,
            Habit::Talks | Habit::HangsUp if talks => Some(b'.'),
            Habit::FallsSilent if talks && age < Duration::from_secs(1) => Some(b'.'),
            Habit::Answers if got.contains(&PING) => Some(PONG),
            Habit::Talks | Habit::Answers | Habit::FallsSilent | Habit::HangsUp => None,
        };
        if let (Some(says), None) = (says, self.says) {
            // The time before it is said, so before it is heard.
            self.says = Some(Instant::now());
            // If the server has hung up, that is read next.
            let _ = self.stream.write(&[says]);
        }
        Step::Open
    }

    /// The server has hung up: not before it might.
    fn check(&self) {
        let (age, silence) = (self.opened.elapsed(), self.said.elapsed());
        assert!(
            age >= LIFETIME || silence >= IDLE,
            "hung up on at the age of {age:?}, {silence:?} after it was heard"
        );
    }
}
