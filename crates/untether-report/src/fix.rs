//! What could be done about a finding.

use untether_model::{Certainty, Channel, ENVIRONMENT, Finding, PROPERTIES, ResourceKind, Role, StackLine};

use crate::findings::called;

/// Where something happens, after words that say what; nothing where that is not known.
fn place(words: &str, line: &Option<StackLine>) -> Option<String> {
    line.as_ref().map(|line| format!("{words} {line}"))
}

/// What could be done about it.
pub(crate) fn fix(finding: &Finding) -> String {
    fix_of(finding, true)
}

/// The same for one test, or for several that are alike but for where they read.
pub(crate) fn fix_of(finding: &Finding, is_for_one: bool) -> String {
    let Some(channel) = finding.resources.first() else {
        let what = if finding.cause.certainty == Certainty::Outside {
            " (files, ports, processes; or fields that a JUnit 3 constructor reads)"
        } else {
            ""
        };
        return format!(
            "make {} clean up what it leaves behind{what}, or give {} its own",
            finding.others().last().map_or("the first test", String::as_str),
            finding.test
        );
    };
    if finding.role == Role::Victim
        && let Some(known) = known_fix(channel)
    {
        return known;
    }
    match finding.role {
        Role::Brittle => {
            let done = place("as is done at", &channel.written_at).filter(|_| channel.written_at != channel.read_at);
            let places = [place("before it is read at", &channel.read_at).filter(|_| is_for_one), done];
            let places: String = places.into_iter().flatten().map(|place| format!(", {place}")).collect();
            let test = if is_for_one { format!("{} itself", finding.test) } else { "each of them".to_owned() };
            format!("set {} up in {test}{places}", called(finding, &channel.field))
        }
        Role::Victim => {
            let by = match finding.cleaners.first() {
                Some(cleaner) => format!(", as {cleaner} does"),
                None => String::new(),
            };
            let read = place("read at", &channel.read_at).filter(|_| is_for_one);
            let places = [place("it is written at", &channel.written_at), read];
            let places = places.into_iter().flatten().collect::<Vec<_>>().join(", and ");
            let places = if places.is_empty() { places } else { format!(" ({places})") };
            format!(
                "reset {} after {}{places}{by}",
                called(finding, &channel.field),
                finding.others().last().map_or("the polluter", String::as_str)
            )
        }
    }
}

/// What helps against a dependency through something outside of the heap.
fn outside_fix(channel: &Channel) -> Option<&'static str> {
    match channel.kind {
        ResourceKind::File | ResourceKind::Directory => {
            Some("give each test a folder of its own: JUnit 5's @TempDir, or JUnit 4's TemporaryFolder")
        }
        ResourceKind::Endpoint if channel.name.starts_with("unix:") => {
            Some("give each test a socket below a folder of its own")
        }
        ResourceKind::Endpoint => {
            Some("bind port 0, ask the socket which port it got, and close it when the test ends")
        }
        ResourceKind::Heap | ResourceKind::Property | ResourceKind::Environment => None,
    }
}

/// State for which there are ready-made extensions.
fn known_fix(channel: &Channel) -> Option<String> {
    if let Some(by) = outside_fix(channel) {
        let written = place("written at", &channel.written_at).map(|place| format!(" ({} is {place})", channel.name));
        return Some(format!("{by}{}", written.unwrap_or_default()));
    }
    let by = match channel.field.as_str() {
        ENVIRONMENT => {
            "restore environment variables: JUnit Pioneer's @RestoreEnvironmentVariables, or System Stubs' EnvironmentVariables"
        }
        PROPERTIES => {
            "restore system properties: JUnit Pioneer's @RestoreSystemProperties, or System Rules' RestoreSystemProperties"
        }
        root if root.starts_with("java.util.Locale.default") => {
            "restore the default locale: JUnit Pioneer's @DefaultLocale, or Locale.setDefault in an after-method"
        }
        "java.util.TimeZone.defaultTimeZone" => {
            "restore the default time zone: JUnit Pioneer's @DefaultTimeZone, or TimeZone.setDefault in an after-method"
        }
        "java.lang.System.out" | "java.lang.System.err" | "java.lang.System.in" => {
            "restore the standard streams: JUnit Pioneer's @StdIo, or System.setOut, setErr and setIn in an after-method"
        }
        _ => return None,
    };
    let written = place("written at", &channel.written_at).map(|place| format!(" ({place})"));
    Some(format!("{by}{}", written.unwrap_or_default()))
}
