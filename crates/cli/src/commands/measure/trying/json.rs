//! What was tried, as a document of the schema `bakeoff.try/1`.

use bakeoff_record::AnswerCheck;
use bakeoff_report::Redaction;
use bakeoff_stage::Named;
use serde_json::{Value, json};

use super::text::HEADERS;
use super::{End, Tried, hint_of_nothing, shown_header, shown_hint};

/// The document, with its keys always the same; what is not known is null.
pub(super) fn document(tried: &[Tried], plan: Option<&str>, redaction: &Redaction) -> String {
    let files: Vec<Value> = tried.iter().map(|one| file(one, redaction)).collect();
    let document = json!({
        "schema": "bakeoff.try/1",
        "files": files,
        "plan": plan,
    });
    format!("{document:#}\n")
}

fn file(one: &Tried, redaction: &Redaction) -> Value {
    let (end, answer, problem, hint) = match &one.end {
        End::Answered(check) => ("answered", Some(check), None, hint_of_nothing(check)),
        End::Wrong(check, hint) => (
            "wrong-answer",
            Some(check),
            None,
            Some(shown_hint(hint, check, redaction)),
        ),
        End::Silent(why) => ("no-answer", None, Some(why), None),
        End::Refused(why) => ("refused", None, Some(why), None),
    };
    let hidden = |text: &String| redaction.line(text);
    let changes = one.changes.iter().map(|it| {
        json!({
            "file": it.file,
            "line": it.line,
            "before": redaction.configuration(&it.before),
            "after": redaction.configuration(&it.after),
            "why": it.why,
        })
    });
    json!({
        "file": one.named,
        "server": one.file.as_ref().map(|it| &it.server),
        "version": one.version,
        "contender": one.contender,
        "found": one.file.as_ref().map(|it| found(it, redaction)),
        "asked": one.choice,
        "end": end,
        "answer": answer.map(|it| described(it, redaction)),
        "problem": problem.map(hidden),
        "hint": hint,
        "changes": changes.collect::<Vec<_>>(),
    })
}

fn found(file: &super::OwnFile, redaction: &Redaction) -> Value {
    let mut found = file.found.clone();
    let hide = |named: &mut Vec<Named>| {
        named
            .iter_mut()
            .for_each(|it| it.text = redaction.line(&it.text));
    };
    hide(&mut found.roots);
    hide(&mut found.logs);
    hide(&mut found.certificates);
    found
        .upstreams
        .iter_mut()
        .for_each(|it| it.address = redaction.line(&it.address));
    json!(found)
}

fn described(answer: &AnswerCheck, redaction: &Redaction) -> Value {
    let headers = HEADERS
        .iter()
        .filter_map(|name| Some((*name, shown_header(name, answer, redaction)?)));
    json!({
        "status": answer.status,
        "body_bytes": answer.body_bytes,
        "body_sha256": answer.body_sha256,
        "protocol": answer.negotiated.protocol,
        "headers": headers.collect::<std::collections::BTreeMap<_, _>>(),
    })
}
