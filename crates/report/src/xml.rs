//! JUnit files, and text as it may stand in XML 1.0.

use crate::safe::plain;

/// A test case.
pub(crate) struct Case {
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) result: CaseResult,
}

/// How a test case ended, with a message.
pub(crate) enum CaseResult {
    /// With what it printed, where that is anything.
    Passed(Option<String>),
    Skipped(String),
    /// Of a kind.
    Failure(&'static str, String),
    /// The same of one that could not be decided.
    Error(&'static str, String),
}

/// A JUnit file of one suite; `beside` is what is said of it as a whole.
pub(crate) fn junit(tool: &str, suite: &str, cases: &[Case], beside: &[String]) -> String {
    let count = |is: fn(&CaseResult) -> bool| cases.iter().filter(|it| is(&it.result)).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        cases.len(),
        count(|it| matches!(it, CaseResult::Failure(..))),
        count(|it| matches!(it, CaseResult::Error(..)))
    );
    let skipped = count(|it| matches!(it, CaseResult::Skipped(_)));
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"{tool}\" {counts} time=\"0\">\n  \
         <testsuite name=\"{}\" {counts} skipped=\"{skipped}\" time=\"0\">\n",
        escaped(suite)
    );
    out.extend(cases.iter().map(case));
    // The schemas of JUnit files allow one such element in a suite.
    if !beside.is_empty() {
        let lines: Vec<String> = beside.iter().map(|line| escaped(line)).collect();
        out += &format!("    <system-err>{}</system-err>\n", lines.join("\n"));
    }
    out + "  </testsuite>\n</testsuites>\n"
}

fn case(case: &Case) -> String {
    let (class, name) = (escaped(&case.class), escaped(&case.name));
    let head = format!("    <testcase classname=\"{class}\" name=\"{name}\" time=\"0\"");
    let bad = |tag: &str, kind: &str, text: &str| {
        format!("<{tag} type=\"{kind}\" message=\"{}\"/>", escaped(text))
    };
    let inside = match &case.result {
        CaseResult::Passed(None) => return format!("{head}/>\n"),
        CaseResult::Passed(Some(text)) => format!("<system-out>{}</system-out>", escaped(text)),
        CaseResult::Skipped(text) => format!("<skipped message=\"{}\"/>", escaped(text)),
        CaseResult::Failure(kind, text) => bad("failure", kind, text),
        CaseResult::Error(kind, text) => bad("error", kind, text),
    };
    format!("{head}>\n      {inside}\n    </testcase>\n")
}

/// Text for an attribute or between tags: on one line, without what XML 1.0 cannot hold.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in plain(text).chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            // The two that XML 1.0 leaves out beside control characters, which are gone already.
            '\u{fffe}' | '\u{ffff}' => safe.extend(character.escape_unicode()),
            usual => safe.push(usual),
        }
    }
    safe
}
