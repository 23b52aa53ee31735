//! Files that appear under their names only when they are whole: killed in between, or with the disk full, what was there before is
//! still there.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that is being written.
#[derive(Debug)]
pub struct NewFile(Place);

#[derive(Debug)]
enum Place {
    /// Beside its final place, which may be full or gone at the end, but is on the same disk.
    Aside(NamedTempFile, PathBuf),
    /// A device or a pipe: nothing to put in its place.
    Direct(File, PathBuf),
}

impl NewFile {
    /// Begins the file `path`, and makes the folders that it is to be in; refused at once where it could not be put there.
    pub fn create(path: &Path) -> io::Result<Self> {
        let path = behind_links(path)?;
        let permissions = match fs::metadata(&path) {
            Ok(found) => {
                // Says no where the file itself may not be written.
                let direct = OpenOptions::new().write(true).open(&path)?;
                if !found.is_file() {
                    return Ok(Self(Place::Direct(direct, path)));
                }
                Some(found.permissions())
            }
            Err(_) => ordinary(),
        };
        let mut prefix = OsString::from(".");
        prefix.push(path.file_name().unwrap_or_default());
        prefix.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".part");
        if let Some(permissions) = permissions {
            builder.permissions(permissions);
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // What is there and no folder is refused below, in plainer words.
        if !folder.exists() {
            fs::create_dir_all(folder)?;
        }
        let file = builder.tempfile_in(folder).map_err(without_path)?;
        Ok(Self(Place::Aside(file, path)))
    }

    /// Where it is until then, for a writer that opens its file itself.
    pub fn path(&self) -> &Path {
        match &self.0 {
            Place::Aside(file, _) => file.path(),
            Place::Direct(_, path) => path,
        }
    }

    /// Puts the file under its name. Without, nothing is left of it.
    pub fn keep(mut self) -> io::Result<()> {
        self.flush()?;
        match self.0 {
            Place::Aside(file, path) => {
                // A writer that opens its file itself may have made another.
                fs::set_permissions(file.path(), file.as_file().metadata()?.permissions())?;
                file.persist(path).map(drop).map_err(|e| e.error)
            }
            Place::Direct(..) => Ok(()),
        }
    }
}

/// Where the path leads through links, which stay; also through one to a file that is not there yet.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    /// As many as Linux follows.
    const LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        if let Ok(found) = fs::canonicalize(&path) {
            return Ok(found);
        }
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    // In a circle, which this says.
    fs::canonicalize(&path)
}

/// `tempfile` adds the path of its file, which nobody knows.
fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((text, _)) => io::Error::new(error.kind(), text.to_string()),
        None => error,
    }
}

/// What `File::create` asks for; the umask applies.
#[cfg(unix)]
fn ordinary() -> Option<Permissions> {
    Some(std::os::unix::fs::PermissionsExt::from_mode(0o666))
}

#[cfg(not(unix))]
fn ordinary() -> Option<Permissions> {
    None
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Place::Aside(file, _) => file.write(bytes),
            Place::Direct(file, _) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Place::Aside(file, _) => file.flush(),
            Place::Direct(file, _) => file.flush(),
        }
    }
}

/// Writes a whole file, and makes the folders that it is to be in.
pub fn save(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(contents.as_ref())?;
    file.keep()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_kept_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        save(&path, "old").unwrap();
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        save(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn what_cannot_be_written_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        assert!(NewFile::create(folder.path()).is_err());
        let file = folder.path().join("file");
        save(&file, "").unwrap();
        let error = NewFile::create(&file.join("a")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        assert!(!error.to_string().contains(".part"), "{error}");
    }

    #[test]
    fn folders_are_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("not/there/a");
        save(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        save(&file, "old").unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&file), mode(&plain), "as any other new file");
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        save(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file) & 0o777), ("new", 0o640));
    }

    #[cfg(unix)]
    #[test]
    fn links_to_no_file_stay() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("second", at("first")).unwrap();
        symlink(at("not/there/file"), at("second")).unwrap();
        save(&at("first"), "new").unwrap();
        assert!(["first", "second"].iter().all(|link| fs::symlink_metadata(at(link)).unwrap().is_symlink()));
        assert_eq!(fs::read_to_string(at("not/there/file")).unwrap(), "new");
        symlink("circle", at("circle")).unwrap();
        assert!(save(&at("circle"), "new").is_err());
        assert!(fs::symlink_metadata(at("circle")).unwrap().is_symlink());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_directly() {
        save(Path::new("/dev/null"), "x").unwrap();
        assert_eq!(save(Path::new("/dev/full"), "x").unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
