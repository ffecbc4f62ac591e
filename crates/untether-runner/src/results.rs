//! The lines that a worker writes while it runs tests; `Results.java` describes them.

use untether_model::Status;

/// A test, or a class outside of its tests, that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestEnd {
    /// `pkg.Class#method`, with `[index]` where a method runs more than once, or `pkg.Class`.
    pub id: String,
    pub status: Status,
    pub nanos: u64,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultEvent {
    /// A class run begins, of so many lines of the plan.
    ClassStarted {
        lines: usize,
    },
    ClassEnded(String),
    Started(String),
    Ended(TestEnd),
    /// A field that the tests since the last save have changed.
    Field(String),
    /// All such fields have been told.
    FieldsEnded,
    /// The JVM cannot be put back to how it was, for this reason, and runs no more.
    NotRestorable(String),
    /// The plan is over; the JVM waits for another.
    PlanEnded,
    Done,
}

/// Takes the file apart as it grows.
#[derive(Debug, Default)]
pub struct ResultReader {
    pending: Vec<u8>,
}

impl ResultReader {
    /// The events of all lines that are whole by now. A line that makes no sense says nothing.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<ResultEvent> {
        self.pending.extend_from_slice(bytes);
        let Some(end) = self.pending.iter().rposition(|&byte| byte == b'\n') else { return Vec::new() };
        let rest = self.pending.split_off(end + 1);
        let whole = std::mem::replace(&mut self.pending, rest);
        String::from_utf8_lossy(&whole).lines().filter_map(event).collect()
    }
}

fn event(line: &str) -> Option<ResultEvent> {
    let fields: Vec<String> = line.split('\t').map(unescaped).collect();
    match fields.as_slice() {
        [tag, _, lines] if tag == "C" => Some(ResultEvent::ClassStarted { lines: lines.parse().ok()? }),
        [tag, class] if tag == "E" => Some(ResultEvent::ClassEnded(class.clone())),
        [tag, id] if tag == "S" => Some(ResultEvent::Started(id.clone())),
        [tag, id, status, nanos, message] if tag == "T" => {
            let status = match status.as_str() {
                "passed" => Status::Passed,
                "failed" => Status::Failed,
                "aborted" => Status::Aborted,
                "skipped" => Status::Skipped,
                "missing" => Status::Missing,
                _ => return None,
            };
            let nanos = nanos.parse().ok()?;
            Some(ResultEvent::Ended(TestEnd { id: id.clone(), status, nanos, message: message.clone() }))
        }
        [tag, field] if tag == "F" => Some(ResultEvent::Field(field.clone())),
        [tag] if tag == "G" => Some(ResultEvent::FieldsEnded),
        [tag, reason] if tag == "X" => Some(ResultEvent::NotRestorable(reason.clone())),
        [tag] if tag == "P" => Some(ResultEvent::PlanEnded),
        [tag] if tag == "D" => Some(ResultEvent::Done),
        _ => None,
    }
}

fn unescaped(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    let mut characters = field.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => match characters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_however_they_are_cut() {
        let text = "C\ta.B\t1\nS\ta.B#c\nT\ta.B#c\tfailed\t12\tone\\ntwo\\tthree\\\\\nE\ta.B\nD\n";
        let whole = ResultReader::default().feed(text.as_bytes());
        let mut reader = ResultReader::default();
        let cut: Vec<ResultEvent> = text.as_bytes().chunks(3).flat_map(|chunk| reader.feed(chunk)).collect();
        assert_eq!(whole, cut);
        assert_eq!(whole.len(), 5);
        let ResultEvent::Ended(end) = &whole[2] else { panic!("{whole:?}") };
        assert_eq!((end.status, end.nanos, end.message.as_str()), (Status::Failed, 12, "one\ntwo\tthree\\"));
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        let text = "T\ta.B#c\tfailed\tmany\t\nY\t1\n\nT\ta.B#c\tbroken\t1\t\nS\ta.B#d\nD";
        assert_eq!(ResultReader::default().feed(text.as_bytes()), [ResultEvent::Started("a.B#d".into())]);
    }
}
