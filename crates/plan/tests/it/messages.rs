//! What a person reads who wrote a wrong plan: one row for each thing that can be wrong.

use std::path::Path;

use bakeoff_plan::{Builtin, parse};

const PLAN: &str = r#"name = "quick"
rounds = 3
workloads = ["synthetic"]

[[contender]]
name = "nginx-default"
server = "nginx"

[[load]]
clients = [10, 200]
duration = "2s"
"#;

/// `PLAN` with `old` replaced by `new` is refused in the words `expected`.
#[track_caller]
fn plan(old: &str, new: &str, expected: &str) {
    assert!(PLAN.contains(old), "{old}");
    let text = PLAN.replacen(old, new, 1);
    let error = parse(&text, "p.toml", Path::new("/plans"), &Builtin).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn it_is_right_before_it_is_broken() {
    parse(PLAN, "p.toml", Path::new("/plans"), &Builtin).unwrap();
}

#[test]
fn syntax() {
    plan(
        "rounds = 3",
        "rounds = ",
        "p.toml:2:10: not TOML: string values must be quoted, expected literal string",
    );
    plan(
        "[[load]]",
        "[[load]",
        "p.toml:9:8: not TOML: unclosed array table, expected `]`",
    );
    plan(
        "rounds = 3",
        "rounds = 3\nrounds = 4",
        "p.toml:3:1: not TOML: duplicate key",
    );
}

#[test]
fn unknown_keys() {
    plan(
        "rounds =",
        "round =",
        "p.toml:2:1: unknown key `round`; did you mean `rounds`?",
    );
    plan(
        "duration =",
        "duraton =",
        "p.toml:11:1: unknown key `duraton` in `load`; did you mean `duration`?",
    );
    plan(
        "rounds = 3",
        "colour = 3",
        "p.toml:2:1: unknown key `colour`; known are budget, change, compare, contender, \
         description, load, max_rounds, name, overload, pinning, protocols, references, rest, \
         rounds, search, seed, until, workload, workloads",
    );
    plan(
        "clients =",
        "clientele =",
        "p.toml:10:1: unknown key `clientele` in `load`; did you mean `clients`?",
    );
    plan(
        "name = \"quick\"",
        "nmae = \"quick\"",
        "p.toml:1:1: unknown key `nmae`; did you mean `name`?",
    );
}

#[test]
fn missing_keys() {
    plan(
        "name = \"quick\"",
        "",
        "p.toml:1:1: `name` is missing: write `name = \"quick\"`",
    );
    plan(
        "server = \"nginx\"",
        "",
        "p.toml:5:1: `server` is missing in `contender`: write `server = \"nginx\"`, or `command`, \
         `url`, `image` or `compose`",
    );
    plan(
        "[[load]]\nclients = [10, 200]\nduration = \"2s\"",
        "",
        "p.toml:1:1: nothing says how hard it is asked; add `[[load]]` with `clients = 50`, or \
         `[[search]]` with `slo = [\"p99<10ms\"]`",
    );
    plan(
        "workloads = [\"synthetic\"]",
        "",
        "p.toml:1:1: nothing says what is asked; write names of workloads, such as \
         `workloads = [\"synthetic\"]`",
    );
    plan(
        "clients = [10, 200]",
        "",
        "p.toml:9:1: this load has neither `clients` nor `rate`; write `clients = [10, \
         200]` for a closed loop or `rate = 500` for an open one",
    );
}

#[test]
fn wrong_types() {
    plan(
        "rounds = 3",
        "rounds = \"3\"",
        "p.toml:2:10: `rounds` must be a whole number, not text: write it as `rounds = 10`",
    );
    plan(
        "name = \"quick\"",
        "name = 5",
        "p.toml:1:8: `name` must be text in quotes, not a whole number: write it as `name = \
         \"quick\"`",
    );
    plan(
        "[[contender]]",
        "[contender]",
        "p.toml:5:1: `contender` must be a list, not a table: write it as `[[contender]]`",
    );
    plan(
        "[10, 200]",
        "\"10\"",
        "p.toml:10:11: `clients` must be a whole number or a list, not text: write it as \
         `clients = [10, 200]`",
    );
    plan(
        "[10, 200]",
        "[10, 2.5]",
        "p.toml:10:16: `clients` must be a whole number, not a number with a fraction",
    );
    plan(
        "\"2s\"",
        "2",
        "p.toml:11:12: `duration` must be text in quotes, not a whole number: write it as \
         `duration = \"5s\"`",
    );
    plan(
        "server = \"nginx\"",
        "server = \"nginx\"\nversion = 1.22",
        "p.toml:8:11: `version` must be text in quotes, not a number with a fraction: write \
         it as `version = \"1.22\"`",
    );
    plan(
        "server = \"nginx\"",
        "server = \"nginx\"\noverlay.workers = 2",
        "p.toml:8:19: `workers` must be text in quotes, not a whole number: write it as \
         `workers = \"2\"`",
    );
    plan(
        "rounds = 3",
        "rounds = 3\npinning.server = 1",
        "p.toml:3:18: `server` must be text in quotes or a list, not a whole number: write \
         it as `server = \"auto\"`",
    );
    plan(
        "rounds = 3",
        "rounds = 2026-01-01",
        "p.toml:2:10: `rounds` must be a whole number, not a date: write it as `rounds = 10`",
    );
}

#[test]
fn wrong_values() {
    plan(
        "rounds = 3",
        "rounds = 0",
        "p.toml:2:10: `rounds` is 0; write a number from 1 to 1000, such as `rounds = 10`",
    );
    plan(
        "rounds = 3",
        "rounds = -1",
        "p.toml:2:10: `rounds` is -1; write a number from 1 to 1000, such as `rounds = 10`",
    );
    plan(
        "rounds = 3",
        "seed = 99999999999999999999",
        "p.toml:2:8: `seed` is 99999999999999999999; write a number from 0 to \
         9223372036854775807, such as `seed = 1`",
    );
    plan(
        "[10, 200]",
        "[]",
        "p.toml:10:11: `clients` is empty; write at least one, such as `clients = [10, \
         200]`",
    );
    plan(
        "[10, 200]",
        "[10, 0]",
        "p.toml:10:16: `clients` is 0; write a number from 1 to 10000",
    );
    plan(
        "[10, 200]",
        "10001",
        "p.toml:10:11: `clients` is 10001; write a number from 1 to 10000, such as `clients \
         = [10, 200]`",
    );
}

#[test]
fn wrong_rates_and_times() {
    plan(
        "clients = [10, 200]",
        "rate = 0",
        "p.toml:10:8: `rate` is 0; write a number from 0.001 to 10000000, such as `rate = \
         500`",
    );
    plan(
        "clients = [10, 200]",
        "rate = -3.5",
        "p.toml:10:8: `rate` is -3.5; write a number from 0.001 to 10000000, such as `rate \
         = 500`",
    );
    plan(
        "clients = [10, 200]",
        "rate = nan",
        "p.toml:10:8: `rate` is nan; write a number from 0.001 to 10000000, such as `rate = \
         500`",
    );
    plan(
        "clients = [10, 200]",
        "rate = 1\narrival = \"posson\"",
        "p.toml:11:11: `arrival` cannot be `posson`; did you mean `poisson`?",
    );
    plan(
        "\"2s\"",
        "\"2 sec\"",
        "p.toml:11:12: `2 sec` is not a duration: write a number and a unit, such as 5s, \
         200ms or 1m30s",
    );
    plan(
        "\"2s\"",
        "\"0s\"",
        "p.toml:11:12: `duration` is 0; write a time above 0, such as `2s`",
    );
    plan(
        "\"2s\"",
        "\"25h\"",
        "p.toml:11:12: `duration` is longer than a day; write at most `24h`",
    );
}

#[test]
fn wrong_lists_and_texts() {
    plan(
        "rounds = 3",
        "pinning.server = \"all\"",
        "p.toml:2:18: `server` cannot be `all`; known are auto, any",
    );
    plan(
        "[\"synthetic\"]",
        "[]",
        "p.toml:3:13: `workloads` is empty; write at least one, such as `workloads = \
         [\"synthetic\"]`",
    );
    plan(
        "\"nginx-default\"",
        "\"nginx default\"",
        "p.toml:6:8: `nginx default` cannot be a name; use up to 64 letters, digits, `.`, \
         `_`, `-`; begin with a letter or digit",
    );
    plan(
        "\"nginx-default\"",
        "\"../x\"",
        "p.toml:6:8: `../x` cannot be a name; use up to 64 letters, digits, `.`, `_`, `-`; \
         begin with a letter or digit",
    );
    plan(
        "server = \"nginx\"",
        "server = \"nginx\"\nconfig = \"\"",
        "p.toml:8:10: `config` is empty; fill it or take it out",
    );
    plan(
        "server = \"nginx\"",
        "server = \"nginx\"\noverlay.\"a-b\" = \"2\"",
        "p.toml:8:1: `a-b` cannot be a template variable; use letters, digits and `_`, and \
         begin with a letter",
    );
}

#[test]
fn names() {
    plan(
        "\"synthetic\"",
        "\"sinthetic\"",
        "p.toml:3:14: no workload is called `sinthetic`; did you mean `synthetic`?",
    );
    plan(
        "\"synthetic\"",
        "\"zzz\"",
        "p.toml:3:14: no workload is called `zzz`; known are data-bin, gzip, hello, \
         html-large, html-small, proxy, site, synthetic",
    );
    plan(
        "\"synthetic\"",
        "\"synthetic\", \"synthetic\"",
        "p.toml:3:27: workload `synthetic` appears twice; name each workload once",
    );
    plan(
        "\"nginx-default\"",
        "\"origin\"",
        "p.toml:6:8: `origin` is the name of a built-in reference; give the contender \
         another name",
    );
    plan(
        "\"nginx\"",
        "\"yardstick\"",
        "p.toml:7:10: `yardstick` is built in and no contender; it is measured beside the \
         contenders: write `yardstick = true` in `[references]`",
    );
    let twice = "[[contender]]\nname = \"nginx-default\"\nserver = \"caddy\"\n[[contender]]";
    plan(
        "[[contender]]",
        twice,
        "p.toml:9:8: contender `nginx-default` appears twice; give each contender a name of \
         its own",
    );
    let versions = |list: &str| format!("\"nginx\"\nversions = {list}");
    plan(
        "\"nginx\"",
        &versions("[\"1.22\", \"1.22\"]"),
        "p.toml:6:8: contender `nginx-default-1.22` appears twice; give each contender a name \
         of its own",
    );
    plan(
        "\"nginx\"",
        &versions("[\"1.22\"]\nversion = \"1.28\""),
        "p.toml:8:12: `versions` and `version` both say which program is meant; take one of \
         them out",
    );
    plan(
        "\"nginx\"",
        &versions("[\"\"]"),
        "p.toml:8:12: `versions` is empty; fill it or take it out",
    );
    plan(
        "[10, 200]",
        "[10, 200, 10]",
        "p.toml:10:11: load `c10` appears twice; two loads must differ in clients, streams, \
         requests, rate, capacity_share, arrival or connect",
    );
}

/// The load of `PLAN` replaced by a search of these keys.
#[track_caller]
fn search(keys: &str, expected: &str) {
    let new = format!("[[search]]\n{keys}");
    plan(
        "[[load]]\nclients = [10, 200]\nduration = \"2s\"",
        &new,
        expected,
    );
}

/// The load of `PLAN` replaced by an overload of these keys.
#[track_caller]
fn overload(keys: &str, expected: &str) {
    let new = format!("[[overload]]\n{keys}");
    plan(
        "[[load]]\nclients = [10, 200]\nduration = \"2s\"",
        &new,
        expected,
    );
}

#[test]
fn overloads() {
    overload(
        "steps = [0.5, 2.0, 1.5]",
        "p.toml:10:9: `steps` begins or ends near the capacity or beyond it; begin and end with \
         at most 0.9, so that there is a load to go back to",
    );
    overload(
        "step = \"4s\"\npatience = \"2s\"",
        "p.toml:11:12: `patience` is out of range; write at most 25 % of `step` where the last \
         step is 50 %: what waits at the turn must be over before the way back ends",
    );
    overload(
        "step = \"4s\"\npatience = \"1s\"\n[[load]]\nclients = 2",
        "p.toml:9:1: a plan has one of `[[load]]`, `[[search]]` and `[[overload]]`; write several \
         plans",
    );
}

#[test]
fn searches() {
    search(
        "slo = [\"10ms\"]",
        "p.toml:10:7: `10ms` is not an objective; write a percentile from p1 to p99.99 and a time \
         up to an hour, such as p99<10ms",
    );
    search(
        "errors = [\"2\"]",
        "p.toml:10:10: `2` is not a share of failed requests; write percent from 0 to 50, such as \
         0.001%",
    );
    search(
        "slo = [\"p99<1s\", \"p99<1s\"]",
        "p.toml:10:7: two goals are the same; write each of them once",
    );
    search(
        "trial = \"10s\"\nsum = \"50s\"",
        "p.toml:11:7: `sum` is out of range; write at least six times `trial`, so that three \
         trials stand behind each bound, and at most 1h",
    );
    search(
        "tiral = \"10s\"",
        "p.toml:10:1: unknown key `tiral` in `search`; did you mean `trial`?",
    );
    plan(
        "[[load]]",
        "[[search]]\nslo = [\"p99<1s\"]\n\n[[load]]",
        "p.toml:9:1: a plan has `[[load]]` or `[[search]]`, not both; write two plans",
    );
}

#[test]
fn contradictions() {
    plan(
        "clients = [10, 200]",
        "capacity_share = 0.5",
        "p.toml:9:1: `capacity_share` is a share of what a closed loop shows, and the plan has \
         none; add one, such as `[[load]]` with `clients = 50`",
    );
    plan(
        "clients = [10, 200]",
        "capacity_share = 0.5\nrate = 500",
        "p.toml:10:18: `rate` and `capacity_share` both say how many requests are sent; take \
         one of them out",
    );
    plan(
        "rounds = 3",
        "until = 0.03",
        "p.toml:2:9: `until` without `max_rounds` may never end; add a limit, such as \
         `max_rounds = 40`",
    );
    plan(
        "rounds = 3",
        "max_rounds = 40",
        "p.toml:2:14: `max_rounds` without `until` limits nothing; add `until = 0.03`, or write \
         `rounds`",
    );
    plan(
        "rounds = 3",
        "rounds = 9\nuntil = 0.03\nmax_rounds = 8",
        "p.toml:4:14: `max_rounds` is 8, fewer than the 9 of `rounds`; write at least as many",
    );
    plan(
        "clients = [10, 200]",
        "clients = 10\narrival = \"constant\"",
        "p.toml:11:11: `arrival` without `rate`: a closed loop has no gaps to choose; add a \
         rate, such as `rate = 500`, or take `arrival` out",
    );
    plan(
        "clients = [10, 200]",
        "rate = 10\nconnect = \"as-needed\"",
        "p.toml:11:11: `connect` is as-needed in an open loop, which sends by the \
         clock, so its connections must be there first; take one of them out",
    );
    plan(
        "clients = [10, 200]",
        "clients = 10\nconnect = \"last\"",
        "p.toml:11:11: `connect` cannot be `last`; known are first, as-needed",
    );
    let own = "[[workload]]\nname = \"own\"\nexpect.text = \"x\"\n[[load]]";
    plan(
        "[[load]]",
        own,
        "p.toml:10:8: workload `own` is not among `workloads`; add its name there or take \
         the table out",
    );
    let all: Vec<u32> = (1..=10_000).collect();
    let loads = format!("clients = {all:?}\n[[load]]\nrate = 1\nclients = {all:?}");
    plan(
        "clients = [10, 200]",
        &loads,
        "p.toml:1:1: the plan has more than 100000 trials; take out rounds, loads, \
         workloads or contenders",
    );
}

#[test]
fn protocols_and_counts() {
    plan(
        "rounds = 3",
        "protocols = [\"h2\", \"h4\"]",
        "p.toml:2:20: `protocols` cannot be `h4`; did you mean `h1`?",
    );
    plan(
        "rounds = 3",
        "protocols = [\"h2\", \"h2\"]",
        "p.toml:2:20: protocol `h2` appears twice; name each protocol once",
    );
    plan(
        "duration = \"2s\"",
        "requests = 100\nwarmup = \"1s\"",
        "p.toml:12:10: `warmup` beside `requests`: the first requests of so many are measured; \
         take one of them out",
    );
}

/// What answers, in place of a server with a folder, is refused in the words `expected`.
#[track_caller]
fn own(keys: &str, expected: &str) {
    plan("server = \"nginx\"", keys, expected);
}

#[test]
fn commands_and_urls() {
    own(
        "url = \"http://127.0.0.1:1/\"\ncommand = \"node app.js\"",
        "p.toml:7:7: `command` and `url` both say what answers; keep one of them",
    );
    own(
        "server = \"nginx\"\ncommand = \"node app.js\"",
        "p.toml:8:11: `server` and `command` both say what answers; keep one of them",
    );
    own(
        "url = \"127.0.0.1:1\"",
        "p.toml:7:7: `127.0.0.1:1` begins with neither http:// nor https://; write a URL such as \
         http://127.0.0.1:9001/",
    );
    own(
        "url = \"http://127.0.0.1:1/\"\nconfig = \"default\"",
        "p.toml:8:10: `config` belongs to `server` or `image`, and not to `url`; take it out",
    );
    own(
        "url = \"http://127.0.0.1:1/\"\nenv = { A = \"b\" }",
        "p.toml:8:7: `env` belongs to `command` or `image`, and not to `url`; take it out",
    );
    own(
        "server = \"nginx\"\nfresh = [\"true\"]",
        "p.toml:8:9: `fresh` belongs to `command` or `url`, and not to `server`; take it out",
    );
    own(
        "command = \" \"",
        "p.toml:7:11: `command` is empty; fill it or take it out",
    );
    own(
        "command = \"a\"\nfresh = [\"\"]",
        "p.toml:8:10: `fresh` is empty; fill it or take it out",
    );
    own(
        "comand = \"node app.js\"",
        "p.toml:7:1: unknown key `comand` in `contender`; did you mean `command`?",
    );
    own(
        "command = \"a\"\nready = { pth = \"/\" }",
        "p.toml:8:11: unknown key `pth` in `ready`; did you mean `path`?",
    );
    own(
        "command = \"a\"\nready = { path = \"up\" }",
        "p.toml:8:18: `up` is not a request target; begin with a slash, and write blanks and other \
         signs as %20 and so on",
    );
    own(
        "command = \"a\"\nstop = { signal = \"KILL\" }",
        "p.toml:8:19: `signal` cannot be `KILL`; known are TERM, INT, QUIT, HUP",
    );
    own(
        "command = \"a\"\nenv = { \"A=B\" = \"c\" }",
        "p.toml:8:7: `A=B` cannot be a variable; write `env = { NAME = \"value\" }`",
    );
}

#[test]
fn answers_of_one_contender() {
    let with = |answer: &str| format!("server = \"nginx\"\n[[contender.answer]]\n{answer}");
    own(
        &with("workload = \"synthetci\"\nstatus = 200"),
        "p.toml:9:12: no workload is called `synthetci`; did you mean `synthetic`?",
    );
    own(
        &with("workload = \"synthetic\"\nrequest = 1\nstatus = 200"),
        "p.toml:10:11: workload `synthetic` has 1 requests; count them from 0",
    );
    own(
        &with("workload = \"synthetic\"\nstatus = 200\nsha256 = \"12\""),
        "p.toml:11:10: `12` is no SHA-256; write 64 hexadecimal digits, as sha256sum prints them",
    );
}
