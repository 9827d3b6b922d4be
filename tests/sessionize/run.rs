//! Runs the example as a user would.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;
use std::{env, fs, thread};

use serde_json::Value;

pub(crate) const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/access.log");

/// The example, to be given arguments. Its width does not depend on who runs the tests.
pub(crate) fn example() -> Command {
    static EXECUTABLE: OnceLock<PathBuf> = OnceLock::new();
    let mut command = Command::new(EXECUTABLE.get_or_init(executable));
    command.env_remove("COLUMNS");
    command
}

/// Runs the example on `stdin` to its end.
pub(crate) fn sessionize(arguments: &[&str], stdin: &[u8]) -> Output {
    run(example().args(arguments), stdin)
}

pub(crate) fn run(command: &mut Command, stdin: &[u8]) -> Output {
    let piped = || Stdio::piped();
    let child = command
        .stdin(piped())
        .stdout(piped())
        .stderr(piped())
        .spawn();
    let mut child = child.expect("the example starts");
    let mut pipe = child.stdin.take().expect("stdin is piped");
    thread::scope(|scope| {
        // It may stop reading early: then this fails, and rightly.
        scope.spawn(move || pipe.write_all(stdin));
        child.wait_with_output().expect("the example ends")
    })
}

/// The summary of a run that succeeds.
pub(crate) fn summary(arguments: &[&str], stdin: &[u8]) -> Value {
    let output = sessionize(&[&["--json"], arguments].concat(), stdin);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// The rows of a run that succeeds, without the header.
pub(crate) fn rows(arguments: &[&str], stdin: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let output = sessionize(&[&["--csv"], arguments].concat(), stdin);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    let mut rows = read_csv(&output.stdout);
    let header = rows.remove(0).join(&b","[..]);
    let expected = "address,user_agent,start,end,hits,seconds,reason";
    assert_eq!(String::from_utf8_lossy(&header), expected, "{arguments:?}");
    rows
}

/// Reads CSV as RFC 4180 has it, but for line ends, which are single line feeds.
fn read_csv(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut rows = vec![vec![Vec::new()]];
    let mut quoted = false;
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let row = rows.last_mut().expect("there is always a row");
        let field = row.last_mut().expect("there is always a field");
        match byte {
            b'"' if quoted && bytes.next_if_eq(&b'"').is_some() => field.push(b'"'),
            b'"' => quoted = !quoted,
            b',' if !quoted => row.push(Vec::new()),
            b'\n' if !quoted => rows.push(vec![Vec::new()]),
            _ => field.push(byte),
        }
    }
    assert_eq!(
        rows.pop(),
        Some(vec![Vec::new()]),
        "the last row ends with a line feed"
    );
    rows
}

/// A line of the Combined Log Format, on the seventh of March.
pub(crate) fn line(address: &str, time: &str, agent: &str) -> String {
    format!("{address} - - [07/Mar/2004:{time} +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"{agent}\"\n")
}

/// A file of this test's own.
pub(crate) fn file(name: &str, content: &[u8]) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sessionize-{name}"));
    fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// The example as built for this profile. `cargo test` builds examples, but
/// `cargo test --test sessionize` does not.
fn executable() -> PathBuf {
    let test = env::current_exe().expect("a test knows its executable");
    let profile = test
        .ancestors()
        .nth(2)
        .expect("a test lies in <target>/<profile>/deps");
    let name = format!("sessionize{}", env::consts::EXE_SUFFIX);
    let executable = profile.join("examples").join(name);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = newest(&root.join("src")).max(newest(&root.join("examples/sessionize")));
    if !executable.exists() || newest(&executable) < sources {
        build(profile);
    }
    assert!(
        executable.exists(),
        "no example at {}",
        executable.display()
    );
    executable
}

/// When a file, or the newest file in a directory, was modified.
fn newest(path: &Path) -> SystemTime {
    let modified = || path.metadata()?.modified();
    if !path.is_dir() {
        return modified().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let paths = entries.map(|entry| entry.expect("a readable directory").path());
    paths
        .map(|path| newest(&path))
        .max()
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

fn build(directory: &Path) {
    let profile = match directory.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let target = directory
        .parent()
        .expect("a profile's directory lies in the target directory");
    let status = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--example",
            "sessionize",
            "--profile",
            profile,
        ])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    let status = status.expect("cargo starts");
    assert!(
        status.success(),
        "cargo build --example sessionize --profile {profile}: {status}"
    );
}
