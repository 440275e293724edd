//! The index: every record with its answer, and rankings. All of it is there without a script;
//! the script only hides what a filter leaves out.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::ranking::{Entrant, Ranked, Ranking};
use super::record::{Facets, Kind, Number, SiteRecord, Span};
use super::{POLICY, Preview, SiteOptions, shown_text};
use crate::number::{counted, digits, milliseconds};

/// What can be filtered by: name of the attribute, and what people call it.
const FILTERS: [(&str, &str); 4] = [
    ("server", "Server"),
    ("workload", "Workload"),
    ("machine", "Machine"),
    ("protocol", "Protocol"),
];

pub(super) fn draw(
    records: &[SiteRecord],
    rankings: &[Ranking<'_>],
    options: &SiteOptions,
) -> String {
    let title = shown_text(&options.title);
    let summary = summary(records);
    let preview = options.preview(&Preview {
        page: "index.html",
        up: "",
        title: &options.title,
        text: &summary,
    });
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n{preview}\
         <link rel=\"stylesheet\" href=\"assets/site.css\">\n\
         <link rel=\"alternate\" type=\"application/atom+xml\" title=\"{title}\" \
         href=\"feed.xml\">\n<script defer src=\"assets/site.js\"></script>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n<p>{}</p>\n<nav aria-label=\"On this page\"><a \
         href=\"#records\">Records</a> <a href=\"#rankings\">Rankings</a> <a \
         href=\"feed.xml\">Feed</a></nav>\n</header>\n",
        shown_text(&summary)
    );
    filters(&mut out, records);
    out.push_str(
        "<main>\n<section aria-labelledby=\"records\">\n<h2 id=\"records\">Records</h2>\n",
    );
    out.push_str("<ol class=\"records\">\n");
    records.iter().for_each(|one| record(&mut out, one));
    out.push_str("</ol>\n</section>\n");
    ranked(&mut out, rankings);
    let _ = write!(
        out,
        "</main>\n<footer>\n<p>Made by <code>bakeoff site</code> from shared copies of records: \
         without secrets, texts of configurations and logs. Every number and verdict is computed \
         from the raw record.</p>\n</footer>\n</body>\n</html>\n"
    );
    out
}

/// `50 records of 3 machines: 4 servers, 6 workloads; the newest is of 2026-11-22.`
fn summary(records: &[SiteRecord]) -> String {
    let distinct = |of: fn(&SiteRecord) -> Vec<&String>| {
        let all: BTreeSet<&String> = records.iter().flat_map(of).collect();
        all.len() as u64
    };
    let Some(newest) = records.first() else {
        return "No records.".to_owned();
    };
    format!(
        "{} of {}: {}, {}; the newest is of {}.",
        counted(records.len() as u64, "record"),
        counted(distinct(|one| vec![&one.facets.machine]), "machine"),
        counted(
            distinct(|one| one.facets.servers.iter().collect()),
            "server"
        ),
        counted(
            distinct(|one| one.facets.workloads.iter().collect()),
            "workload"
        ),
        newest.day()
    )
}

/// The values of a record that a filter looks at.
fn values<'a>(facets: &'a Facets, name: &str) -> Vec<&'a str> {
    let texts = |all: &'a [String]| all.iter().map(String::as_str).collect();
    match name {
        "server" => texts(&facets.servers),
        "workload" => texts(&facets.workloads),
        "machine" => vec![&facets.machine],
        _ => texts(&facets.protocols),
    }
}

/// A value as both an option and a record have it.
fn value(text: &str) -> String {
    crate::safe::plain(text)
}

fn filters(out: &mut String, records: &[SiteRecord]) {
    out.push_str(
        "<form id=\"filters\" role=\"search\" aria-label=\"Filter records\" hidden>\n\
         <p><label for=\"text\">Search</label> <input id=\"text\" type=\"search\" \
         autocomplete=\"off\"></p>\n",
    );
    for (name, title) in FILTERS {
        let all = records.iter().flat_map(|one| values(&one.facets, name));
        let all: BTreeSet<String> = all.map(value).collect();
        let _ = write!(
            out,
            "<p><label for=\"{name}\">{title}</label> <select id=\"{name}\"><option \
             value=\"\">all</option>"
        );
        for one in all {
            let text = shown_text(&one);
            let _ = write!(out, "<option value=\"{text}\">{text}</option>");
        }
        out.push_str("</select></p>\n");
    }
    let _ = writeln!(
        out,
        "<p><button type=\"reset\">Clear</button> <output id=\"count\">{}</output></p>\n</form>",
        counted(records.len() as u64, "record")
    );
}

/// The attributes that filters look at, each a list in JSON.
fn attributes(lists: [(&str, Vec<&str>); 4]) -> String {
    let mut out = String::new();
    for (name, texts) in lists {
        let texts: Vec<String> = texts.into_iter().map(value).collect();
        let list = serde_json::to_string(&texts).unwrap_or_default();
        let _ = write!(out, " data-{name}=\"{}\"", shown_text(&list));
    }
    out
}

fn record(out: &mut String, record: &SiteRecord) {
    let facets = &record.facets;
    let of_record = FILTERS.map(|(name, _)| (name, values(facets, name)));
    let _ = write!(
        out,
        "<li data-filtered{}>\n<article aria-labelledby=\"{name}\">\n<h3 id=\"{name}\"><a \
         href=\"{at}/index.html\">{}</a></h3>\n<p class=\"when\"><time datetime=\"{}\">{}</time>\
         {}</p>\n",
        attributes(of_record),
        shown_text(&record.title),
        shown_text(&record.started_at),
        shown_text(&record.minute()),
        verdicts(record),
        name = record.name,
        at = record.folder(),
    );
    // The first sentence of the answer; the rest is in the report.
    if let Some((first, rest)) = record.answer.split_first() {
        let _ = writeln!(out, "<p class=\"answer\">{}</p>", shown_text(first));
        if !rest.is_empty() {
            let more = counted(rest.len() as u64, "more sentence");
            let _ = writeln!(out, "<p class=\"more\">{more} in the report.</p>");
        }
    }
    let facts = [
        ("Contenders", record.contenders.join("; ")),
        ("Workloads", facets.workloads.join(", ")),
        ("Protocols", facets.protocols.join(", ")),
        (
            "Machine",
            format!("{}; {}; {}", facets.machine, facets.system, facets.hosts),
        ),
    ];
    out.push_str("<dl>\n");
    for (term, text) in facts {
        let _ = writeln!(
            out,
            "<div><dt>{term}</dt><dd>{}</dd></div>",
            shown_text(&text)
        );
    }
    out.push_str("</dl>\n</article>\n</li>\n");
}

/// `7 valid`, `1 suspect`, each with a class for its colour.
fn verdicts(record: &SiteRecord) -> String {
    let one = |(name, count): &(String, usize)| {
        let class = match name.as_str() {
            "valid" | "confirmed" | "measured" => "good",
            "suspect" | "not confirmed" => "weak",
            _ => "bad",
        };
        format!(
            " <span class=\"{class}\">{count} {}</span>",
            shown_text(name)
        )
    };
    record.verdicts.iter().map(one).collect()
}

fn ranked(out: &mut String, rankings: &[Ranking<'_>]) {
    out.push_str(
        "<section aria-labelledby=\"rankings\">\n<h2 id=\"rankings\">Rankings</h2>\n\
         <p class=\"more\">Only valid numbers have a place, and only where the machine, kernel, \
         workload, load and engine are the same and the null server did the same. Nothing is \
         ranked over machines. A place is a range where no difference is shown.</p>\n",
    );
    if rankings.is_empty() {
        out.push_str("<p>No two contenders can be held against each other.</p>\n");
    }
    out.push_str("<p id=\"none\" hidden>No ranking matches.</p>\n");
    let machine = |one: &Ranking<'_>| {
        (
            one.first.facets.machine.clone(),
            one.first.facets.system.clone(),
        )
    };
    for group in rankings.chunk_by(|left, right| machine(left) == machine(right)) {
        let (name, system) = machine(&group[0]);
        let (name, system) = (shown_text(&name), shown_text(&system));
        let _ = writeln!(
            out,
            "<section class=\"machine\">\n<h3>{name}</h3>\n<p class=\"more\">{system}</p>"
        );
        for one in group {
            ranking(out, one, &title_among(one, group));
        }
        out.push_str("</section>\n");
    }
    out.push_str("</section>\n");
}

fn ranking(out: &mut String, ranking: &Ranking<'_>, title: &str) {
    let number = ranking.number;
    let entrants = ranking.ranked.iter().map(|one| &one.entrant);
    let all = entrants.chain(&ranking.apart);
    let servers: BTreeSet<&str> = all
        .flat_map(|one| one.number.versions.split(' ').next())
        .collect();
    let facets = &ranking.first.facets;
    let protocol = ranking.first.protocol_of(&number.workload);
    let lists = [
        ("server", servers.into_iter().collect()),
        ("workload", vec![number.workload.as_str()]),
        ("machine", vec![facets.machine.as_str()]),
        ("protocol", protocol.into_iter().collect()),
    ];
    let _ = write!(
        out,
        "<details data-filtered{}>\n<summary><span>{}</span> <span class=\"more\">{}</span>\
         </summary>\n",
        attributes(lists),
        shown_text(title),
        shown_text(&leader(ranking))
    );
    if !ranking.ranked.is_empty() {
        let caption = format!("{} at {title}", unit(number.kind));
        let _ = write!(
            out,
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n<table>\n\
             <caption>{0}</caption>\n<thead><tr><th scope=\"col\">Place</th><th \
             scope=\"col\">Contender</th><th scope=\"col\" class=\"n\">{1}</th><th scope=\"col\" \
             class=\"n\">Low to high</th><th scope=\"col\" class=\"n\">{2}</th><th \
             scope=\"col\">Record</th></tr></thead>\n<tbody>\n",
            shown_text(&caption),
            unit(number.kind),
            counts(number.kind)
        );
        ranking.ranked.iter().for_each(|one| row(out, one));
        out.push_str("</tbody>\n</table>\n</div>\n");
    }
    if !ranking.apart.is_empty() {
        out.push_str("<p class=\"apart\">Not ranked:</p>\n<ul>\n");
        for one in &ranking.apart {
            let why = one.number.unranked.as_deref().unwrap_or("no value");
            let _ = writeln!(out, "<li>{}: {}</li>", contender(one), shown_text(why));
        }
        out.push_str("</ul>\n");
    }
    notes(out, ranking);
    out.push_str("</details>\n");
}

fn notes(out: &mut String, ranking: &Ranking<'_>) {
    let mut notes = Vec::new();
    if ranking.records > 1 {
        notes.push(format!(
            "From {} records. Within a record contenders took turns; between records time passed, \
             which intervals do not contain.",
            ranking.records
        ));
    }
    if ranking.is_plain {
        notes.push("Few rounds: some of the order is plain, but not proven.".to_owned());
    }
    if !ranking.unequal.is_empty() {
        let facts = ranking.unequal.join(", ");
        notes.push(format!("Contenders do not do the same work: {facts}."));
    }
    for note in notes {
        let _ = writeln!(out, "<p class=\"more\">{}</p>", shown_text(&note));
    }
}

/// The title, with the record where others of the machine have the same: what keeps their numbers
/// apart, such as null servers that did not do the same, has no shorter name.
fn title_among(ranking: &Ranking<'_>, group: &[Ranking<'_>]) -> String {
    let own = title(ranking);
    if group.iter().filter(|one| title(one) == own).count() < 2 {
        return own;
    }
    let more = match ranking.records {
        0 | 1 => String::new(),
        2 => " and 1 other".to_owned(),
        many => format!(" and {} others", many - 1),
    };
    format!("{own}, record {}{more}", ranking.first.name)
}

/// Workload, protocol and load.
fn title(ranking: &Ranking<'_>) -> String {
    let number = ranking.number;
    let protocol = ranking.first.protocol_of(&number.workload);
    // Workloads of several protocols are named after them already.
    let protocol = protocol.filter(|name| !number.workload.ends_with(name));
    let over = protocol.map_or(String::new(), |name| format!(" over {name}"));
    format!("{}{over}, {}", number.workload, number.title)
}

/// Who is first, or that nobody is.
fn leader(ranking: &Ranking<'_>) -> String {
    let of = ranking.ranked.len();
    let apart = match ranking.apart.len() {
        0 => String::new(),
        count => format!("; {count} not ranked"),
    };
    let from = match ranking.records {
        1 => ranking.first.day().to_owned(),
        records => format!("{records} records, the newest of {}", ranking.first.day()),
    };
    let said = match ranking.ranked.first() {
        Some(first) if first.worst == 1 && of > 1 => {
            let plain = if ranking.is_plain {
                ", plain but not proven"
            } else {
                ""
            };
            let name = &first.entrant.number.contender;
            format!("{name} is first of {of}{plain}{apart}")
        }
        Some(_) if of > 1 => format!("{of} ranked, no clear first{apart}"),
        Some(_) => format!("1 ranked{apart}"),
        None => "none ranked".to_owned(),
    };
    format!("{said} ({from})")
}

fn row(out: &mut String, row: &Ranked<'_>) {
    let place = match (row.best, row.worst) {
        (best, worst) if best == worst => best.to_string(),
        (best, worst) => format!("{best} to {worst}"),
    };
    let number = row.entrant.number;
    let record = row.entrant.record;
    let Some(span) = number.value else { return };
    let others = match row.entrant.others {
        0 => String::new(),
        count => format!(" and {}", counted(count as u64, "other")),
    };
    let _ = writeln!(
        out,
        "<tr><td>{place}</td><th scope=\"row\">{}</th><td class=\"n\">{}</td><td \
         class=\"n\">{}</td><td class=\"n\">{}</td><td><a href=\"{}/index.html\">{}</a>{others}\
         </td></tr>",
        contender(&row.entrant),
        middle(number, span),
        ends(number.kind, span),
        number.rounds,
        record.folder(),
        shown_text(&format!("{}, {}", record.title, record.day())),
    );
}

/// The contender's name, and below it server and version.
fn contender(entrant: &Entrant<'_>) -> String {
    let number = entrant.number;
    let name = shown_text(&number.contender);
    if number.versions.is_empty() || number.versions == number.contender {
        name
    } else {
        format!("{name} <small>{}</small>", shown_text(&number.versions))
    }
}

fn middle(number: &Number, span: Span) -> String {
    match span.point {
        Some(point) if span.high.is_infinite() => format!("≥ {}", amount(number.kind, point)),
        Some(point) => amount(number.kind, point),
        None => format!(
            "{} to {}",
            amount(number.kind, span.low),
            amount(number.kind, span.high)
        ),
    }
}

fn ends(kind: Kind, span: Span) -> String {
    match (span.point, span.high) {
        (None, _) => String::new(),
        (Some(_), high) if high.is_infinite() => format!("from {}", amount(kind, span.low)),
        (Some(_), high) => format!("{} to {}", amount(kind, span.low), amount(kind, high)),
    }
}

fn amount(kind: Kind, value: f64) -> String {
    match kind {
        Kind::Rate | Kind::Capacity => digits(value),
        Kind::Latency => milliseconds(value),
    }
}

fn unit(kind: Kind) -> &'static str {
    match kind {
        Kind::Rate | Kind::Capacity => "requests/s",
        Kind::Latency => "p99, ms",
    }
}

/// What stands behind a number.
fn counts(kind: Kind) -> &'static str {
    match kind {
        Kind::Rate | Kind::Latency => "Rounds",
        Kind::Capacity => "Servers",
    }
}
