//! Flags of wrk, hey, oha, vegeta, k6, curl, ab and other tools, as people type them out of habit.
//! What is the same thing here is understood. What is not is answered in one line, with the flag
//! that it is here: a flag that looks alike is no answer.
//!
//! The table is the only place that knows them. None of them is in the help.

pub(crate) mod curl;

use std::ffi::{OsStr, OsString};

use bakeoff_plan::nearest;
use clap::builder::{ArgPredicate, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, Error};

/// What another tool's flag is here.
#[derive(Debug, Clone, Copy)]
enum Means {
    /// This flag.
    Ours(&'static str),
    /// This flag with this value.
    Fixed(&'static str, &'static str),
    /// What happens anyway.
    Always,
    /// Something else, which this sentence says.
    Instead(&'static str),
}

use Means::{Always, Fixed, Instead, Ours};

/// Names of flags that are something else here.
const fn instead(names: &'static str, answer: &'static str) -> (&'static str, Means) {
    (names, Instead(answer))
}

/// Flags about requests: those of `load` and `race`. A name of one letter is a short flag.
const REQUEST: [(&str, Means); 27] = [
    ("request", Ours("method")),
    ("I head", Fixed("method", "HEAD")),
    ("a", Ours("user")),
    ("headers", Ours("headers")),
    ("data-ascii", Ours("data")),
    ("h2 http2 http2.0", Fixed("protocol", "h2")),
    ("h2c http2-prior-knowledge", Fixed("protocol", "h2c")),
    ("h1 http1 http1.1", Fixed("protocol", "h1")),
    ("h3 http3 http3-only", Fixed("protocol", "h3")),
    (
        "http-version alpn-list npn-list no-tls-proto",
        Ours("protocol"),
    ),
    instead(
        "http1.0 http0.9 0",
        "HTTP/1.0 is not spoken: leave it out, or --protocol h1",
    ),
    instead(
        "F form form-string",
        "a form in parts is not made here: save its body and send it with --body FILE and \
         -H 'Content-Type: multipart/form-data; boundary=...'; a plain form is --data 'a=1&b=2'",
    ),
    instead(
        "data-urlencode url-query",
        "texts are sent as they are: encode it yourself, as in --data 'name=a%20b'",
    ),
    instead("G get", "a query is part of the URL: write it behind a ?"),
    instead(
        "D body-file upload-file input payload payload-file payload-size body-path-lines",
        "a body is --data TEXT or --body FILE; h2load's time is -d 10s",
    ),
    instead(
        "p post",
        "a file with the body is --body FILE, requests in flight on a connection are \
             --streams N, \
         and a protocol is --protocol NAME",
    ),
    instead(
        "T content-type",
        "a type of the body is -H 'Content-Type: TYPE'; a file to PUT is -X PUT --body FILE",
    ),
    instead(
        "A accept user-agent agent",
        "write the header: -H 'User-Agent: NAME' or -H 'Accept: TYPE'; ab's password is \
         -u USER:PASSWORD",
    ),
    instead("host vhost", "write the header: -H 'Host: NAME'"),
    instead(
        "b C cookie",
        "write the header: -H 'Cookie: NAME=VALUE'; a body is --data TEXT, and there is no file of \
         settings",
    ),
    instead(
        "e referer",
        "write the header: -H 'Referer: URL'; ab's file is --csv FILE, and scripts are not run",
    ),
    instead(
        "aws-session aws-sigv4",
        "requests are not signed here: write the headers that they need with -H",
    ),
    instead(
        "compression",
        "write the header: -H 'Accept-Encoding: gzip'",
    ),
    instead(
        "oauth2-bearer bearer",
        "write the header: -H 'Authorization: Bearer TOKEN'",
    ),
    instead("url base-uri", "write the URL without a flag"),
    (
        "S show-error disable-compression disable-redirects no-pre-lookup no-parser no-follow",
        Always,
    ),
    instead(
        "L location redirect redirects max-redirs max-redirects follow-redirects",
        "redirects are not followed: give the URL to which they lead; --follow of `load` asks \
             for it before a load; latencies are always shown",
    ),
];

/// Flags of `load` alone.
const LOAD: [(&str, Means); 66] = [
    (
        "connections concurrency concurrent vus max-vus users max-workers max-connections",
        Ours("clients"),
    ),
    (
        "iterations amount num-requests maxOverallRequests",
        Ours("requests"),
    ),
    ("R qps rps overallRate", Ours("rate")),
    ("targets input-file urls-from-file file", Ours("list")),
    (
        "s silent no-tui no-progress-meter no-progress",
        Ours("quiet"),
    ),
    ("j json-output", Ours("json")),
    ("out output-file", Ours("output")),
    ("cpus num-threads gomaxprocs", Ours("threads")),
    ("max-time", Ours("timeout")),
    ("warm-up-time", Ours("warmup")),
    ("max-concurrent-streams", Ours("streams")),
    (
        "disable-keepalive disableKeepAlives no-keep-alive no-connection-reuse",
        Ours("no_keepalive"),
    ),
    ("root-certs ca", Ours("cacert")),
    ("E", Ours("cert")),
    ("tls13-ciphers", Ours("ciphers")),
    ("log-file access-log-file", Ours("log")),
    ("max-udp-payload-size", Ours("max_udp_payload")),
    ("prometheus-addr", Ours("metrics")),
    ("reconnectRate", Ours("requests_per_connection")),
    ("socketPath", Ours("unix_socket")),
    (
        "skip-verify insecure-skip-tls-verify https-insecure no-check-certificate",
        Ours("insecure"),
    ),
    ("laddr interface", Ours("source")),
    ("sni servername", Ours("server_name")),
    ("tlsv1.3", Fixed("tls_version", "1.3")),
    ("haproxy-protocol", Fixed("proxy_protocol", "v1")),
    (
        "l headless latency latencies \
         latency-correction lazy tlsv1.2 benchmark internet uniform fasthttp \
         stream no-buffer no-setup no-teardown no-thresholds no-usage-report \
         discard-response-bodies \
         stats-success-breakdown renderStatusCodes",
        Always,
    ),
    instead(
        "i include",
        "a list of URLs is --urls FILE, the number of requests -n N, and HEAD -X HEAD",
    ),
    instead(
        "script timing-script-file config-file env tag system-tags secret-source \
         include-system-env-vars",
        "scripts are not run: several requests are a list, --urls FILE",
    ),
    instead(
        "stage stages",
        "steps are a rate's: -r 100,200,400 or -r 100..1000",
    ),
    instead(
        "burst-delay burst-rate rate-period",
        "bursts are not sent: -r R is a rate, and --arrival poisson makes its gaps irregular",
    ),
    instead(
        "rand-regex-url max-repeat dump-urls",
        "URLs are a list: --urls FILE",
    ),
    instead("workers max", "connections are -c N, and threads -t N"),
    instead(
        "parallel parallel-max Z",
        "connections are -c N; cipher suites are --ciphers NAME, and a body --body FILE",
    ),
    instead(
        "pipelining pipeline batch batch-per-host",
        "requests are not pipelined: over HTTP/2, --streams N are in flight on a connection",
    ),
    instead(
        "N connect-timeout connection-inactivity-timeout",
        "--timeout TIME is that of a request, connecting included",
    ),
    instead(
        "keepalive keep-alive",
        "connections are kept; --no-keepalive closes each after a request",
    ),
    instead(
        "x proxy P proxy-header proxy-http-version proxy-http2 proxy-user",
        "requests go straight to the server: --connect-to HOST:PORT says where that is",
    ),
    instead(
        "resolve 4 6 ipv4 ipv6 dns resolvers dns-ttl dns-method resolve-ip-type no-reresolve \
         vsock-addr",
        "names are resolved once, before the load: an address to connect to is \
         --connect-to HOST:PORT",
    ),
    instead(
        "f fail fail-with-body",
        "--strict and --fail-if end with another exit code; a body is --body FILE, a list of URLs \
         --urls FILE, and a version of TLS --tls-version 1.3",
    ),
    instead(
        "v verbose w write-out O remote-name trace http-debug log-errors loglevel debug print \
         no-print \
         summary-export summary-mode summary-time-unit summary-trend-stats no-summary \
         new-machine-readable-summary percentiles time-unit u_latency json-stream \
         skipAggregateResult",
        "the result has all that is kept: --json prints it as one document, also into -o FILE",
    ),
    instead(
        "K config",
        "a list of URLs is --urls FILE, in curl's form or vegeta's",
    ),
    instead(
        "g sampleInt every buckets db-url",
        "a line for each second is --csv FILE, and a line for each request --log FILE",
    ),
    instead(
        "U",
        "latencies are always shown; write a header as -H 'User-Agent: NAME'",
    ),
    instead(
        "B batch_latency local-ips",
        "a local address is --source ADDR, and --fail-if judges the result",
    ),
    instead(
        "M maxConnectionRequests no-vu-connection-reuse connection-reuse",
        "--requests-per-connection N closes a connection after so many, and -n N ends the load",
    ),
    instead(
        "connectionRate",
        "-r R is the rate of all connections together",
    ),
    instead(
        "W max-frame-size window-bits connection-window-bits header-table-size \
         encoder-header-table-size no-udp-gso ktls qlog-file-base httpbufferkb httpccch halfclose \
         stdclient mtls",
        "bakeoff chooses this itself: leave it out; --warmup 2s is a load before the measured one",
    ),
    instead(
        "session-tickets",
        "--resumption on lets new connections resume sessions",
    ),
    instead(
        "delay min-iteration-duration",
        "clients do not rest between requests: -r R sends at a rate",
    ),
    instead(
        "time connection-active-timeout forever",
        "the measured time is -d 30s",
    ),
    instead(
        "spawn-rate hatch-rate ramp-up rampup",
        "all clients begin at once: -r 100..1000 is a rate that grows",
    ),
    instead("run-time test-time", "the measured time is -d 30s"),
    instead("reps", "-n N is the number of all requests together"),
    instead(
        "jitter",
        "--arrival poisson makes the gaps of -r R irregular",
    ),
    instead(
        "nocatchup ignoreCoordinatedOmission",
        "a request that is late counts from when it was due; --deadline TIME drops one that waited \
         so long",
    ),
    instead(
        "abort-on allow-initial-errors bailout",
        "a load goes on after failures; --fail-if 'errors > 1%' judges the result",
    ),
    instead(
        "expectBody",
        "a file that each body must equal is --expect-body FILE",
    ),
    instead(
        "idReplacement",
        "{uuid} in a URL, header or body differs by request",
    ),
    instead("on-port", "`bakeoff race --start COMMAND` starts a server"),
    instead("address", "live figures are served by --metrics ADDRESS"),
    instead(
        "blacklist-ip block-hostnames",
        "requests go to the server of the URL alone: leave it out",
    ),
    instead(
        "execution-segment execution-segment-sequence",
        "--hosts FILE divides a load over several hosts",
    ),
    instead("grpc ping", "the load is HTTP alone: give a URL"),
    instead("curl", "--urls FILE reads curl's commands"),
    instead(
        "format output-format type",
        "--json prints one JSON document, and --urls reads lists in every form",
    ),
    instead(
        "name max-body retry no-color disable-color fps y title mark rc labels runid data-dir \
         linger \
         paused throw exit-on-running compatibility-mode console-output traces-output show-logs \
         log-format log-output profiling-enabled profile setup-timeout teardown-timeout offset \
         sequential-warmup sync \
         config-dir no-exit-on-error excludeErrorStats wait-ongoing-requests-after-deadline",
        "there is no such choice here: leave it out",
    ),
];

/// Values of `-d` that are another tool's body.
pub(crate) fn body(text: &str) -> Option<&'static str> {
    (!text.starts_with(|first: char| first.is_ascii_digit() || first == '.'))
        .then_some("-d is the measured time, such as -d 10s; a body is --data TEXT or --body FILE")
}

/// Values of `-m` that are another tool's method.
pub(crate) fn method(text: &str) -> Option<&'static str> {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        .then_some("-m is the number of requests in flight on each connection; a method is -X NAME")
}

/// Values of `-t` that are another tool's time.
pub(crate) fn time(text: &str) -> Option<&'static str> {
    text.ends_with(['s', 'S', 'm', 'M', 'h', 'H']).then_some(
        "-t is the number of threads; a timeout is --timeout 5s, and the measured time -d 30s",
    )
}

/// Values of `-o` that are another tool's format.
pub(crate) fn format(text: &str) -> Option<&'static str> {
    let is_format = ["csv", "json", "j", "plain-text", "text"].contains(&text)
        || text.starts_with("json=")
        || text.starts_with("csv=");
    is_format.then_some("-o names a file, such as -o result.txt; --json chooses the format")
}

/// Values of `-n` and `-r` before which another tool's flag takes none.
pub(crate) fn number(text: &str) -> Option<&'static str> {
    text.contains("://").then_some(
        "-n N is the number of requests, and -r R their rate; ab's -r is what happens anyway, and \
         -q draws no progress",
    )
}

/// What stands for a URL and is none: a command or a script of another tool, or a body.
pub(crate) fn word(text: &str) -> Option<&'static str> {
    const SCRIPTS: [&str; 6] = [".js", ".ts", ".lua", ".py", ".jmx", ".scala"];
    let is_host = |first: &str| first.contains('.') || first == "localhost";
    let is_path = text
        .split_once('/')
        .is_none_or(|(first, _)| !is_host(first));
    let is_file = text.starts_with('.') || is_path && !text.contains(':');
    match text {
        "attack" | "wrk" | "wrk2" | "hey" | "oha" | "vegeta" | "k6" | "curl" | "ab" | "h2load" => {
            Some(
                "`bakeoff load` takes the place of another tool's name and command: leave them \
                 out, and give the URL, or a list with --urls FILE",
            )
        }
        _ if text == "run" || is_file && SCRIPTS.iter().any(|end| text.ends_with(end)) => Some(
            "scripts are not run: give the URL, or a list with --urls FILE, with -c N or -r R and \
             -d TIME",
        ),
        _ if text.starts_with('{') => Some(
            "a body is given with --data TEXT or --body FILE; --json chooses how the result is \
             printed",
        ),
        _ => None,
    }
}

/// A parser of values, some of which are another tool's: they are answered with what is written
/// here. A value is not repeated, because it may be secret.
#[derive(Clone)]
pub(crate) struct Elsewhere<P> {
    parser: P,
    answer: fn(&str) -> Option<&'static str>,
}

impl<P: TypedValueParser> Elsewhere<P> {
    pub(crate) fn new(parser: P, answer: fn(&str) -> Option<&'static str>) -> Self {
        Self { parser, answer }
    }
}

impl<P: TypedValueParser> TypedValueParser for Elsewhere<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, Error> {
        match value.to_str().and_then(self.answer) {
            Some(answer) => Err(refusal(command, answer)),
            None => self.parser.parse_ref(command, arg, value),
        }
    }
}

/// A parser that takes nothing, for a flag that is something else here.
#[derive(Debug, Clone)]
struct Refused {
    flag: String,
    answer: &'static str,
}

impl TypedValueParser for Refused {
    type Value = String;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, _: &OsStr) -> Result<String, Error> {
        let Self { flag, answer } = self;
        Err(refusal(command, &format!("{flag}: {answer}")))
    }
}

/// An error of one line.
fn refusal(command: &Command, text: &str) -> Error {
    Error::raw(ErrorKind::ValueValidation, format!("{text}\n")).with_cmd(command)
}

/// `bakeoff` with the flags of other tools, for reading arguments.
pub(super) fn known(command: Command) -> Command {
    command
        .mut_subcommand("load", |load| {
            let all = REQUEST.iter().chain(&LOAD);
            all.fold(load, |load, &(names, means)| with(load, names, means))
        })
        .mut_subcommand("race", |race| {
            let all = REQUEST.iter();
            all.fold(race, |race, &(names, means)| with(race, names, means))
        })
}

fn with(command: Command, names: &'static str, means: Means) -> Command {
    names.split_whitespace().fold(command, |command, name| {
        let short = Some(name.chars())
            .filter(|_| name.len() == 1)
            .and_then(|mut it| it.next());
        let is_taken = command.get_arguments().any(|arg| match short {
            Some(short) => arg
                .get_short_and_visible_aliases()
                .is_some_and(|it| it.contains(&short)),
            None => arg.get_long() == Some(name),
        });
        if is_taken {
            return command;
        }
        let hidden = match short {
            Some(short) => Arg::new(name).short(short).hide(true),
            None => Arg::new(name).long(name).hide(true),
        };
        match (means, short) {
            (Ours(id), Some(short)) => command.mut_arg(id, |arg| arg.short_alias(short)),
            (Ours(id), None) => command.mut_arg(id, |arg| arg.alias(name)),
            (Fixed(id, value), _) => command
                .mut_arg(id, |arg| {
                    arg.default_value_if(name, ArgPredicate::Equals("true".into()), value)
                })
                .arg(hidden.action(ArgAction::SetTrue)),
            (Always, _) => command.arg(hidden.action(ArgAction::SetTrue)),
            (Instead(answer), _) => {
                let dashes = if short.is_some() { "-" } else { "--" };
                let flag = format!("{dashes}{name}");
                command.arg(
                    hidden
                        .num_args(0..=1)
                        .default_missing_value("")
                        .value_parser(Refused { flag, answer }),
                )
            }
        }
    })
}

/// What curl's flag without a value stands for.
const COMPRESSED: [&str; 2] = ["-H", "Accept-Encoding: deflate, gzip, br"];

/// The arguments with two dashes before each long flag: tools in Go are content with one. And with
/// the header for `--compressed`.
pub(super) fn with_two_dashes(command: &Command, arguments: Vec<OsString>) -> Vec<OsString> {
    let name = arguments.get(1).and_then(|name| name.to_str());
    let Some(command) = name.and_then(|name| command.find_subcommand(name)) else {
        return arguments;
    };
    let is_long = |name: &str| {
        let mut all = command.get_arguments();
        name.len() > 1
            && all.any(|arg| {
                let aliases = arg.get_all_aliases().unwrap_or_default();
                arg.get_long() == Some(name) || aliases.contains(&name)
            })
    };
    let mut all = Vec::with_capacity(arguments.len());
    let mut is_flag = true;
    for (at, argument) in arguments.into_iter().enumerate() {
        is_flag &= argument != "--";
        let text = argument.to_str().filter(|_| is_flag && at > 1);
        let name = text.and_then(|text| text.strip_prefix('-')?.split('=').next());
        if text == Some("--compressed") {
            all.extend(COMPRESSED.map(OsString::from));
        } else if name.is_some_and(is_long) {
            let mut longer = OsString::from("-");
            longer.push(argument);
            all.push(longer);
        } else {
            all.push(argument);
        }
    }
    all
}

/// What to write instead, where a command is missing before the flags of a load.
pub(super) fn no_command(command: &Command, arguments: &[OsString]) -> Option<Error> {
    let first = arguments.get(1)?.to_str()?;
    let is_url = |argument: &OsString| argument.to_str().is_some_and(|it| it.contains("://"));
    let is_of_load = first.starts_with('-') || first.contains("://");
    (is_of_load && arguments.iter().any(is_url)).then(|| {
        refusal(
            command,
            "a command is missing: `bakeoff load URL` loads one URL, and `bakeoff race URL URL` \
             compares two",
        )
    })
}

/// An error without the tip of a flag or command that does not look like what was typed. clap's
/// own measure finds `--data` like `--duration`, and `version` like `verify`.
pub(super) fn without_far_tip(mut error: Error) -> Error {
    let of = |kind| match error.get(kind) {
        Some(ContextValue::String(flag)) => Some(flag.trim_start_matches('-').to_owned()),
        _ => None,
    };
    let (typed, tip) = (of(ContextKind::InvalidArg), of(ContextKind::SuggestedArg));
    if typed
        .zip(tip)
        .is_some_and(|(typed, tip)| nearest(&typed, [&tip]).is_none())
    {
        error.remove(ContextKind::SuggestedArg);
    }
    let commands = match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(all)) => all.clone(),
        Some(ContextValue::String(one)) => vec![one.clone()],
        _ => Vec::new(),
    };
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) {
        let near = nearest(typed, &commands).map(str::to_owned);
        error.remove(ContextKind::SuggestedSubcommand);
        if let Some(near) = near {
            let near = ContextValue::Strings(vec![near]);
            error.insert(ContextKind::SuggestedSubcommand, near);
        }
    }
    // What begins with two dashes is no value of these commands.
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Suggested);
    }
    error
}

#[cfg(test)]
mod tests;
