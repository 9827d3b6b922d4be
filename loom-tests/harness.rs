//! Runs models: on the wheel as it is, and in a process of their own on broken ones.

use std::env;
use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::process::{self, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The variable in which the library finds the name of the mutant it should be.
const SWITCH: &str = "TICKWHEEL_MUTANT";

/// A branch is an access to something shared, so this is how long one execution may get.
/// Who needs more is not a small model, or spins.
const MAX_BRANCHES: usize = 20_000;

/// How long a model may take to notice a mutant.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// How many children run at a time.
const WORKERS: usize = 2;

/// How often a thread may be interrupted where it did not have to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// As often as there is a place to: all interleavings that loom tells apart.
    None,
    /// At most so often in one execution.
    Preemptions(usize),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Preemptions(most) => write!(f, "{most}"),
        }
    }
}

/// Tries the interleavings of `run`, and requires that there were `min_executions` of them:
/// a model that cannot go two ways tests nothing.
///
/// `LOOM_MAX_PREEMPTIONS` overrides the bound. The minimum then says nothing and is waived,
/// as it is for a mutant, which has to be noticed by what it does and not by a count.
pub(crate) fn model(
    name: &str,
    bound: Bound,
    min_executions: usize,
    run: impl Fn() + Send + Sync + 'static,
) {
    let told = env::var("LOOM_MAX_PREEMPTIONS").ok().map(|most| {
        let most = most.parse().expect("LOOM_MAX_PREEMPTIONS is a number");
        Bound::Preemptions(most)
    });
    let as_designed = told.is_none() && mutant().is_none();
    let bound = told.unwrap_or(bound);

    let start = Instant::now();
    let executions = explore(bound, run);
    let seconds = start.elapsed().as_secs_f64();
    println!("{name}: {executions} executions, bound {bound}, {seconds:.2} s");
    assert!(
        !as_designed || executions >= min_executions,
        "{name}: {executions} executions with bound {bound}, expected {min_executions} or more"
    );
}

/// Runs `run` once for every interleaving that loom tells apart, and returns how many.
pub(crate) fn explore(bound: Bound, run: impl Fn() + Send + Sync + 'static) -> usize {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = builder.max_branches.max(MAX_BRANCHES);
    builder.preemption_bound = match bound {
        Bound::None => None,
        Bound::Preemptions(most) => Some(most),
    };
    let executions = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&executions);
    builder.check(move || {
        counter.fetch_add(1, Relaxed); // a count, read when all is done
        run();
    });
    executions.load(Relaxed)
}

/// The mutant that this process runs, if it runs one.
pub(crate) fn mutant() -> Option<String> {
    env::var(SWITCH).ok()
}

/// What became of a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// The model failed, for this reason.
    Killed(String),
    /// The model passed.
    Survived,
    /// The model did neither within the limit.
    Hung,
    /// No test has the model's name.
    NoModel,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed(reason) => write!(f, "killed: {reason}"),
            Self::Survived => f.write_str("SURVIVED"),
            Self::Hung => f.write_str("HUNG"),
            Self::NoModel => f.write_str("NO SUCH MODEL"),
        }
    }
}

/// Runs every model on its mutant and fails with a list of the mutants that were not noticed.
///
/// `known` names the mutants that the library has. Each needs a model, and only those names
/// mean anything.
pub(crate) fn kill_all(known: &[&str], mutants: &[(&str, &str)]) {
    let tried: Vec<&str> = mutants.iter().map(|&(name, _)| name).collect();
    let missing = |names: &[&str], among: &[&str]| -> Vec<String> {
        let missing = names.iter().filter(|name| !among.contains(name));
        missing.map(|&name| name.to_owned()).collect()
    };
    let (untried, unknown) = (missing(known, &tried), missing(&tried, known));
    assert!(untried.is_empty(), "mutants without a model: {untried:?}");
    assert!(unknown.is_empty(), "mutants the library lacks: {unknown:?}");

    let next = AtomicUsize::new(0);
    let work = || {
        let mut alive = Vec::new();
        // A ticket, which only has to be unique.
        while let Some(&(name, model)) = mutants.get(next.fetch_add(1, Relaxed)) {
            let start = Instant::now();
            let fate = fate(name, model, LIMIT);
            let seconds = start.elapsed().as_secs_f64();
            println!("{name}: {fate} ({model}, {seconds:.2} s)");
            if !matches!(fate, Fate::Killed(_)) {
                alive.push(format!("{name}: {fate} ({model})"));
            }
        }
        alive
    };
    let alive: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(thread::ScopedJoinHandle::join);
        ended
            .flat_map(|alive| alive.expect("a worker can run its children"))
            .collect()
    });
    assert!(
        alive.is_empty(),
        "{} of {} mutants were not killed:\n{}",
        alive.len(),
        mutants.len(),
        alive.join("\n")
    );
}

/// The names of all tests of this very binary.
pub(crate) fn tests() -> Vec<String> {
    let listed = Command::new(env::current_exe().expect("this process has a file"))
        .args(["--list", "--format=terse"])
        .output()
        .expect("the test binary can be started");
    let listed = String::from_utf8(listed.stdout).expect("names are text");
    let names = listed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"));
    names.map(str::to_owned).collect()
}

/// Runs the test `model` of this very binary in a process of its own, as the mutant `name`.
pub(crate) fn fate(name: &str, model: &str, limit: Duration) -> Fate {
    static CHILDREN: AtomicUsize = AtomicUsize::new(0);

    let child = CHILDREN.fetch_add(1, Relaxed); // unique, which is all that matters
    let log = format!("loom-{}-{child}.log", process::id());
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(log);
    let status = run_child(name, model, &log, limit);
    let output = fs::read(&log).expect("the child's output can be read");
    fs::remove_file(&log).expect("the log can be removed");

    let output = String::from_utf8_lossy(&output);
    let ran = output.lines().any(|line| line == "running 1 test");
    match status {
        Some(_) if !ran => Fate::NoModel,
        Some(status) if status.success() => Fate::Survived,
        Some(status) => Fate::Killed(reason(&output).unwrap_or_else(|| status.to_string())),
        None => Fate::Hung,
    }
}

/// How the child ended, or `None` if it had to be stopped.
fn run_child(name: &str, model: &str, log: &Path, limit: Duration) -> Option<ExitStatus> {
    let stdout = File::create(log).expect("the log can be made");
    let stderr = stdout.try_clone().expect("the log can be shared");
    let mut child = Command::new(env::current_exe().expect("this process has a file"))
        .args(["--exact", model, "--nocapture", "--test-threads=1"])
        .env(SWITCH, name)
        .env("RUST_BACKTRACE", "0")
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .expect("the test binary can be started");

    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("the child can be waited for") {
            return Some(status);
        }
        if start.elapsed() >= limit {
            child.kill().expect("the child can be stopped");
            child.wait().expect("a stopped child ends");
            return None;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// What the first panic in `output` said.
fn reason(output: &str) -> Option<String> {
    let mut lines = output.lines();
    lines.find(|line| line.contains("panicked at"))?;
    lines.next().map(str::to_owned)
}
