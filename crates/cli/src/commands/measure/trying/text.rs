//! What was tried, for a terminal.

use bakeoff_plan::grouped;
use bakeoff_record::{AnswerCheck, shell_path};
use bakeoff_report::Redaction;
use bakeoff_stage::{FileFound, Listener, ListenerKind, Named, Place, UpstreamKind};

use super::{End, Tried, hint_of_nothing, shown_header, shown_hint};
use crate::commands::measure::race::as_a_file;
use crate::flags::TryFlags;

/// Things of one kind, and lines of a server's message, that are shown.
pub(super) const LINES_MAX: usize = 12;
/// Letters of a change that are shown: some put many lines before the first.
const CHANGE_LETTERS_MAX: usize = 1000;
/// Headers that say how an answer came about.
pub(super) const HEADERS: [&str; 8] = [
    "content-type",
    "content-encoding",
    "location",
    "www-authenticate",
    "cache-control",
    "server",
    "via",
    "alt-svc",
];

/// All files, and the plan at the end.
pub(super) fn drawn(
    tried: &[Tried],
    plan: Option<&str>,
    flags: &TryFlags,
    redaction: &Redaction,
) -> String {
    let mut text = String::new();
    for one in tried {
        text.push_str(&file(one, redaction));
        text.push('\n');
    }
    match (plan, &flags.save_plan) {
        (Some(_), Some(path)) => {
            text.push_str(&format!(
                "plan      written to {}: bakeoff run {}\n",
                path.display(),
                shell_path(&as_a_file(path))
            ));
        }
        (Some(plan), None) => {
            text.push_str("plan      for `bakeoff run`; --save-plan FILE writes it\n\n");
            let lines = plan.lines().map(|line| match line {
                "" => "\n".to_owned(),
                line => format!("    {line}\n"),
            });
            text.extend(lines);
        }
        (None, _) => {}
    }
    text
}

fn file(one: &Tried, redaction: &Redaction) -> String {
    let named = one.named.display();
    let Some(own) = &one.file else {
        return match &one.end {
            End::Refused(why) => format!("{named}: {}\n", redaction.line(why)),
            End::Answered(_) | End::Wrong(..) | End::Silent(_) => String::new(),
        };
    };
    let version = one
        .version
        .as_ref()
        .map_or(String::new(), |it| format!(" {it}"));
    let mut text = format!("{named}: {}{version} {}\n\n", own.title, headline(one));
    text.push_str(&found(&own.found, redaction));
    if let Some(choice) = &one.choice {
        let scheme = if choice.protocol.is_secure() {
            "https"
        } else {
            "http"
        };
        let host = choice.host.as_deref().unwrap_or("127.0.0.1");
        let url = format!("{scheme}://{host}{}", choice.path);
        row(
            &mut text,
            "asked",
            &format!("{url} over {}", choice.protocol.name()),
        );
        for reason in &choice.reasons {
            row(&mut text, "", reason);
        }
    }
    match &one.end {
        End::Answered(answer) => {
            row(&mut text, "answer", &described(answer, redaction));
            if let Some(hint) = hint_of_nothing(answer) {
                row(&mut text, "hint", &hint);
            }
        }
        End::Wrong(answer, hint) => {
            row(&mut text, "answer", &described(answer, redaction));
            row(&mut text, "hint", &shown_hint(hint, answer, redaction));
        }
        End::Silent(why) | End::Refused(why) => {
            let why = redaction.line(why);
            let mut lines = why.lines();
            row(&mut text, "problem", lines.next().unwrap_or_default());
            lines.for_each(|line| row(&mut text, "", line));
        }
    }
    changes(&mut text, one, redaction);
    text
}

/// The answer in a few words, or that there is none.
fn headline(one: &Tried) -> String {
    match &one.end {
        End::Answered(answer) | End::Wrong(answer, _) => {
            let over = &answer.negotiated.protocol;
            let verdict = if matches!(one.end, End::Answered(_)) {
                ""
            } else {
                ", which is no right answer"
            };
            format!("answers {} over {over}{verdict}", answer.status)
        }
        End::Silent(_) => "starts and gives no answer".to_owned(),
        End::Refused(_) => "cannot be measured".to_owned(),
    }
}

fn found(found: &FileFound, redaction: &Redaction) -> String {
    let mut text = String::new();
    let listeners = found.listeners.iter().map(|it| (listener(it), &it.place));
    rows(&mut text, "listens", listeners.collect());
    let named = |named: &'_ [Named]| -> Vec<(String, Place)> {
        named
            .iter()
            .map(|it| (redaction.line(&it.text), it.place.clone()))
            .collect()
    };
    let upstreams = found.upstreams.iter().map(|it| {
        let kind = match it.kind {
            UpstreamKind::Http => "",
            UpstreamKind::FastCgi => " (FastCGI)",
            UpstreamKind::Uwsgi => " (uwsgi)",
            UpstreamKind::Scgi => " (SCGI)",
            UpstreamKind::Grpc => " (gRPC)",
            UpstreamKind::Tcp => " (TCP)",
        };
        (redaction.line(&it.address) + kind, it.place.clone())
    });
    for (name, things) in [
        ("serves", named(&found.roots)),
        ("asks", upstreams.collect()),
        ("logs to", named(&found.logs)),
        ("keys", named(&found.certificates)),
        ("needs", named(&found.modules)),
        ("variables", named(&found.placeholders)),
    ] {
        rows(
            &mut text,
            name,
            things
                .iter()
                .map(|(thing, place)| (thing.clone(), place))
                .collect(),
        );
    }
    text
}

fn listener(listener: &Listener) -> String {
    let port = listener
        .port
        .map_or(String::new(), |port| format!(":{port}"));
    let protocols: Vec<&str> = listener.protocols.iter().map(|it| it.name()).collect();
    let speaks = match listener.kind {
        ListenerKind::Http => protocols.join(" "),
        ListenerKind::Redirect => "redirects to https".to_owned(),
        ListenerKind::Tcp => "passes TCP on".to_owned(),
        ListenerKind::Refusing => format!("{}, and refuses all", protocols.join(" ")),
        ListenerKind::Aside => "counters or administration".to_owned(),
    };
    let hosts = match listener.hosts.as_slice() {
        [] => String::new(),
        hosts if hosts.len() > 4 => format!(
            " for {} and {} more",
            hosts[..3].join(", "),
            hosts.len() - 3
        ),
        hosts => format!(" for {}", hosts.join(", ")),
    };
    format!("{}{port} {speaks}{hosts}", listener.address)
}

fn rows(text: &mut String, name: &str, all: Vec<(String, &Place)>) {
    let things = grouped(all.into_iter().map(|(thing, place)| (thing, place.line)));
    for (index, (thing, lines)) in things.iter().take(LINES_MAX).enumerate() {
        let line = match lines.as_slice() {
            [] | [0, ..] => String::new(),
            [line] => format!("  (line {line})"),
            [first, others @ ..] => format!("  (line {first} and {} more)", others.len()),
        };
        row(
            text,
            if index == 0 { name } else { "" },
            &format!("{thing}{line}"),
        );
    }
    if things.len() > LINES_MAX {
        row(text, "", &format!("and {} more", things.len() - LINES_MAX));
    }
}

fn row(text: &mut String, name: &str, what: &str) {
    text.push_str(&format!("  {name:<10}{what}\n"));
}

fn changes(text: &mut String, one: &Tried, redaction: &Redaction) {
    let count = one.changes.len();
    if count == 0 {
        if one.version.is_some() {
            row(text, "changes", "none: it runs as it is");
        }
        return;
    }
    let lines = if count == 1 { "line" } else { "lines" };
    row(
        text,
        "changes",
        &format!("{count} {lines} that a trial needs otherwise"),
    );
    for change in &one.changes {
        let line = redaction.configuration(&change.on_one_line());
        let main = one
            .file
            .as_ref()
            .map(|it| format!("{}:", it.path.display()));
        let line = main
            .and_then(|main| line.strip_prefix(&main).map(str::to_owned))
            .unwrap_or(line);
        let (shown, rest) = match line.char_indices().nth(CHANGE_LETTERS_MAX) {
            Some((at, _)) => (&line[..at], " ... (--format json has all of it)"),
            None => (line.as_str(), ""),
        };
        row(text, "", &format!("{shown}{rest}"));
    }
}

fn described(answer: &AnswerCheck, redaction: &Redaction) -> String {
    let mut text = format!("{}, {} bytes", answer.status, answer.body_bytes);
    for name in HEADERS {
        if let Some(value) = shown_header(name, answer, redaction) {
            text.push_str(&format!("; {name}: {value}"));
        }
    }
    text
}
