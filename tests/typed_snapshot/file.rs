//! A file that is replaced as a whole.
//!
//! Properties: whenever its writer is killed, the file holds all of a snapshot, and none that is older than the last that was
//! acknowledged; what is left behind does no harm; of writers at the same time none sees a mixture.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio, id};
use std::time::{Duration, Instant};
use std::{env, thread};

use tickwheel::snapshot::SnapshotFile;

/// Set in the process that is to be killed.
const CHILD: &str = "TICKWHEEL_SNAPSHOT_CHILD";
const THIS_TEST: &str = "file::a_writer_that_is_killed_leaves_a_whole_snapshot";
const ROUNDS: usize = 25;

/// A directory that goes with this.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("tickwheel-{name}-{}", id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> SnapshotFile {
        SnapshotFile::new(self.0.join("state"))
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Bytes that can be told from half of them, and from a mixture: the number, again and again, as often as it says.
fn numbered(number: u64) -> Vec<u8> {
    let times = 20_000 + usize::try_from(number % 1000).unwrap();
    number.to_le_bytes().repeat(times)
}

fn number(bytes: &[u8]) -> u64 {
    let number = u64::from_le_bytes(*bytes.first_chunk().unwrap());
    assert!(bytes == numbered(number), "not all of {number}");
    number
}

/// Writes one snapshot after the other, and says so of each.
fn write_for_ever(file: &SnapshotFile) -> ! {
    let last = file.read().unwrap().map_or(0, |bytes| number(&bytes));
    let mut stdout = std::io::stdout();
    for next in last + 1.. {
        file.write(&numbered(next)).unwrap();
        writeln!(stdout, "{next}").unwrap();
        stdout.flush().unwrap();
    }
    unreachable!()
}

#[test]
fn a_writer_that_is_killed_leaves_a_whole_snapshot() {
    if let Some(path) = env::var_os(CHILD) {
        write_for_ever(&SnapshotFile::new(path));
    }
    let dir = Dir::new("killed");
    let file = dir.file();
    let mut found = 0;
    for round in 0..ROUNDS {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", THIS_TEST, "--nocapture"])
            .env(CHILD, file.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = lines.filter_map(|line| line.ok()?.parse::<u64>().ok());
        let first = acknowledged
            .next()
            .expect("the writer has stopped by itself");
        assert!(first > found);
        // In the middle of some write, or between two.
        let wait = Duration::from_micros(RandomState::new().build_hasher().finish() % 5_000);
        let since = Instant::now();
        while since.elapsed() < wait {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let last = acknowledged.last().unwrap_or(first);
        found = number(&file.read().unwrap().unwrap());
        assert!(
            (last..=last + 1).contains(&found),
            "round {round}: {found} was read, {last} was acknowledged"
        );
    }
    assert!(found >= ROUNDS as u64);
}

#[test]
fn a_file_that_is_missing_is_nothing_and_a_directory_that_is_missing_an_error() {
    let dir = Dir::new("missing");
    assert_eq!(dir.file().read().unwrap(), None);
    let nowhere = SnapshotFile::new(dir.0.join("no").join("state"));
    assert_eq!(nowhere.read().unwrap(), None);
    assert!(nowhere.write(b"x").is_err());
    assert!(SnapshotFile::new(dir.0.join("..")).write(b"x").is_err());
    // A directory is no file.
    fs::create_dir(dir.file().path()).unwrap();
    assert!(dir.file().read().is_err());
    assert!(dir.file().write(b"x").is_err());
    let left: Vec<_> = fs::read_dir(&dir.0).unwrap().collect();
    assert_eq!(left.len(), 1, "a temporary file was left");
}

#[test]
fn what_was_left_behind_does_no_harm() {
    let dir = Dir::new("left");
    for name in [".state.tmp", ".state.0000000000000000.tmp", "state.tmp"] {
        fs::write(dir.0.join(name), b"half of").unwrap();
    }
    let file = dir.file();
    assert_eq!(file.read().unwrap(), None);
    for bytes in [&b"longer than that"[..], b"short", b""] {
        file.write(bytes).unwrap();
        assert_eq!(file.read().unwrap().as_deref(), Some(bytes));
    }
    assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 4);
}

#[test]
fn of_writers_at_the_same_time_none_leaves_a_mixture() {
    let dir = Dir::new("writers");
    let file = dir.file();
    file.write(&numbered(0)).unwrap();
    thread::scope(|scope| {
        for writer in 1..=3 {
            let file = &file;
            scope.spawn(move || {
                for _ in 0..10 {
                    file.write(&numbered(writer)).unwrap();
                }
            });
        }
        for _ in 0..100 {
            assert!(number(&file.read().unwrap().unwrap()) <= 3);
        }
    });
    assert!(number(&file.read().unwrap().unwrap()) >= 1);
    assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn it_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Dir::new("owner");
    let file = dir.file();
    fs::write(file.path(), b"by somebody else").unwrap();
    file.write(b"digests").unwrap();
    let mode = fs::metadata(file.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
