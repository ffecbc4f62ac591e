//! Argument files of the `java` launcher (`@file`), which build tools write and remove: taken in while they are there.
//!
//! Follows the launcher's own rules (JDK tools reference, "java Command-Line Argument Files"): words are separated by
//! white space, quotes keep it, a backslash within quotes escapes and, at its end, continues a line; `#` starts a comment.
//! Only options come from files: the first argument that is none is the main class, and what follows it is left alone.

use std::fs;
use std::path::Path;

use untether_wire::{ends_options, takes_value};

/// The arguments as the JVM got them. A file that cannot be read stays what it is.
pub(crate) fn expanded(arguments: Vec<String>, directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_value = false;
    let mut is_over = false;
    for argument in arguments {
        if is_over {
            found.push(argument);
            continue;
        }
        if argument == "--disable-@files" {
            is_over = true;
        }
        let words = match argument.strip_prefix('@') {
            // Two of them stand for one, and no file.
            Some(escaped) if escaped.starts_with('@') => vec![escaped.to_owned()],
            Some(file) => match fs::read(directory.join(file)) {
                Ok(bytes) => words(&String::from_utf8_lossy(&bytes), true),
                Err(_) => vec![argument],
            },
            None => vec![argument],
        };
        for word in words {
            if !is_value && ends_options(&word) {
                is_over = true;
            }
            is_value = !is_value && takes_value(&word);
            found.push(word);
        }
    }
    found
}

/// The words of an argument file or, without escapes, of a variable.
fn words(text: &str, has_escapes: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', Some(_)) if has_escapes => match characters.next() {
                Some('\n' | '\r') => skip_indent(&mut characters),
                Some(escaped) => word.get_or_insert_default().push(unescaped(escaped)),
                None => {}
            },
            // What is not closed ends with its line.
            ('\n' | '\r', Some(_)) => {
                quote = None;
                found.extend(word.take());
            }
            (_, Some(open)) if character == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            ('#', None) => while characters.next_if(|&next| next != '\n' && next != '\r').is_some() {},
            (_, None) if character.is_ascii_whitespace() => found.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    found.extend(word);
    found
}

fn skip_indent(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while characters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
}

fn unescaped(character: char) -> char {
    match character {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'f' => '\u{c}',
        other => other,
    }
}

/// What a variable with options (`JDK_JAVA_OPTIONS`) amounts to, where argument files are among them.
pub(crate) fn of_variable(value: &str, directory: &Path) -> Option<Vec<String>> {
    let words = words(value, false);
    words.iter().any(|word| word.starts_with('@')).then(|| expanded(words, directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_launcher() {
        let text = "# options\n-Xmx1g   -ea\t--module-path \"/a b/c\":d # and so on\n-Dx='it is\\tso'\n-Dz=c\\d \\\n\"one \\\n   word\"\n''";
        let expected =
            ["-Xmx1g", "-ea", "--module-path", "/a b/c:d", "-Dx=it is\tso", "-Dz=c\\d", "\\", "one word", ""];
        assert_eq!(words(text, true), expected);
        assert_eq!(words("-a\r\n'-b\\\r\n -c' 'open\n-d", true), ["-a", "-b-c", "open", "-d"]);
    }

    #[test]
    fn files_are_taken_in_up_to_the_main_class() {
        let folder = std::env::temp_dir().join(format!("untether-arguments-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("options"), "-cp a:b --add-opens x/y=z\n").unwrap();
        fs::write(folder.join("all"), "-cp a:b Main @options").unwrap();
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let check = |given: &str, expected: &str| assert_eq!(expanded(words(given), &folder), words(expected));
        check("-Xmx1g @options Main @options", "-Xmx1g -cp a:b --add-opens x/y=z Main @options");
        check("@all", "-cp a:b Main @options");
        check("@missing -ea @@x", "@missing -ea @x");
        check("--disable-@files @options Main", "--disable-@files @options Main");
        check("-cp @options Main", "-cp -cp a:b --add-opens x/y=z Main");
        assert_eq!(of_variable("-ea -Dx='a\\b c' @options", &folder).unwrap()[..2], ["-ea", "-Dx=a\\b c"]);
        assert_eq!(of_variable("-ea", &folder), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
