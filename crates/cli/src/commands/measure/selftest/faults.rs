//! The faults that `bakeoff selftest` plants. Each has a twin without the fault, and names the
//! check or sentence that must report it.
//!
//! This file only lists them. `selftest.rs` runs the campaigns and compares.

use bakeoff_report::view::{Code, Limiter, OverloadClass};

use super::seen::Finds;
use super::setup::{Campaign, Disturber, On, Server, Setup};

/// A fault.
pub(super) struct Fault {
    /// Stable name.
    pub(super) name: &'static str,
    /// Requirement in `docs/checks.md`.
    pub(super) rule: &'static str,
    /// What is planted.
    pub(super) planted: &'static str,
    pub(super) finds: Finds,
    /// Whether it is found however busy the machine is, in a short time.
    pub(super) certain: bool,
    /// The set-up with the fault, or its twin without it.
    pub(super) setup: fn(bool) -> Setup,
}

const CERTAIN: bool = true;
const TIMED: bool = false;

/// A list of faults: whether it is certain, its name, its requirement, what is planted, what finds
/// it, and its set-up.
macro_rules! faults {
    ($($certain:ident $name:literal $rule:ident $planted:literal: $finds:expr, $setup:expr;)+) => {
        vec![$(Fault {
            name: $name,
            rule: stringify!($rule),
            planted: $planted,
            finds: $finds,
            certain: $certain,
            setup: $setup,
        }),+]
    };
}

/// All faults: wrong answers, connections, upstreams, unequal work, the course of a load, the
/// engine, other programs, overload, limits, bottlenecks, comparisons, and what is no fault.
pub(super) fn all() -> Vec<Fault> {
    let all = [
        answers(),
        connections(),
        upstreams(),
        unequal_work(),
        courses(),
        stops(),
        engine_and_machine(),
        beyond(),
        limits(),
        bottlenecks(),
        comparisons(),
        sound(),
    ];
    all.into_iter().flatten().collect()
}

/// Arguments of a server: with the fault, or without.
fn with(planted: bool, own: &str, fault: &str) -> String {
    format!("{own} {}", if planted { fault } else { "" })
}

/// A server of a closed loop.
fn closed(planted: bool, fault: &str) -> Setup {
    Setup::Campaign(one(planted, fault))
}

fn one(planted: bool, fault: &str) -> Campaign {
    Campaign::closed(&with(planted, "--work 1ms", fault))
}

fn answers() -> Vec<Fault> {
    faults! {
        CERTAIN "wrong-body" R15
            "a server sends one body in 20 with other bytes of the same length":
            Finds::Invalid(&[Code::WrongBody]), |planted| closed(planted, "--fault wrong-body");
        CERTAIN "short-body" R17 "a server sends half of one body in 20 and closes":
            Finds::Weakened(&[Code::FailedShare]), |planted| closed(planted, "--fault short-body");
        CERTAIN "wrong-status" R17 "a server answers 503, three times as fast as before":
            Finds::Weakened(&[Code::FailedShare]),
            |planted| closed(planted, "--fault wrong-status --at 300ms");
        CERTAIN "die" R38 "a server's process ends in the window":
            Finds::Weakened(&[Code::ServerAlive, Code::TrialEnded]),
            |planted| closed(planted, "--fault die --at 700ms");
        CERTAIN "hang" R15 "a server answers nobody from the middle of the window on, for good":
            Finds::Present(&[Code::AnswerAfter]),
            |planted| closed(planted, "--fault stop --at 700ms");
        TIMED "restart" R38
            "a server's worker process ends in the window, and its master starts another one":
            Finds::Weakened(&[Code::ServerRestarted]),
            |planted| closed(planted, "--fault restart --at 700ms");
        CERTAIN "fast-failure" R39
            "of two servers the one that answers 503 at once has three times as many answers":
            Finds::NeverWins(Code::FailedShare), |planted| {
                let other = with(planted, "--work 1ms", "--fault wrong-status --at 100ms");
                Setup::Campaign(Campaign::closed("--work 1ms").against(&other).rounds(3))
            };
    }
}

fn connections() -> Vec<Fault> {
    faults! {
        CERTAIN "reset" R17 "a server resets one connection in 20 answers":
            Finds::Weakened(&[Code::FailedShare]), |planted| closed(planted, "--fault reset");
        CERTAIN "refuse" R17 "a server ends all connections in the window and refuses new ones":
            Finds::Weakened(&[Code::FailedShare, Code::AnswerAfter]),
            |planted| closed(planted, "--fault refuse --at 500ms");
        CERTAIN "starve" R31 "a server answers every other connection only":
            Finds::Invalid(&[Code::Starved]), |planted| closed(planted, "--fault starve");
        TIMED "accept-queue" R37
            "a server accepts ten connections a second and has room for four that wait; each \
             request takes a connection":
            Finds::Weakened(&[Code::AcceptQueue, Code::ListenOverflows]), |planted| {
                Setup::Campaign(Campaign {
                    load: "clients = 16".to_owned(),
                    workload: "connections = \"new\"",
                    ..one(planted, "--fault backlog")
                })
            };
        TIMED "foreign-overflow" R37
            "another program's accept queue overflows; the trial is not to be blamed":
            Finds::Noted(&[Code::ForeignOverflow]), |planted| {
                let mut campaign = Campaign::closed("--work 1ms");
                if planted {
                    let arguments = &["flood"];
                    let on = On::Engine;
                    campaign.beside.push(Disturber { arguments, on });
                }
                Setup::Campaign(campaign)
            };
    }
}

const PROXY: &str = "--work 1ms --origin {origin}";

/// A proxy before the built-in upstream.
fn proxy(planted: bool, fault: &str) -> Campaign {
    Campaign {
        workload: "proxied = true",
        ..Campaign::closed(&with(planted, PROXY, fault))
    }
}

fn upstreams() -> Vec<Fault> {
    faults! {
        CERTAIN "cache" R32 "a proxy answers every other request without asking its upstream":
            Finds::Weakened(&[Code::OriginAsked]),
            |planted| Setup::Campaign(proxy(planted, "--fault cache"));
        TIMED "backend-bound" R34 "the upstream answers one request at a time, in 5 ms":
            Finds::Weakened(&[Code::BackendBound]), |planted| {
                Setup::Campaign(Campaign {
                    workload: if planted {
                        "proxied = true\norigin = { delay = \"5ms\", workers = 1 }"
                    } else {
                        "proxied = true"
                    },
                    references: &["origin"],
                    ..proxy(false, "")
                })
            };
    }
}

/// Two servers, of which the second one does other work.
fn pair(planted: bool, fault: &str, workload: &'static str) -> Setup {
    let other = with(planted, "--work 500us", fault);
    let campaign = Campaign::closed("--work 500us").against(&other);
    Setup::Campaign(Campaign {
        workload,
        ..campaign
    })
}

fn unequal_work() -> Vec<Fault> {
    faults! {
        CERTAIN "log" R16 "one of two servers writes a line to a log for each answer":
            Finds::Unequal(&[Code::Equal("equal-access-log")]),
            |planted| pair(planted, "--fault log", "");
        CERTAIN "keep-alive-off" R16 "one of two servers ends each connection after an answer":
            Finds::Unequal(&[Code::Equal("equal-keep-alive")]),
            |planted| pair(planted, "--fault close", "");
        CERTAIN "compression" R16 "one of two servers compresses bodies":
            Finds::Unequal(&[Code::Equal("equal-encoding")]), |planted| {
                let workload = "headers = [\"Accept-Encoding: gzip\"]\nexpect.body = \"first\"";
                pair(planted, "--fault compress", workload)
            };
        CERTAIN "new-upstream" R16
            "one of two proxies makes a connection to the upstream for each request":
            Finds::Unequal(&[Code::Equal("equal-upstream-connections")]), |planted| {
                let other = with(planted, PROXY, "--fault new-upstream");
                Setup::Campaign(proxy(false, "").against(&other))
            };
    }
}

/// The same over a window that is long enough for a course.
fn course(planted: bool, fault: &str) -> Setup {
    Setup::Campaign(one(planted, fault).window_ms(2000))
}

fn courses() -> Vec<Fault> {
    faults! {
        TIMED "warm-up-too-short" R24
            "a server is three times as slow for 0.7 s longer than the warm-up":
            Finds::Weakened(&[Code::NotSteady]),
            |planted| course(planted, "--fault slow --lasts 1s");
        TIMED "slows-down" R24 "a server becomes three times as slow in the middle of the window":
            Finds::Weakened(&[Code::NotSteady]),
            |planted| course(planted, "--fault slow --at 1200ms");
        TIMED "frozen-warm-up" R24
            "a server stands still from the warm-up until 0.5 s into the window":
            Finds::Weakened(&[Code::NotSteady, Code::Starved]),
            |planted| course(planted, "--fault stop --at 100ms --lasts 700ms");
        TIMED "beyond-capacity" R31 "an open loop asks for 1,500/s of a server that can do 1,000/s":
            Finds::Weakened(&[Code::QueueGrows, Code::Unended, Code::ScheduleKept]), |planted| {
                let rate = if planted { 1500 } else { 300 };
                Setup::Campaign(Campaign::open(rate, "--work 1ms"))
            };
    }
}

/// An open loop of 600/s over 2 s whose server stands still for a while.
fn stop(planted: bool, fault: &str) -> Setup {
    let server = with(planted, "--work 100us", fault);
    let mut campaign = Campaign::open(600, &server).window_ms(2000);
    campaign.load = "rate = 600\narrival = \"constant\"\nclients = 64\ntimeout = \"3s\"".to_owned();
    Setup::Campaign(campaign)
}

fn stops() -> Vec<Fault> {
    faults! {
        TIMED "stop-600ms" R4
            "a server stands still for 0.6 s of 2 s: p99 is 0.58 s, and not that of those who came":
            Finds::P99Ms(580.0), |planted| stop(planted, "--fault stop --at 700ms --lasts 600ms");
        TIMED "stop-200ms" R4 "a server stands still for 0.2 s of 2 s: p99 is 0.18 s":
            Finds::P99Ms(180.0), |planted| stop(planted, "--fault stop --at 700ms --lasts 200ms");
        CERTAIN "stop-at-the-end" R5 "a server stands still from 0.5 s before the window's end on":
            Finds::Weakened(&[Code::Unended, Code::AnswerAfter]), |planted| {
                let server = with(planted, "--work 300us", "--fault stop --at 600ms");
                Setup::Campaign(Campaign::open(200, &server))
            };
    }
}

/// A program that computes on four threads.
const SPIN: &[&str] = &["spin", "--threads", "4"];

fn beside(planted: bool, mut campaign: Campaign, on: On) -> Setup {
    if planted {
        let arguments = SPIN;
        campaign.beside.push(Disturber { arguments, on });
    }
    Setup::Campaign(campaign)
}

fn engine_and_machine() -> Vec<Fault> {
    faults! {
        TIMED "engine-starved" R13
            "four threads of another program compute on the load engine's processor":
            Finds::Weakened(&[Code::EngineKept, Code::SendLag]),
            |planted| beside(planted, Campaign::open(1000, "--work 200us"), On::Engine);
        TIMED "server-starved" R36
            "four threads of another program compute on the server's processor":
            Finds::Weakened(&[Code::OtherLoad]),
            |planted| beside(planted, Campaign::closed("--work 1ms"), On::Server);
        TIMED "engine-full" R13
            "a closed loop at the built-in null server, which is faster than the engine":
            Finds::Weakened(&[Code::EngineBusy]), |planted| {
                let server = if planted {
                    Server::Null
                } else {
                    Server::Faulty("--work 1ms".to_owned())
                };
                Setup::Campaign(Campaign::of("clients = 32", server))
            };
        TIMED "generator-ceiling" R10
            "a server that does nothing, beside the yardstick, over 3 rounds":
            Finds::Present(&[Code::GeneratorCeiling]), |planted| {
                let server = if planted {
                    Server::Null
                } else {
                    Server::Faulty("--work 1ms".to_owned())
                };
                // One round is one pair of rates, which may be a fifth apart on a virtual machine.
                Setup::Campaign(Campaign {
                    references: &["yardstick"],
                    ..Campaign::of("clients = 32", server).rounds(3)
                })
            };
        TIMED "schedule-not-kept" R7
            "an open loop of 300,000/s, which is more than one engine can send":
            Finds::Weakened(&[Code::ScheduleKept, Code::EngineBusy]), |planted| {
                let rate = if planted { 300_000 } else { 300 };
                let load = format!("rate = {rate}\nclients = 32");
                Setup::Campaign(Campaign::of(&load, Server::Null).window_ms(600))
            };
    }
}

fn bottlenecks() -> Vec<Fault> {
    faults! {
        TIMED "single-core" R34 "a server of one worker has two processors":
            Finds::Bottleneck(&[Limiter::SingleCore]), |planted| {
                let workers = if planted { 1 } else { 2 };
                let server = format!("--work 1ms --workers {workers}");
                Setup::Campaign(Campaign {
                    pinning: "server = [0, 1]",
                    ..Campaign::closed(&server)
                })
            };
        TIMED "network-bound" R34
            "all answers of a server share a link of 4 MB/s; the server's processor is not the \
             limit and must not be called that":
            Finds::Bottleneck(&[Limiter::Unknown, Limiter::Network]), |planted| {
                Setup::Campaign(Campaign {
                    body: 20_000,
                    ..one(planted, "--fault pace")
                })
            };
    }
}

/// Two servers over rounds; the second one's work takes so many microseconds.
/// The ratio of two rates where one answer takes 3.3 ms of work and the other 3 ms. What a server
/// does besides is the same for both, up to 0.1 ms: 0.9 % of the difference at 0.03 ms, which
/// intervals of a quiet machine leave out.
const TENTH_LESS: Finds = Finds::Ratio(3.0 / 3.3, 3.1 / 3.4);

fn race(second_us: u32, rounds: u32, fault: &str) -> Setup {
    let first = format!("--work 3ms {fault}");
    let second = format!("--work {second_us}us {fault}");
    let campaign = Campaign::closed(&first).against(&second).rounds(rounds);
    Setup::Campaign(Campaign {
        times_ms: (200, 600),
        ..campaign
    })
}

/// Servers without a difference, for the pairs.
pub(super) fn equals() -> Setup {
    race(3000, 6, "")
}

fn comparisons() -> Vec<Fault> {
    faults! {
        TIMED "ten-per-cent" R20
            "of two servers the second one takes 10 % longer for an answer, over 10 rounds":
            TENTH_LESS, |planted| race(if planted { 3300 } else { 3000 }, 10, "");
        TIMED "drift" R19 "the same while both become slower by 1 % a second":
            TENTH_LESS, |planted| race(if planted { 3300 } else { 3000 }, 10, "--fault drift");
        TIMED "too-few-rounds" R18
            "a difference of 10 % after two rounds, which must not be called one":
            Finds::NotShown, |planted| race(3300, if planted { 2 } else { 10 }, "");
        TIMED "two-modes" R25 "every other start of a server is slower by half":
            Finds::Noted(&[Code::TwoModes]), |planted| {
                let campaign = one(planted, "--fault modes").rounds(8);
                Setup::Campaign(campaign.window_ms(600))
            };
        CERTAIN "rounds-missing" R18 "every other start of a server fails":
            Finds::Weakened(&[Code::RoundsComplete]), |planted| {
                let campaign = one(planted, "--fault fail").rounds(3);
                Setup::Campaign(campaign.window_ms(400))
            };
    }
}

/// A server that can do 200 requests a second and is asked for 800, with the fault in that step.
fn ramp(planted: bool, fault: &str) -> Setup {
    Setup::Campaign(Campaign::ramp(&with(planted, "--work 5ms", fault)))
}

/// What servers do beyond their capacity, judged as `bakeoff overload` judges it.
fn beyond() -> Vec<Fault> {
    faults! {
        TIMED "die-in-overload" R38 "a server's process ends at four times its capacity":
            Finds::Class(&[OverloadClass::Crash]),
            |planted| ramp(planted, "--fault die --at 4500ms");
        TIMED "hang-in-overload" R38
            "a server answers nobody any more from four times its capacity on, also when the load \
             has gone back":
            Finds::Class(&[OverloadClass::Metastable, OverloadClass::Stall]),
            |planted| ramp(planted, "--fault stop --at 4500ms");
    }
}

/// Limits on open files and ports.
fn limits() -> Vec<Fault> {
    faults! {
        CERTAIN "engine-files" R12 "200 clients where the load may open 128 files":
            Finds::Refused(&["open files"]), |planted| {
                Setup::Line(if planted {
                    "ulimit -n 128; \"$0\" load -c 200 -d 300ms --timeout 300ms \
                         http://127.0.0.1:1/"
                } else {
                    "ulimit -n 128; \"$0\" load -c 8 -d 300ms --timeout 300ms \
                         http://127.0.0.1:1/"
                })
            };
        TIMED "engine-ports" R12 "300 connections from a network with 100 ports":
            Finds::Refused(&["port"]),
            |planted| Setup::Line(if planted { PORTS_100 } else { PORTS_1000 });
        TIMED "server-fd-limit" R34 "a server may open 64 files, and has 100 clients":
            Finds::Weakened(&[Code::FdLimit]), |planted| {
                let server = "--work 1ms".to_owned();
                let server = if planted {
                    Server::FewFiles(server, 64)
                } else {
                    Server::Faulty(server)
                };
                Setup::Campaign(Campaign::of("clients = 100", server))
            };
        CERTAIN "server-files" R16 "one of two servers may open 20 files, and has 32 clients":
            Finds::Unequal(&[Code::Equal("equal-open-files")]), |planted| {
                let server = || Server::Faulty("--work 1ms".to_owned());
                let mut campaign = Campaign::of("clients = 32", server());
                campaign.contenders.push(if planted {
                    Server::FewFiles("--work 1ms".to_owned(), 20)
                } else {
                    server()
                });
                Setup::Campaign(campaign)
            };
    }
}

const PORTS_100: &str = "unshare -rn sh -c 'ip link set lo up && \
    echo 20000 20099 >/proc/sys/net/ipv4/ip_local_port_range && \
    \"$0\" load -c 300 -d 300ms --timeout 300ms http://127.0.0.1:1/' \"$0\"";
const PORTS_1000: &str = "unshare -rn sh -c 'ip link set lo up && \
    echo 20000 20999 >/proc/sys/net/ipv4/ip_local_port_range && \
    \"$0\" load -c 300 -d 300ms --timeout 300ms http://127.0.0.1:1/' \"$0\"";

/// Set-ups in which nothing is wrong, and which a check could take for a fault.
fn sound() -> Vec<Fault> {
    faults! {
        TIMED "new-connections" R31
            "nothing: each request takes a connection of its own, and no check may doubt that":
            Finds::Nothing,
            // With and without the fault it is the same.
            |_| {
                // Beside 24 ms the load engine's own time is little.
                let campaign = Campaign::closed("--work 3ms").window_ms(2000);
                Setup::Campaign(Campaign {
                    workload: "connections = \"new\"",
                    ..campaign
                })
            };
    }
}
