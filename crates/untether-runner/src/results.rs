//! What a worker tells while it runs tests.

use untether_model::Status;
use untether_wire::{EndStatus, Reader, WireError, WorkerFrame};

/// Takes the file apart as it grows.
#[derive(Debug, Default)]
pub struct ResultReader {
    reader: Reader<WorkerFrame>,
}

impl ResultReader {
    /// All frames that are whole by now.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<WorkerFrame>, WireError> {
        self.reader.feed(bytes);
        let mut frames = Vec::new();
        while let Some(frame) = self.reader.next_frame()? {
            frames.push(frame);
        }
        Ok(frames)
    }
}

pub fn status_of(status: EndStatus) -> Status {
    match status {
        EndStatus::Passed => Status::Passed,
        EndStatus::Failed => Status::Failed,
        EndStatus::Aborted => Status::Aborted,
        EndStatus::Skipped => Status::Skipped,
        EndStatus::Missing => Status::Missing,
    }
}
