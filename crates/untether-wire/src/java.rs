//! The command line of `java`, as far as both the agent, which sees it, and the runner, which writes it, must know it.

/// Options whose value is the next argument.
const WITH_VALUE: &[&str] = &[
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--add-exports",
    "--add-opens",
    "--add-reads",
    "--patch-module",
    "--limit-modules",
    "--enable-native-access",
    "-d",
    "--describe-module",
];

/// Whether the argument after this option belongs to it.
pub fn takes_value(option: &str) -> bool {
    WITH_VALUE.contains(&option)
}

/// Whether this argument is, or comes before, what is to be run; an argument file is an option.
pub fn ends_options(argument: &str) -> bool {
    matches!(argument, "-jar" | "-m" | "--module") || !argument.starts_with(['-', '@'])
}

/// The folders and jars of the module path, and those that modules are patched with.
pub fn module_entries(arguments: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if ends_options(argument) {
            break;
        }
        let (option, value) = match argument.split_once('=').filter(|_| argument.starts_with("--")) {
            Some((option, value)) => (option, value),
            None if takes_value(argument) => (argument.as_str(), rest.next().map_or("", String::as_str)),
            None => continue,
        };
        let entries = match option {
            "-p" | "--module-path" => value,
            "--patch-module" => value.split_once('=').map_or("", |(_, folders)| folders),
            _ => continue,
        };
        found.extend(entries.split(':').filter(|entry| !entry.is_empty()).map(str::to_owned));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_in_either_form_up_to_the_main_class() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let line = "-ea -p a.jar:b --patch-module shop=test:more --module-path=c --patch-module=x=y -cp z Main -p d";
        assert_eq!(module_entries(&words(line)), words("a.jar b test more c y"));
    }
}
