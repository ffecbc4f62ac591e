//! Where watched JVMs ask which test classes they may leave out.

use std::fs::File;
use std::io::{self, BufReader, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use untether_wire::{QUESTIONS, Question};

/// How long half a question is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Questions as they come.
pub(crate) struct Questions {
    asked: Receiver<Asked>,
}

/// A JVM that waits.
pub(crate) struct Asked {
    question: Question,
    stream: UnixStream,
}

impl Questions {
    /// Listens in the folder, which is private.
    pub(crate) fn listen(folder: &Path) -> io::Result<Self> {
        // The names of sockets are short; that of the folder need not be.
        let opened = File::open(folder)?;
        let listener = UnixListener::bind(format!("/proc/self/fd/{}/{QUESTIONS}", opened.as_raw_fd()))?;
        let (sender, asked) = channel();
        // It ends with the process, or with the first question that nobody waits for.
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // One that says nothing in time runs all its tests.
                let Ok(asked) = Asked::read(stream) else { continue };
                if sender.send(asked).is_err() {
                    return;
                }
            }
        });
        Ok(Questions { asked })
    }

    /// What was asked until now; waits this long for the first.
    pub(crate) fn wait(&self, patience: Duration) -> Vec<Asked> {
        let first = self.asked.recv_timeout(patience).ok();
        first.into_iter().chain(self.asked.try_iter()).collect()
    }
}

impl Asked {
    fn read(stream: UnixStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let question = Question::read(BufReader::new(stream.try_clone()?))?;
        Ok(Asked { question, stream })
    }

    pub(crate) fn reply(mut self, answer: impl FnOnce(&Question) -> Vec<String>) {
        let text = Question::encode_answer(&answer(&self.question));
        // A JVM that is gone needs no answer.
        let _ = self.stream.write_all(text.as_bytes());
    }
}
