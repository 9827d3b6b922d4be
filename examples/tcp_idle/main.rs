//! An echo server with thousands of connections on one thread, and three deadlines for each: an idle
//! timeout, which every message pushes out, a keep-alive probe, and an absolute lifetime.
//!
//! The server is an event loop. It drives its `Timers` by hand: it sleeps in `poll` for as
//! long as `next_timeout` says, and then turns. Callbacks run in that turn, in the loop's own thread, but
//! cannot borrow what the loop owns: they leave a note in a queue, which the loop reads right after.
//!
//! Clients are in the same program: a thread which talks to the server over the loopback and checks that it
//! was never hung up on early. Usage: `tcp_idle [--connections N]`.

mod clients;

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use tickwheel::{ArmError, Firing, Missed, TimerGuard, Timers, Timestamp};

/// A connection that says nothing for so long is closed.
const IDLE: Duration = Duration::from_secs(2);
/// It is asked whether it is there when it has said nothing for so long, and again after as long.
const PROBE: Duration = Duration::from_millis(800);
/// No connection gets older.
const LIFETIME: Duration = Duration::from_secs(5);

const PING: u8 = b'?';
const PONG: u8 = b'!';

fn main() -> Result<(), Box<dyn Error>> {
    let wanted = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => 2000,
        [flag, count] if flag == "--connections" => count.parse()?,
        _ => return Err("usage: tcp_idle [--connections N]".into()),
    };
    let count = affordable(wanted);
    let mut server = Server::bind()?;
    let (address, timers) = (server.listener.local_addr()?, server.timers.clone());
    let stop = StopOnDrop(timers, server.notes.clone());
    let clients = thread::spawn(move || {
        let _stop = stop;
        clients::run(address, count)
    });
    server.run()?;
    let told = clients.join().expect("the clients do not panic")?;
    server.report(count, &told);
    Ok(())
}

/// Stops the server when the clients are gone, be it by a panic.
struct StopOnDrop(Timers, mpsc::Sender<Note>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        let notes = self.1.clone();
        // Armed by another thread while the loop sleeps: this wakes it.
        let armed = self.0.arm(Duration::ZERO, move |_| {
            let _ = notes.send(Note::Stop);
        });
        armed.expect("the server is not shut down");
    }
}

// === the server ===

/// What a callback leaves for the loop.
enum Note {
    Probe(Token),
    Close(Token, Why),
    Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Why {
    Idle,
    Lifetime,
    /// The client has hung up.
    Client,
}

struct Connection {
    stream: TcpStream,
    opened: Timestamp,
    heard: Timestamp,
    // Guards: whichever way the connection goes, its timers go with it.
    idle: TimerGuard,
    probe: TimerGuard,
    _lifetime: TimerGuard,
}

struct Server {
    poll: Poll,
    listener: TcpListener,
    timers: Timers,
    notes: mpsc::Sender<Note>,
    queue: mpsc::Receiver<Note>,
    /// By a token which is never used again, so that a note about a connection that has gone finds none.
    open: HashMap<Token, Connection>,
    next: usize,
    /// How each connection ended, and how much later than it had to.
    closed: HashMap<Token, (Why, Duration)>,
    probes: u64,
    turns: u64,
    most: usize,
}

const LISTENER: Token = Token(0);
const WAKE: Token = Token(1);

impl Server {
    fn bind() -> Result<Self, Box<dyn Error>> {
        let poll = Poll::new()?;
        let mut listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let registry = poll.registry();
        registry.register(&mut listener, LISTENER, Interest::READABLE)?;
        let waker = Arc::new(Waker::new(registry, WAKE)?);
        let timers = Timers::builder()
            .wake(move || waker.wake().expect("the event loop can be woken"))
            .build_hand_driven()?;
        let (notes, queue) = mpsc::channel();
        Ok(Self {
            poll,
            listener,
            timers,
            notes,
            queue,
            open: HashMap::new(),
            next: 2,
            closed: HashMap::new(),
            probes: 0,
            turns: 0,
            most: 0,
        })
    }

    /// The event loop, until it is told to stop and all connections are closed.
    fn run(&mut self) -> Result<(), Box<dyn Error>> {
        let mut events = Events::with_capacity(1024);
        let mut stopping = false;
        while !stopping || !self.open.is_empty() {
            match self.poll.poll(&mut events, self.timers.next_timeout()) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            // What was said before a timeout was served counts as said in time: messages come first.
            for event in &events {
                match event.token() {
                    LISTENER => self.accept()?,
                    WAKE => {}
                    token => self.serve(token),
                }
            }
            self.timers.turn_fully()?;
            self.turns += 1;
            while let Ok(note) = self.queue.try_recv() {
                match note {
                    Note::Probe(token) => self.probe(token),
                    Note::Close(token, why) => self.close(token, why),
                    Note::Stop => stopping = true,
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<(), Box<dyn Error>> {
        loop {
            let mut stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            };
            let token = Token(self.next);
            self.next += 1;
            let registry = self.poll.registry();
            registry.register(&mut stream, token, Interest::READABLE)?;
            let connection = self.open(token, stream)?;
            self.open.insert(token, connection);
        }
        self.most = self.most.max(self.open.len());
        Ok(())
    }

    /// Arms the deadlines of a connection.
    fn open(&self, token: Token, stream: TcpStream) -> Result<Connection, ArmError> {
        let timers = &self.timers;
        let close = |why| {
            let notes = self.notes.clone();
            move |_: &mut Firing<'_>| {
                let _ = notes.send(Note::Close(token, why));
            }
        };
        let notes = self.notes.clone();
        let probe = timers.every(PROBE, Missed::Skip, move |_| {
            let _ = notes.send(Note::Probe(token));
        })?;
        let now = timers.now();
        Ok(Connection {
            stream,
            opened: now,
            heard: now,
            idle: timers.guard(timers.arm(IDLE, close(Why::Idle))?),
            probe: timers.guard(probe),
            _lifetime: timers.guard(timers.arm(LIFETIME, close(Why::Lifetime))?),
        })
    }

    /// Echoes what has come, and pushes the deadlines out.
    fn serve(&mut self, token: Token) {
        let Some(connection) = self.open.get_mut(&token) else {
            return;
        };
        match connection.echo() {
            Ok(Heard::Nothing) => {}
            Ok(Heard::Something) => {
                connection.heard = self.timers.now();
                // Moves them by O(1), without a lock, and keeps their keys. If the idle timeout had
                // fired, its note would have closed the connection before this.
                let moved = connection.idle.rearm(IDLE);
                let moved = moved.and_then(|()| connection.probe.rearm(PROBE));
                moved.expect("the deadlines of an open connection are armed");
            }
            Ok(Heard::End) | Err(_) => self.close(token, Why::Client),
        }
    }

    fn probe(&mut self, token: Token) {
        if let Some(connection) = self.open.get_mut(&token) {
            self.probes += 1;
            // Should it not fit, the peer has enough to read.
            let _ = connection.stream.write(&[PING]);
        }
    }

    /// Closes a connection: its deadlines are cancelled, as their guards go.
    fn close(&mut self, token: Token, why: Why) {
        // Two of its deadlines may have fired in the same turn. The first decides.
        let Some(connection) = self.open.remove(&token) else {
            return;
        };
        let now = self.timers.now();
        let due = match why {
            Why::Idle => connection.heard + IDLE,
            Why::Lifetime => connection.opened + LIFETIME,
            Why::Client => now,
        };
        assert!(now >= due, "{why:?} at {now:?}, early: due at {due:?}");
        let before = self.closed.insert(token, (why, now.saturating_since(due)));
        assert!(before.is_none(), "{token:?} was closed twice");
    }

    fn report(&self, count: usize, told: &clients::Told) {
        println!(
            "{count} connections, {} at a time, on one thread",
            self.most
        );
        println!(
            "{:<10} {:>7} {:>12} {:>12} {:>12}",
            "closed by", "count", "p50 late", "p99 late", "max late"
        );
        for why in [Why::Idle, Why::Lifetime, Why::Client] {
            let of = self.closed.values().filter(|(of, _)| *of == why);
            let mut late: Vec<_> = of.map(|(_, late)| *late).collect();
            late.sort_unstable();
            let at = |quantile: f64| {
                let rank = (late.len() as f64 * quantile).ceil() as usize;
                match late.get(rank.max(1) - 1) {
                    Some(late) if why != Why::Client => format!("{late:.1?}"),
                    _ => "-".to_owned(),
                }
            };
            let [median, high, max] = [at(0.5), at(0.99), at(1.0)];
            let name = format!("{why:?}").to_lowercase();
            println!(
                "{name:<10} {:>7} {median:>12} {high:>12} {max:>12}",
                late.len()
            );
        }
        let (stats, lateness) = (self.timers.stats(), self.timers.lateness());
        println!(
            "{} firings, late by {:?} at p50, {:?} at p99, {:?} at most",
            stats.fired,
            lateness.quantile(0.5),
            lateness.quantile(0.99),
            lateness.max()
        );
        println!(
            "{} re-arms, {} cancels, {} probes, {} turns of the loop",
            stats.rearmed, stats.cancelled, self.probes, self.turns
        );
        println!(
            "the clients were hung up on {} times, and hung up {} times",
            told.hung_up_on, told.hung_up
        );
        assert_eq!(self.closed.len(), count, "each connection is closed once");
        assert_eq!(told.hung_up_on + told.hung_up, count);
        assert!(self.timers.is_empty(), "{stats:?}");
        assert_eq!(stats.panics, 0);
    }
}

enum Heard {
    Nothing,
    Something,
    End,
}

impl Connection {
    fn echo(&mut self) -> io::Result<Heard> {
        let (mut heard, mut buffer) = (Heard::Nothing, [0; 512]);
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(Heard::End),
                Ok(length) => {
                    heard = Heard::Something;
                    // What does not fit now is lost: a server that means it would keep it.
                    let _ = self.stream.write(&buffer[..length]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(heard),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

// === the limit of open files ===

/// So many connections as there may be: each takes a descriptor at either end.
fn affordable(wanted: usize) -> usize {
    /// For the listener, the poll, the standard streams and what else there is.
    const OTHERS: usize = 64;
    let files = raise_limit(wanted * 2 + OTHERS);
    let count = wanted.min(files.saturating_sub(OTHERS) / 2);
    if count < wanted {
        println!("{files} open files allow {count} connections, not {wanted}");
    }
    count
}

/// Raises the limit of open files to `wanted`, or as far as it goes. Says how many there may be.
#[cfg(unix)]
fn raise_limit(wanted: usize) -> usize {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted as u64) {
        let most = limit.maximum.unwrap_or(u64::MAX);
        limit.current = Some(most.min(wanted as u64));
        // Refused, it stays what it was.
        let _ = setrlimit(Resource::Nofile, limit);
    }
    let now = getrlimit(Resource::Nofile).current;
    now.map_or(usize::MAX, |files| files as usize)
}

#[cfg(not(unix))]
fn raise_limit(_: usize) -> usize {
    usize::MAX
}
