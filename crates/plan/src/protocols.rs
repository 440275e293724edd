//! One workload asked over several protocols becomes one workload for each.

use crate::contender::{Contender, OwnAnswer};
use crate::error::PlanError;
use crate::model::Workload;
use crate::protocol::Protocol;
use crate::rules::{self, Fault};
use crate::source::Source;

/// A workload as a table says it, and over what it is asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Its protocol is the one of `over` that it names, or else h1.
    pub(crate) workload: Workload,
    pub(crate) over: Over,
}

/// Over what a table asks its workload.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Over {
    /// It does not say.
    Unsaid,
    /// One protocol, which leaves the workload its name.
    One,
    /// Each of these.
    Each(Vec<Protocol>),
}

impl Asked {
    pub(crate) fn name(&self) -> &str {
        &self.workload.name
    }
}

/// The workloads that `asked` stands for; `all` is what the plan says for those that do not.
pub(crate) fn expand(asked: Asked, all: &[Protocol]) -> Result<Vec<Workload>, Fault> {
    let protocols = match &asked.over {
        Over::One => return Ok(vec![asked.workload]),
        Over::Unsaid => all,
        Over::Each(protocols) => protocols,
    };
    protocols
        .iter()
        .map(|protocol| over(&asked.workload, *protocol))
        .collect()
}

/// `workload` over `protocol`: its own name over h1, `NAME-PROTOCOL` over another.
pub(crate) fn over(workload: &Workload, protocol: Protocol) -> Result<Workload, Fault> {
    let suffix = |protocol: Protocol| match protocol {
        Protocol::H1 => String::new(),
        other => format!("-{}", other.name()),
    };
    let name = workload.name.strip_suffix(&suffix(workload.protocol));
    let name = name.unwrap_or(&workload.name).to_owned() + &suffix(protocol);
    rules::name(&name)?;
    travels(workload, protocol)?;
    Ok(Workload {
        name,
        protocol,
        ..workload.clone()
    })
}

/// Whether `protocol` can carry what `workload` sends.
pub(crate) fn travels(workload: &Workload, protocol: Protocol) -> Result<(), Fault> {
    workload.client.suits(protocol)?;
    if matches!(protocol, Protocol::H1 | Protocol::H1Tls) {
        return Ok(());
    }
    let headers = workload.requests.iter().flat_map(|each| &each.headers);
    let mut headers = headers.filter(|(name, value)| is_of_connection(name, value));
    if let Some((name, _)) = headers.next() {
        let (workload, protocol) = (&workload.name, protocol.name());
        return Err(Fault::new(
            format!(
                "workload `{workload}` sends the header `{name}`, which is for connections of \
                 HTTP/1.1 and may not be sent over {protocol}"
            ),
            "take the header out, or ask it over h1 or h1-tls",
        ));
    }
    let bodies = workload.requests.iter();
    let mut bodies = bodies.filter_map(|each| each.body.as_ref());
    if !bodies.any(|body| body.chunked) {
        return Ok(());
    }
    Err(Fault::new(
        format!(
            "workload `{}` sends a body in chunks, and {} has frames instead",
            workload.name,
            protocol.name()
        ),
        "take `chunked` out, or ask it over h1 or h1-tls",
    ))
}

/// Whether HTTP/2 and HTTP/3 forbid a header in a request (RFC 9113, 8.2.2; RFC 9114, 4.2).
fn is_of_connection(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let forbidden = ["connection", "keep-alive", "proxy-connection", "upgrade"];
    forbidden.contains(&name.as_str()) || name == "te" && value != "trailers"
}

/// Takes out right answers of contenders to workloads that are not asked: a plan with them could
/// not be read again.
pub(crate) fn keep_answers(contenders: &mut [Contender], workloads: &[Workload]) {
    for contender in contenders {
        let is_asked = |answer: &OwnAnswer| workloads.iter().any(|it| it.name == answer.workload);
        contender.answers.retain(is_asked);
    }
}

/// Gives right answers of contenders the names that their workloads have now: each workload's
/// name before and after. One that became several has them for each.
pub(crate) fn rename_answers(contenders: &mut [Contender], renamed: &[(String, String)]) {
    for contender in contenders {
        let before = std::mem::take(&mut contender.answers);
        for (from, to) in renamed {
            let own = before.iter().filter(|answer| answer.workload == *from);
            contender.answers.extend(own.map(|answer| OwnAnswer {
                workload: to.clone(),
                ..answer.clone()
            }));
        }
    }
}

/// Refuses a protocol that stands twice in the list at `key`.
pub(crate) fn check_each(
    source: &Source<'_>,
    key: &str,
    protocols: &[Protocol],
) -> Result<(), PlanError> {
    for (index, protocol) in protocols.iter().enumerate() {
        if protocols[..index].contains(protocol) {
            let (place, fix) = (format!("{key}.{index}"), "name each protocol once");
            let place = source.place(&place);
            return Err(PlanError::twice(place, "protocol", protocol.name(), fix));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::protocol::Protocol;
    use std::path::Path;

    use crate::content::Encoding;
    use crate::model::Plan;
    use crate::{Builtin, Overrides, PlanError, parse};

    fn read(keys: &str, tables: &str) -> Result<Plan, PlanError> {
        let text = format!(
            "name = \"p\"\n{keys}\n[[contender]]\nname = \"a\"\nserver = \"nginx\"\n\
             [[load]]\nclients = 10\n{tables}"
        );
        parse(&text, "p.toml", Path::new("/plans"), &Builtin)
    }

    /// Name, template and protocol of each workload.
    fn asked(plan: &Plan) -> Vec<(&str, &str, &str)> {
        let workloads = plan.workloads.iter();
        workloads
            .map(|it| (it.name.as_str(), it.template.as_str(), it.protocol.name()))
            .collect()
    }

    #[test]
    fn a_plans_protocols_make_a_workload_of_each() {
        let keys = "workloads = [\"synthetic\", \"proxy\"]\nprotocols = [\"h1\", \"h2\"]";
        let plan = read(keys, "").unwrap();
        assert_eq!(
            asked(&plan),
            [
                ("synthetic", "synthetic", "h1"),
                ("synthetic-h2", "synthetic", "h2"),
                ("proxy", "proxy", "h1"),
                ("proxy-h2", "proxy", "h2"),
            ]
        );
        let again = parse(&plan.to_toml(), "p", Path::new("/x"), &Builtin);
        assert_eq!(
            again,
            Ok(plan),
            "names do not grow when they are read again"
        );
    }

    #[test]
    fn a_workload_that_says_its_protocol_is_left_alone() {
        let own = "[[workload]]\nname = \"one\"\nprotocol = \"h2c\"\nexpect = { text = \"\" }\n\
                   [[workload]]\nname = \"two\"\nprotocols = [\"h1-tls\", \"h2c\"]\n\
                   template = \"synthetic\"\nexpect = { text = \"\" }\n";
        let plan = read("protocols = [\"h2\"]", own).unwrap();
        assert_eq!(
            asked(&plan),
            [
                ("one", "one", "h2c"),
                ("two-h1-tls", "synthetic", "h1-tls"),
                ("two-h2c", "synthetic", "h2c"),
            ]
        );
    }

    #[test]
    fn a_flag_takes_the_place_of_the_plans_protocols() {
        let keys = "workloads = [\"synthetic\"]\nprotocols = [\"h1-tls\", \"h2\"]";
        let h2c = Overrides {
            protocols: vec![Protocol::H2c, Protocol::H1],
            ..Overrides::default()
        };
        let plan = read(keys, "").unwrap().with(&h2c).unwrap();
        assert_eq!(
            asked(&plan),
            [
                ("synthetic-h2c", "synthetic", "h2c"),
                ("synthetic", "synthetic", "h1")
            ]
        );
    }

    /// Every trial over such a protocol failed, one after the other.
    #[test]
    fn headers_of_connections_are_refused_where_a_protocol_forbids_them() {
        let message = |protocols: &str, header: &str| {
            let own = format!("[[workload]]\nname = \"page\"\nheaders = [\"{header}\"]\n");
            let plan = read(&format!("protocols = [{protocols}]"), &own);
            plan.map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(message("\"h1\", \"h1-tls\"", "Connection: close"), Ok(()));
        assert_eq!(message("\"h2\"", "TE: trailers"), Ok(()));
        for (protocol, name) in [("h2", "Connection"), ("h2c", "upgrade"), ("h3", "TE")] {
            let refused = message(&format!("\"h1\", \"{protocol}\""), &format!("{name}: gzip"));
            let expected = format!(
                "p.toml:9:8: workload `page` sends the header `{name}`, which is for connections \
                 of HTTP/1.1 and may not be sent over {protocol}; take the header out, or ask it \
                 over h1 or h1-tls"
            );
            assert_eq!(refused, Err(expected));
        }
    }

    /// A server that answers differently was wrong over another protocol, and the plan of a record
    /// with fewer workloads could not be run again.
    #[test]
    fn right_answers_of_a_contender_follow_their_workloads() {
        let own = "[[contender.answer]]\nworkload = \"page\"\nstatus = 404\n\
                   [[contender.answer]]\nworkload = \"other\"\nstatus = 200\nbytes = 5\n\
                   [[workload]]\nname = \"page\"\n[[workload]]\nname = \"other\"\n";
        let plan = read("", own).unwrap();
        let check = |overrides: Overrides, expected: &[(&str, u16)]| {
            let plan = plan.clone().with(&overrides).unwrap();
            let answers = plan.contenders[0].answers.iter();
            let answers: Vec<(&str, u16)> = answers
                .map(|answer| (answer.workload.as_str(), answer.status))
                .collect();
            assert_eq!(answers, expected);
            let again = parse(&plan.to_toml(), "p", Path::new("/x"), &Builtin);
            assert_eq!(again, Ok(plan.clone()));
        };
        let both = Overrides {
            protocols: vec![Protocol::H2, Protocol::H2c],
            ..Overrides::default()
        };
        let over_each = [
            ("page-h2", 404),
            ("page-h2c", 404),
            ("other-h2", 200),
            ("other-h2c", 200),
        ];
        check(both, &over_each);
        let one = Overrides {
            workloads: vec!["other".to_owned()],
            ..Overrides::default()
        };
        check(one, &[("other", 200)]);
        check(Overrides::default(), &[("page", 404), ("other", 200)]);
    }

    #[test]
    fn references_are_asked_over_every_protocol() {
        let keys = "workloads = [\"synthetic\", \"gzip\", \"proxy\"]\n\
                    protocols = [\"h1\", \"h2\"]\nrounds = 1";
        let plan = read(keys, "").unwrap();
        assert_eq!(
            plan.workloads[2].requests.first().expect.encoding,
            Encoding::Gzip
        );
        let mut with: Vec<String> = crate::trials(&plan)
            .into_iter()
            .filter(|trial| trial.contender.name != "a")
            .map(|trial| format!("{} {}", trial.workload.name, trial.contender.name))
            .collect();
        with.sort();
        let references = [
            "proxy origin",
            "proxy yardstick",
            "proxy-h2 origin",
            "proxy-h2 yardstick",
            "synthetic yardstick",
            "synthetic-h2 yardstick",
        ];
        assert_eq!(with, references);
    }

    #[test]
    fn streams_and_counts_name_loads_and_need_a_protocol_that_has_them() {
        let keys = "workloads = [\"synthetic\"]\nprotocols = [\"h2\", \"h2c\", \"h3\"]";
        let plan = read(keys, "streams = 50\nrequests = 1000\n").unwrap();
        assert_eq!(plan.workloads[2].name, "synthetic-h3");
        let load = &plan.loads[0];
        assert_eq!(load.label(), "c10x50-n1000");
        assert_eq!((load.warmup_s, load.requests), (0.0, Some(1000)));
        let refused = read("workloads = [\"synthetic\"]", "streams = 2\n").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "p.toml:6:1: `streams` is 2, and workload `synthetic` is asked over h1; ask over \
             h2, h2c or h3, such as `protocols = [\"h2\"]`, or write `streams = 1`"
        );
        let flags = Overrides {
            streams: Some(8),
            requests: Some(70),
            ..Overrides::default()
        };
        let changed = plan.clone().with(&flags).unwrap();
        assert_eq!(changed.loads[0].label(), "c10x8-n70");
        let h1 = Overrides {
            protocols: vec![Protocol::H1Tls],
            ..Overrides::default()
        };
        let refused = plan.with(&h1).unwrap_err().to_string();
        assert!(
            refused.starts_with("--protocol: `streams` is 50"),
            "{refused}"
        );
    }
}
