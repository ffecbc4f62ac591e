//! Asks whoever waits for this JVM which test classes it may leave out.

use std::fs::File;
use std::io::{self, BufReader, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use untether_wire::{QUESTIONS, Question};

/// Whoever waits has class files to look at; a JVM that is not answered runs everything.
const PATIENCE: Duration = Duration::from_secs(60);

/// The answer, if there is one.
pub(crate) fn ask(folder: &Path, question: &Question) -> Option<Vec<String>> {
    if !folder.join(QUESTIONS).exists() {
        return None;
    }
    exchange(folder, question).ok()
}

fn exchange(folder: &Path, question: &Question) -> io::Result<Vec<String>> {
    // The names of sockets are short; that of the folder need not be.
    let opened = File::open(folder)?;
    let mut stream = UnixStream::connect(format!("/proc/self/fd/{}/{QUESTIONS}", opened.as_raw_fd()))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(question.encode().as_bytes())?;
    Question::read_answer(BufReader::new(stream))
}
