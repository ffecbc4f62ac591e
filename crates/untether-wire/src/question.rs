//! What a JVM asks before it runs tests, and the answer: lines of text, ended by an empty one, so that half a message is
//! known for what it is.

use std::io::{self, BufRead};

/// Which of these test classes are to be left out?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The name of the asking JVM's trace.
    pub trace: String,
    pub classes: Vec<String>,
}

impl Question {
    pub fn encode(&self) -> String {
        encode([self.trace.as_str()].into_iter().chain(self.classes.iter().map(String::as_str)))
    }

    pub fn read(input: impl BufRead) -> io::Result<Self> {
        let mut lines = read_lines(input)?.into_iter();
        let trace = lines.next().ok_or(io::ErrorKind::InvalidData)?;
        Ok(Question { trace, classes: lines.collect() })
    }

    /// The classes to leave out, as they are sent back.
    pub fn encode_answer(classes: &[String]) -> String {
        encode(classes.iter().map(String::as_str))
    }

    pub fn read_answer(input: impl BufRead) -> io::Result<Vec<String>> {
        read_lines(input)
    }
}

fn encode<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    // A name with a line break in it is no class's.
    lines.filter(|line| !line.is_empty() && !line.contains('\n')).flat_map(|line| [line, "\n"]).chain(["\n"]).collect()
}

fn read_lines(input: impl BufRead) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for line in input.lines() {
        let line = line?;
        if line.is_empty() {
            return Ok(found);
        }
        found.push(line);
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_read_and_half_of_it_is_not() {
        let question = Question { trace: "1-2.trace".to_owned(), classes: vec!["a.B".to_owned(), "c.D$E".to_owned()] };
        let text = question.encode();
        assert_eq!(Question::read(text.as_bytes()).unwrap(), question);
        for end in 0..text.len() {
            assert!(Question::read(&text.as_bytes()[..end]).is_err(), "{end}");
        }
        assert_eq!(Question::read_answer(Question::encode_answer(&[]).as_bytes()).unwrap(), Vec::<String>::new());
        assert!(Question::read("\n".as_bytes()).is_err());
    }
}
