//! What people type first: commands as the documents of other tools show them, with `bakeoff load`
//! in the place of the tool's name. Each is understood, or answered in one line.

use std::time::Duration;

use super::*;
use crate::flags::{Command as Chosen, Flags, LoadFlags, MeasureCommand};

/// `Ok` where a command is understood, else words of the answer.
type Expected = Result<(), &'static str>;

const FIRST: [(&str, &[(&str, Expected)]); 9] = [
    (
        "wrk, wrk2",
        &[
            ("-t12 -c400 -d30s http://127.0.0.1:8080/index.html", Ok(())),
            (
                "-t2 -c100 -d30s -R2000 http://127.0.0.1:8080/index.html",
                Ok(()),
            ),
            (
                "-t2 -c100 -d30s -R2000 --latency http://127.0.0.1:80/",
                Ok(()),
            ),
            ("-t4 -c100 -d30s --timeout 2s http://127.0.0.1/", Ok(())),
            ("-c100 -d1m -H 'User-Agent: wrk' http://127.0.0.1/", Ok(())),
            (
                "--connections 10 --duration 2m --threads 2 http://a.test/",
                Ok(()),
            ),
            ("--rate 100 --latency http://127.0.0.1/", Ok(())),
            (
                "-t2 -c2 -d5s -s scripts/post.lua http://127.0.0.1/",
                Err("scripts are not run"),
            ),
            (
                "-t2 -c2 -d5s -s post.lua http://127.0.0.1/",
                Err("scripts are not run"),
            ),
            (
                "-c2 --script ./post.lua http://127.0.0.1/",
                Err("--urls FILE"),
            ),
            ("wrk -t2 http://127.0.0.1/", Err("leave them out")),
        ],
    ),
    (
        "hey",
        &[
            ("-n 200 -c 50 http://127.0.0.1:8080/", Ok(())),
            ("-z 10s -c 50 http://127.0.0.1:8080/", Ok(())),
            (
                "-m POST -d hotdog http://127.0.0.1/",
                Err("a method is -X NAME"),
            ),
            (
                "-d '{ \"a\": 1 }' http://127.0.0.1/",
                Err("a body is --data TEXT"),
            ),
            ("-D ./file.txt http://127.0.0.1/", Err("--body FILE")),
            (
                "-T application/json http://127.0.0.1/",
                Err("-H 'Content-Type: TYPE'"),
            ),
            ("-a user:password http://127.0.0.1/", Ok(())),
            ("-h2 https://127.0.0.1/", Ok(())),
            ("-host a.test http://127.0.0.1/", Err("-H 'Host: NAME'")),
            (
                "-disable-keepalive -disable-compression http://a.test/",
                Ok(()),
            ),
            ("-disable-redirects -cpus 2 http://127.0.0.1/", Ok(())),
            (
                "-x 127.0.0.1:3128 http://127.0.0.1/",
                Err("--connect-to HOST:PORT"),
            ),
            (
                "-H 'Accept: text/html' -A text/html http://127.0.0.1/",
                Err("-H 'User-Agent"),
            ),
            ("-o csv http://127.0.0.1/", Err("-o names a file")),
        ],
    ),
    (
        "oha",
        &[
            ("http://127.0.0.1:3000", Ok(())),
            ("-n 100 -c 10 --no-tui http://127.0.0.1:3000", Ok(())),
            ("-z 10s -c 50 -j http://127.0.0.1:3000", Ok(())),
            (
                "--latency-correction --disable-keepalive http://a.test/",
                Ok(()),
            ),
            ("-p 10 --http2 https://127.0.0.1/", Err("--streams N")),
            ("--http2 https://127.0.0.1/", Ok(())),
            ("--http-version 1.1 http://127.0.0.1/", Ok(())),
            (
                "-m POST -d 'a=1' http://127.0.0.1/",
                Err("a method is -X NAME"),
            ),
            (
                "-n 10 --burst-delay 2s --burst-rate 4 http://a.test/",
                Err("-r R is a rate"),
            ),
            (
                "--rand-regex-url http://127.0.0.1/[a-z][a-z][0-9]",
                Err("--urls FILE"),
            ),
            ("--urls-from-file urls.txt", Ok(())),
            ("-t 5s http://127.0.0.1/", Err("--timeout 5s")),
            (
                "--connect-to example.org:443:localhost:8443 https://example.org/",
                Ok(()),
            ),
            (
                "--redirect 0 --insecure https://127.0.0.1/",
                Err("not followed"),
            ),
        ],
    ),
    (
        "vegeta",
        &[
            ("attack -duration=5s", Err("leave them out")),
            ("-duration=5s -rate=50", Ok(())),
            ("-targets=targets.txt -rate=100/s -duration=30s", Ok(())),
            ("-rate=50/1s -targets targets.txt", Ok(())),
            ("-rate=60/m http://127.0.0.1/", Ok(())),
            (
                "-name=50qps -rate=50 -duration=5s http://a.test/",
                Err("leave it out"),
            ),
            ("-body=body.json -header 'A: b' http://127.0.0.1/", Ok(())),
            (
                "-insecure -timeout=30s -connections=10 https://a.test/",
                Ok(()),
            ),
            (
                "-h2c -keepalive=false http://127.0.0.1/",
                Err("--no-keepalive"),
            ),
            ("-output results.bin http://127.0.0.1/", Ok(())),
            ("-workers 10 http://127.0.0.1/", Err("connections are -c N")),
            (
                "-cert client.pem -key client.key https://127.0.0.1/",
                Ok(()),
            ),
            (
                "-root-certs ca.pem -laddr 127.0.0.1 https://127.0.0.1/",
                Ok(()),
            ),
        ],
    ),
    (
        "k6",
        &[
            ("run script.js", Err("scripts are not run")),
            (
                "run --vus 10 --duration 30s script.js",
                Err("scripts are not run"),
            ),
            ("script.js", Err("--urls FILE")),
            ("--vus 10 --duration 30s http://127.0.0.1/", Ok(())),
            ("--vus 1 --iterations 10 http://127.0.0.1/", Ok(())),
            ("-u 5 -d 10s http://127.0.0.1/", Err("k6's users are -c N")),
            (
                "-i 10 http://127.0.0.1/",
                Err("the number of requests -n N"),
            ),
            ("--stage 10s:100 http://127.0.0.1/", Err("-r 100..1000")),
            ("--rps 100 http://127.0.0.1/", Ok(())),
            ("--out json=results.json http://127.0.0.1/", Err("--json")),
            (
                "-o json=results.json http://127.0.0.1/",
                Err("-o names a file"),
            ),
        ],
    ),
    (
        "curl",
        &[
            ("-X POST http://127.0.0.1/", Ok(())),
            ("-XPUT --data-raw '@a' http://127.0.0.1/", Ok(())),
            ("--data 'a=1' --data b=2 http://127.0.0.1/", Ok(())),
            ("-d a=1 http://127.0.0.1/", Err("a body is --data TEXT")),
            ("--data-binary @body.json http://127.0.0.1/", Ok(())),
            ("--json '{\"a\": 1}' http://127.0.0.1/", Err("--data TEXT")),
            (
                "-F file=@a.png http://127.0.0.1/",
                Err("multipart/form-data"),
            ),
            ("-u user:password http://127.0.0.1/", Ok(())),
            ("-o result.txt http://127.0.0.1/", Ok(())),
            ("-k -s -S -H 'A: b' https://127.0.0.1/", Ok(())),
            ("-sS http://127.0.0.1/", Ok(())),
            ("-L http://127.0.0.1/", Err("redirects are not followed")),
            ("-I http://127.0.0.1/", Ok(())),
            ("-A Mozilla http://127.0.0.1/", Err("-H 'User-Agent: NAME'")),
            ("-b a=1 http://127.0.0.1/", Err("-H 'Cookie: NAME=VALUE'")),
            ("--compressed http://127.0.0.1/", Ok(())),
            ("--http2-prior-knowledge http://127.0.0.1/", Ok(())),
            ("--http3 https://127.0.0.1/", Ok(())),
            ("--max-time 5 http://127.0.0.1/", Err("such as 5s")),
            (
                "--resolve a.test:80:127.0.0.1 http://a.test/",
                Err("--connect-to HOST:PORT"),
            ),
            (
                "--cacert ca.pem --cert client.pem https://127.0.0.1/",
                Ok(()),
            ),
        ],
    ),
    (
        "ab",
        &[
            ("-n 100 -c 10 http://127.0.0.1/", Ok(())),
            ("-k -n 100 -c 10 http://127.0.0.1/", Ok(())),
            (
                "-t 30s -c 10 http://127.0.0.1/",
                Err("the measured time -d 30s"),
            ),
            (
                "-p post.json -T application/json http://127.0.0.1/",
                Err("--body FILE"),
            ),
            (
                "-T application/json http://127.0.0.1/",
                Err("-H 'Content-Type: TYPE'"),
            ),
            (
                "-A user:password http://127.0.0.1/",
                Err("-u USER:PASSWORD"),
            ),
            ("-C a=1 http://127.0.0.1/", Err("-H 'Cookie: NAME=VALUE'")),
            ("-i http://127.0.0.1/", Err("HEAD -X HEAD")),
            ("-u put.txt http://127.0.0.1/", Err("-X PUT --body FILE")),
            ("-m HEAD http://127.0.0.1/", Err("a method is -X NAME")),
            ("-q -l -n 5 http://127.0.0.1/", Ok(())),
        ],
    ),
    (
        "h2load",
        &[
            ("-n100000 -c100 -m10 https://127.0.0.1", Ok(())),
            ("-n1000 -c10 --h1 https://127.0.0.1", Ok(())),
            ("-D 10 -c10 https://127.0.0.1", Err("time is -d 10s")),
            ("-p h2c http://127.0.0.1", Err("--protocol NAME")),
            ("--warm-up-time=5s -t2 https://127.0.0.1", Ok(())),
            ("-i urls.txt", Err("a list of URLs is --urls FILE")),
            ("--max-concurrent-streams 10 https://127.0.0.1", Ok(())),
            ("--input-file=urls.txt -c10", Ok(())),
            ("--npn-list h2 https://127.0.0.1", Ok(())),
            ("--connect-to=127.0.0.1:443 https://a.test", Ok(())),
        ],
    ),
    (
        "autocannon, bombardier, siege",
        &[
            ("-c 100 -d 5 -p 10 http://127.0.0.1/", Err("such as 5s")),
            ("-c 100 -d 5s -p 10 http://127.0.0.1/", Err("--streams N")),
            ("-c 125 -n 10000000 -l http://127.0.0.1/", Ok(())),
            ("-a 1000 http://127.0.0.1/", Err("USER:PASSWORD")),
            (
                "-c25 -t30S http://127.0.0.1/",
                Err("the measured time -d 30s"),
            ),
            ("--concurrency=25 http://127.0.0.1/", Ok(())),
        ],
    ),
];

/// All flags that the help of each tool has, with a value behind `=` where it takes one.
const ALL: [(&str, &str); 11] = [
    (
        "k6",
        "--address=localhost:6565 -c=x.json --config=x.json --log-format=raw \
         --log-output=stderr --no-color --profiling-enabled --quiet -q --verbose -v --batch=20 \
         --batch-per-host=6 --blacklist-ip=10.0.0.0/8 --block-hostnames=a.b \
         --compatibility-mode=base --console-output=f.log --discard-response-bodies \
         --dns=ttl=5m --duration=10s -d=10s --env=A=b -e=A=b --execution-segment=0:1/4 \
         --execution-segment-sequence=0,1/4,1 --exit-on-running --http-debug --http-debug=full \
         --include-system-env-vars --insecure-skip-tls-verify --iterations=5 -i=5 --linger -l \
         --local-ips=127.0.0.1 --max-redirects=3 --min-iteration-duration=1s \
         --no-connection-reuse --no-setup --no-summary --no-teardown --no-thresholds \
         --no-usage-report --no-vu-connection-reuse --out=csv=x.csv -o=csv=x.csv --paused -p \
         --rps=5 --setup-timeout=1s --stage=10s:5 -s=10s:5 --summary-export=x.json \
         --summary-mode=full --summary-time-unit=ms --summary-trend-stats=avg,p(99) \
         --system-tags=url --tag=a=b --teardown-timeout=1s --throw -w --traces-output=otel \
         --type=js -t=js --user-agent=x --vus=5 -u=5 --max=10 --new-machine-readable-summary \
         --secret-source=file --show-logs",
    ),
    (
        "oha",
        "-n=5 -c=5 -p=1 -z=1s -w --wait-ongoing-requests-after-deadline -q=5 --burst-delay=2s \
         --burst-rate=4 --rand-regex-url --urls-from-file --max-repeat=4 --dump-urls=5 \
         --latency-correction --no-tui --fps=16 -m=GET --method=GET -H=A:b --proxy-header=A:b \
         -t=5s --connect-timeout=5s -A=text/html -d=abc -D=f -Z=f --body-path-lines=f -F=a=b \
         --form=a=b -T=text/plain -a=u:p --http-version=2 --host=a.b -x=http://p \
         --proxy-http-version=1.1 --proxy-http2 --http2 --disable-compression -r=3 --redirect=3 \
         --disable-keepalive --no-pre-lookup --ipv6 --ipv4 --cacert=f --cert=f --key=f \
         --insecure --connect-to=a:80:b:80 --no-color --unix-socket=f --vsock-addr=1:2 \
         --stats-success-breakdown --db-url=x.db --debug -o=x.txt --output=x.txt \
         --output-format=json -u=ms --time-unit=ms -j --json --aws-session=s \
         --aws-sigv4=aws:amz --disable-color -b=x",
    ),
    (
        "ab",
        "-A=u:p -b=8192 -B=127.0.0.1 -c=5 -C=a=b -d -D=x -e=f.csv -E=cert.pem -f=TLS1.2 \
         -g=f.tsv -H=A:b -i -k -l -m=GET -n=5 -p=f -P=u:p -q -r -s=30 -S -t=10 -T=text/plain \
         -u=f -v=4 -w -x=border -X=p:80 -y=a -z=b -Z=ECDHE -I",
    ),
    (
        "vegeta",
        "-body=f -cert=f -chunked -connections=5 -connect-to=a:80:b:80 -dns-ttl=0 -duration=5s \
         -format=json -h2c -header=A:b -http2 -insecure -keepalive -key=f -laddr=127.0.0.1 \
         -lazy -max-body=5 -max-connections=5 -max-workers=5 -name=x -output=f.bin \
         -prometheus-addr=0.0.0.0:8880 -proxy-header=A:b -rate=5 -redirects=5 \
         -resolvers=1.1.1.1 -root-certs=f -session-tickets -targets=f -timeout=5s \
         -unix-socket=f -workers=5 -type=json -every=1s -buckets=[0,1ms] -cpus=2 -profile=cpu",
    ),
    (
        "hey",
        "-n=5 -c=5 -q=5 -z=5s -o=csv -m=GET -H=A:b -t=20 -A=text/html -d=abc -D=f -T=text/plain \
         -U=agent -a=u:p -x=a:80 -h2 -host=a.b -disable-compression -disable-keepalive \
         -disable-redirects -cpus=2",
    ),
    (
        "wrk",
        "-c=5 --connections=5 -d=5s --duration=5s -t=2 --threads=2 -s=a.lua --script=a.lua \
         -H=A:b --header=A:b --latency --timeout=5s -v --version -R=5 --rate=5 -L -U \
         --u_latency -B --batch_latency",
    ),
    (
        "autocannon",
        "-c=5 --connections=5 -p=5 --pipelining=5 -d=5s --duration=5s -a=5 --amount=5 -L=10 \
         --sampleInt=10 -S=f --socketPath=f -w=2 --workers=2 -W=[ --warmup=2s --on-port -m=GET \
         --method=GET -t=5 --timeout=5s -T=title --title=x -b=abc --body=f -F={} --form={} -i=f \
         --input=f -H=A:b --headers=A:b --har=f -B=5 --bailout=5 -M=5 --maxConnectionRequests=5 \
         -O=5 --maxOverallRequests=5 -r=5 --connectionRate=5 -R=5 --overallRate=5 -C \
         --ignoreCoordinatedOmission -D=5 --reconnectRate=5 -n --no-progress -l --latency -I \
         --idReplacement -j --json -f --forever -s=name --servername=name -x \
         --excludeErrorStats -E=x --expectBody=x --renderStatusCodes --cert=f --key=f --ca=f \
         --debug --skipAggregateResult --json-stream",
    ),
    (
        "bombardier",
        "-c=5 -t=2s -l --latencies -m=GET -b=abc --body=f -f=f --body-file=f -s --stream \
         --cert=f --key=f -k --insecure --disableKeepAlives -a -H=A:b -n=5 -d=5s -r=5 --rate=5 \
         --fasthttp --http1 --http2 -p=i,p,r --print=i -q --no-print -o=json --format=json",
    ),
    (
        "h2load",
        "-n=5 -c=5 -t=1 -i=f -m=5 -f=16K --max-frame-size=16K -w=30 --window-bits=30 -W=30 \
         --connection-window-bits=30 -H=A:b --ciphers=X --tls13-ciphers=X -p=h2c -d=f --data=f \
         -r=5 --rate=5 --rate-period=1s -D=5s -T=5s --connection-active-timeout=5s -N=5s \
         --connection-inactivity-timeout=5s --timing-script-file=f -B=http://a/ \
         --base-uri=http://a/ --alpn-list=h2 --npn-list=h2 --h1 --header-table-size=4096 \
         --encoder-header-table-size=4096 --log-file=f --qlog-file-base=f --connect-to=a:80 \
         --rps=5 --groups=X25519 --no-udp-gso --max-udp-payload-size=1200 --ktls --sni=a -v \
         --verbose --warm-up-time=1s --clients=5 --requests=5 --threads=1 --duration=5s \
         --max-concurrent-streams=5 --no-tls-proto=h2c --output-file=f",
    ),
    (
        "siege",
        "-C --config -v --verbose -q --quiet -g -p --print -c=5 --concurrent=5 -r=5 --reps=5 \
         --time=5s -t=5S -d=1 --delay=1s -b --benchmark -i --internet -f=f --file=f -R=f --rc=f \
         -l --log=f -m=x --mark=x -H=A:b --header=A:b -A=x --user-agent=x -T=text/plain \
         --content-type=text/plain -j --json-output --no-parser --no-follow -o --output -G \
         --get=x",
    ),
    (
        "fortio",
        "-qps=5 -c=5 -t=5s -n=5 -p=50,99 -r=0.001 -H=A:b -loglevel=info -a -labels=x -http1.0 \
         -stdclient -keepalive -keepalive=false -timeout=5s -user=u:p -X=GET -payload=abc \
         -payload-file=f -payload-size=5 -content-type=x -compression -https-insecure -k -h2 \
         -cacert=f -cert=f -key=f -quiet -uniform -nocatchup -jitter -allow-initial-errors \
         -abort-on=503 -connection-reuse=5:10 -httpbufferkb=5 -data-dir=f -gomaxprocs=2 \
         -runid=5 -grpc -ping -s=5 -resolve=127.0.0.1 -resolve-ip-type=ip4 -sequential-warmup \
         -no-reresolve -offset=1s -log-errors -url=http://a/ -profile=f -access-log-file=f \
         -unix-socket=f -halfclose -curl -mtls -dns-method=cached -method=GET -percentiles=99 \
         -L -4 -6 -sync=f -config-dir=f -no-exit-on-error",
    ),
];

/// Words as a shell takes them, with single quotes.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

fn read(command: &str, line: &str) -> Result<LoadFlags, String> {
    let start = ["bakeoff", command].map(str::to_owned);
    let arguments = start.into_iter().chain(words(line)).map(OsString::from);
    match Flags::of(arguments.collect()) {
        Ok(Flags {
            command: Chosen::Measure(MeasureCommand::Load(flags)),
        }) => Ok(flags.load),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn first_commands_of_other_tools_are_understood_or_answered_in_one_line() {
    for (tool, commands) in FIRST {
        assert!(
            commands.len() >= 10 || tool.starts_with("autocannon"),
            "{tool}"
        );
        for (line, expected) in commands {
            let found = read("load", line);
            match expected {
                Ok(()) => assert!(found.is_ok(), "{tool} {line}: {found:?}"),
                Err(words) => {
                    let answer = found.err().unwrap_or_else(|| panic!("{tool} {line}"));
                    let first = answer.lines().next().unwrap_or_default();
                    assert!(first.contains(words), "{tool} {line}: {answer}");
                    assert!(!answer.contains("tip:"), "{tool} {line}: {answer}");
                }
            }
        }
    }
}

#[test]
fn each_flag_of_other_tools_is_understood_or_answered() {
    let unknown = ALL.iter().flat_map(|(tool, flags)| {
        let flags = flags.split_whitespace().filter_map(|flag| {
            let is_short = flag.split('=').next().is_some_and(|name| name.len() == 2);
            let flag = if is_short {
                flag.replacen('=', " ", 1)
            } else {
                flag.to_owned()
            };
            let answer = read("load", &format!("{flag} http://127.0.0.1/")).err()?;
            let is_of_clap = ["unexpected argument", "unexpected value", "tip:"]
                .iter()
                .any(|words| answer.contains(words));
            is_of_clap.then(|| format!("{tool} {flag}: {answer}"))
        });
        flags.collect::<Vec<_>>()
    });
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn what_is_the_same_thing_is_the_same_flag() {
    let flags = read(
        "load",
        "-connections 8 -rate=60/m -X PUT -I -a u:p http://a/",
    )
    .unwrap();
    assert_eq!(flags.amount.clients, 8);
    assert_eq!(flags.amount.rate.map(|rate| rate.from_per_s), Some(1.0));
    assert_eq!(flags.request.head.method.as_deref(), Some("PUT"));
    assert_eq!(flags.request.head.user.as_deref(), Some("Basic dTpw"));
    let flags = read("load", "--http2 -I --max-time 5s --data=-a https://a/").unwrap();
    assert_eq!(flags.way.protocol, crate::flags::ProtocolFlag::H2);
    assert_eq!(flags.request.head.method.as_deref(), Some("HEAD"));
    assert_eq!(flags.amount.timeout, Duration::from_secs(5));
    assert_eq!(flags.request.body.data, ["-a"]);
    let flags = read("load", "--compressed https://a/").unwrap();
    assert_eq!(flags.request.head.headers[0].0, "Accept-Encoding");
    let flags = read("load", "--connect-to a.test:443:[::1]:8443 https://a/").unwrap();
    assert_eq!(
        flags.way.connect_to.as_deref(),
        Some("a.test:443:[::1]:8443")
    );
}

#[test]
fn a_tip_is_of_a_flag_that_looks_like_what_was_typed() {
    let tip = |line: &str| read("load", line).unwrap_err();
    assert!(tip("--cleints 5 http://a/").contains("'--clients'"));
    for line in [
        "--post-file a http://a/",
        "--post-data a http://a/",
        "--dta a http://a/",
    ] {
        let answer = tip(line);
        assert!(
            !answer.contains("--duration") && !answer.contains("--input-file"),
            "{answer}"
        );
    }
}

#[test]
fn a_tip_is_of_a_command_that_looks_like_what_was_typed() {
    let tip = |command: &str| {
        let arguments = ["bakeoff", command].map(OsString::from).to_vec();
        Flags::of(arguments).unwrap_err().to_string()
    };
    assert!(tip("laod").contains("'load'"), "{}", tip("laod"));
    for command in ["version", "explain", "init"] {
        assert!(!tip(command).contains("tip:"), "{}", tip(command));
    }
}

#[test]
fn no_answer_repeats_what_may_be_secret() {
    for line in [
        "-d '{\"password\": \"sesame\"}' http://a/",
        "--json '{\"password\": \"sesame\"}' http://a/",
        "-u sesame http://a/",
        "-b token=sesame http://a/",
        "-F password=sesame http://a/",
    ] {
        let answer = read("load", line).unwrap_err();
        assert!(!answer.contains("sesame"), "{answer}");
    }
}

#[test]
fn a_race_has_the_flags_of_requests() {
    for line in [
        "-X POST --data a=1 http://a/ http://b/",
        "-u a:b --http2 https://a/ https://b/",
    ] {
        let arguments = ["bakeoff", "race"]
            .map(str::to_owned)
            .into_iter()
            .chain(words(line));
        let read = Flags::of(arguments.map(OsString::from).collect());
        assert!(read.is_ok(), "{line}: {read:?}");
    }
    let arguments = ["bakeoff", "race", "http://a/", "http://b/", "-F", "a=1"];
    let error = Flags::of(arguments.map(OsString::from).to_vec()).unwrap_err();
    assert!(error.to_string().contains("multipart/form-data"), "{error}");
}

#[test]
fn a_missing_command_is_named() {
    for line in [
        &["bakeoff", "http://a/"][..],
        &["bakeoff", "-t12", "-c400", "http://a/"],
    ] {
        let arguments = line.iter().map(OsString::from).collect();
        let error = Flags::of(arguments).unwrap_err().to_string();
        assert!(error.contains("`bakeoff load URL`"), "{error}");
    }
}

/// Lists of commands have one reader, which says of each what a reader of its own would.
#[test]
fn one_reader_answers_as_many_do() {
    let mut read = Flags::reader();
    for (_, commands) in FIRST {
        for (line, _) in commands {
            let start = ["bakeoff", "load"].map(str::to_owned).into_iter();
            let arguments: Vec<OsString> = start.chain(words(line)).map(OsString::from).collect();
            let shown = |read: Result<Flags, clap::Error>| match read {
                Ok(flags) => format!("{flags:?}"),
                Err(error) => error.to_string(),
            };
            assert_eq!(
                shown(read(arguments.clone())),
                shown(Flags::of(arguments)),
                "{line}"
            );
        }
    }
}
