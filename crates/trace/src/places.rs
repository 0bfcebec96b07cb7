//! The places at which programs that run can be reached: a Unix socket each, in a folder of their user's.
//!
//! A program is reached by a socket and not by a signal, because the signal's handler would be installed in other
//! people's programs. The folder has mode 0700: its user could attach a debugger to the program as well.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Environment variable that is `0` if the program must not be watched.
pub const LIVE: &str = "ROSPIN_LIVE";

/// Returns the number of the user of this process.
fn user() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}

/// Returns the folder in which a program of this user opens its socket: `$XDG_RUNTIME_DIR/rospin`, or, if that
/// variable names no folder, `/tmp/rospin-` and the number of the user.
///
/// # Errors
/// If `/proc` cannot be read.
pub fn own_folder() -> io::Result<PathBuf> {
    let user = user()?;
    // `sudo` and `su` may leave the variable of another user.
    let is_own =
        |path: &PathBuf| path.is_absolute() && fs::metadata(path).is_ok_and(|of| of.is_dir() && of.uid() == user);
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(is_own);
    Ok(runtime.map_or_else(|| PathBuf::from(format!("/tmp/rospin-{user}")), |runtime| runtime.join("rospin")))
}

/// Creates the folder for this user alone, or checks that it is so.
///
/// # Errors
/// If it cannot be created, or belongs to somebody else, who could listen in place of a program.
pub fn make(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check(folder, Owner::Own),
        made => made,
    }
}

/// The users to whom a folder may belong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Only the user of this process, also if that is root.
    Own,
    /// The user of this process, and anybody if that is root.
    Watched,
}

/// Checks that the folder belongs to such a user, and that nobody else can write there.
fn check(folder: &Path, owner: Owner) -> io::Result<()> {
    let data = fs::symlink_metadata(folder)?;
    let user = user()?;
    let refused =
        |text: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {text}", folder.display())));
    if !data.is_dir() {
        return refused("is no folder");
    }
    if data.uid() != user && (user != 0 || owner == Owner::Own) {
        return refused("belongs to another user");
    }
    if data.permissions().mode() & 0o022 != 0 {
        return refused("can be written by others; give it mode 0700");
    }
    Ok(())
}

/// Returns the sockets of programs that this user may watch, with the numbers of their processes: the user's own ones,
/// and for root those of everybody. Those of programs that ended are removed once a watcher [finds](connect) nobody
/// there.
#[must_use]
pub fn programs() -> Vec<(u32, PathBuf)> {
    let mut folders: Vec<PathBuf> = own_folder().into_iter().collect();
    if let Ok(user) = user() {
        folders.push(PathBuf::from(format!("/run/user/{user}/rospin")));
        folders.push(PathBuf::from(format!("/tmp/rospin-{user}")));
        if user == 0 {
            let children =
                |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
            folders.extend(children("/run/user").map(|path| path.join("rospin")));
            let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let is_ours = |path: &PathBuf| {
                let name =
                    path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix("rospin-"));
                name.is_some_and(is_number)
            };
            folders.extend(children("/tmp").filter(is_ours));
        }
    }
    folders.sort_unstable();
    folders.dedup();
    folders.retain(|folder| check(folder, Owner::Watched).is_ok());
    let mut programs: Vec<_> = folders.iter().flat_map(|folder| sockets(folder)).collect();
    programs.sort_unstable();
    programs
}

/// Returns the sockets in a folder, with the numbers of their processes.
fn sockets(folder: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| {
        let path = entry.path();
        let is_socket = entry.file_type().ok()?.is_socket() && path.extension()? == "sock";
        let process = path.file_stem()?.to_str()?.parse().ok()?;
        if is_socket { Some((process, path)) } else { None }
    };
    entries.filter_map(of).collect()
}

/// Removes the sockets of processes that are gone. Sockets of processes that this one cannot see, as in another
/// container, stay if somebody listens there.
pub fn sweep(folder: &Path) {
    let is_gone = |process: u32| !Path::new(&format!("/proc/{process}")).exists();
    for (_, socket) in sockets(folder).into_iter().filter(|(process, _)| is_gone(*process)) {
        drop(connect(&socket));
    }
}

/// Connects to a program. Removes its socket if nobody listens there any more.
///
/// # Errors
/// If nobody listens there, or this user may not connect.
pub fn connect(socket: &Path) -> io::Result<UnixStream> {
    let connected = UnixStream::connect(socket);
    if connected.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        // Nobody can listen at it again: a program removes what is there before it opens its own.
        let _ = fs::remove_file(socket);
    }
    connected
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    fn temporary(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("rospin-places-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn folders_of_others_are_not_used() {
        let folder = temporary("folder");
        make(&folder).unwrap();
        make(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let link = temporary("link");
        let _ = fs::remove_file(&link);
        symlink(&folder, &link).unwrap();
        assert!(make(&link).unwrap_err().to_string().contains("is no folder"));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(make(&folder).unwrap_err().to_string().contains("give it mode 0700"));
        assert!(make(&folder.join("a/b")).is_err());
        fs::remove_file(link).unwrap();
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn sockets_without_a_program_are_removed() {
        let folder = temporary("sockets");
        make(&folder).unwrap();
        let alive = folder.join("12.sock");
        let dead = folder.join("13.sock");
        let listener = UnixListener::bind(&alive).unwrap();
        drop(UnixListener::bind(&dead).unwrap());
        fs::write(folder.join("14.sock"), "a file").unwrap();
        assert_eq!(sockets(&folder).len(), 2);
        assert!(connect(&alive).is_ok() && connect(&dead).is_err());
        assert_eq!(sockets(&folder), [(12, alive)]);
        let gone = folder.join("4294967295.sock");
        drop(UnixListener::bind(&gone).unwrap());
        drop(listener);
        sweep(&folder);
        assert!(!gone.exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
