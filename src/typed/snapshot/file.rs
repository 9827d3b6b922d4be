//! A file that is replaced as a whole.

use alloc::format;
use alloc::vec::Vec;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::typed::secret::Secret;

/// A file that holds the bytes of the last snapshot, and never half of one.
///
/// ```
/// use tickwheel::snapshot::SnapshotFile;
///
/// # let dir = std::env::temp_dir().join(format!("tickwheel-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir)?;
/// let file = SnapshotFile::new(dir.join("sessions.json"));
/// assert_eq!(file.read()?, None); // the first start
/// file.write(b"a snapshot")?;
/// assert_eq!(file.read()?.as_deref(), Some(&b"a snapshot"[..]));
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SnapshotFile {
    path: PathBuf,
}

/// A temporary file, removed unless it was renamed.
struct Temporary {
    path: PathBuf,
    renamed: bool,
}

// === impl SnapshotFile ===

impl SnapshotFile {
    /// The file at that path, which need not exist; its directory has to.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces what the file holds. When this has returned `Ok` the bytes are durable; before that, whenever the process or the
    /// machine stops, the file holds all of the old bytes or all of the new ones. May block for as long as a disk
    /// takes.
    ///
    /// The bytes go to a temporary file in the same directory, under a name drawn at random, which is synchronised and then
    /// renamed; where the platform can, the directory is synchronised too. A process that is killed in between leaves the temporary
    /// file behind, which nobody reads and anybody may delete. On Unix the file can be read and written by its owner alone.
    ///
    /// Of several who write at the same time one is the last. None sees, or leaves, a mixture.
    ///
    /// # Errors
    ///
    /// Those of the file system. The file holds the old bytes then; or the new ones, if it was the directory that could not be
    /// synchronised.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut temporary = Temporary::beside(&self.path)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let mut file = options.open(&temporary.path)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&temporary.path, &self.path)?;
        temporary.renamed = true;
        self.sync_directory()
    }

    /// What the file holds; `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn read(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(&self.path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    #[cfg(unix)]
    fn sync_directory(&self) -> io::Result<()> {
        let parent = self.path.parent().filter(|path| *path != Path::new(""));
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }

    /// Elsewhere a directory cannot be opened for that.
    #[cfg(not(unix))]
    fn sync_directory(&self) -> io::Result<()> {
        File::open(&self.path).map(|_| ())
    }
}

// === impl Temporary ===

impl Temporary {
    /// A name in the directory of `path` that no other writer has.
    fn beside(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
        let random = Secret::<8>::random().map_err(io::Error::other)?;
        let random = u64::from_le_bytes(*random.bytes());
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{random:016x}.tmp"));
        Ok(Self {
            path: path.with_file_name(temporary),
            renamed: false,
        })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::remove_file(&self.path);
        }
    }
}
