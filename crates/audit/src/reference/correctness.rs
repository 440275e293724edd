//! Whether the answers were the right ones, and all of them came.

use bakeoff_plan::Changing;

use super::{Described, Limit, Text, check, invalid, not_run, note, suspect};
use crate::code::{Code, LATENCY, SOUND, TIMED};
use crate::limits::{
    BODY_SENT_SHARE, FAILED_SHARE, RECOVERY_S, WORKER_CPU_S, WORKER_LIVED_S, WORKER_LOST_SHARE,
    WORKER_LOST_WITHIN_S, WORKER_SHARE,
};

pub(super) const CHECKS: [Described; 9] = [
    Described {
        details: &[Text(
            "A failure that was seen is a fact: one of 60,000 requests is 0.0017 %, and suspect. \
             None of 3,000 passes, because no load of a few seconds could pass otherwise. The \
             check then says which share so few requests cannot rule out \
             ([why](statistics.md#failures-that-were-not-seen)).",
            &[],
        )],
        ..check(
            Code::FailedShare,
            "requests that are not `ok`, over all completed requests; in an open loop, over all \
             due ones",
            &[
                suspect(TIMED, "from {}", &[Limit::Percent(FAILED_SHARE)]),
                invalid(
                    TIMED,
                    "no request ended; in an open loop, none that was due",
                    &[],
                ),
            ],
            "Look at the outcomes: they name the kind of failure. The rate counts right answers \
             only, and latencies are of right answers only.",
        )
    },
    check(
        Code::WrongBody,
        "responses with the expected status and another body",
        &[invalid(SOUND, "one or more", &[])],
        "The server answers something else under load. Ask for the URL yourself, and look at the \
         server's error log.",
    ),
    check(
        Code::BodiesCompared,
        "bodies that were compared byte by byte in the window",
        &[
            not_run(SOUND, "none"),
            note(
                "none, as the body changes from answer to answer, or the plan does not say what \
                 it is: then status and length are compared",
                &[],
            ),
        ],
        "Other bodies are compared by length only. Measure for longer, so that one in 64 is \
         compared.",
    ),
    Described {
        details: &[Text(
            "If the body changes from answer to answer, as with an id and a time, the mean length \
             is held against the lengths of the first answers: it may lie {} beyond them, or {} \
             bytes, but no more than half below them. If those are farther apart by themselves, \
             lengths are not compared.",
            &[
                Limit::Percent(Changing::SHARE),
                Limit::Count(Changing::BYTES),
            ],
        )],
        ..check(
            Code::BodyBytes,
            "bytes of bodies over the bytes that the right answers have; only where one thing is \
         requested",
            &[invalid(
                TIMED,
                "below {}",
                &[Limit::Percent(BODY_SENT_SHARE)],
            )],
            "Bytes are missing. The answers under load are shorter than the answer before it.",
        )
    },
    check(
        Code::AnswerBefore,
        "an answer fetched before the window, with the expected one",
        &[
            not_run(SOUND, "no answer was compared"),
            invalid(SOUND, "the answer is wrong", &[]),
        ],
        "`bakeoff debug` starts the server as the trial did, so that you can look at its answer.",
    ),
    check(
        Code::AnswerAfter,
        "an answer fetched after the window, with the expected one",
        &[
            not_run(SOUND, "no answer was compared"),
            invalid(SOUND, "the answer is wrong", &[]),
        ],
        "The load broke the server. Its log in the run folder may say how.",
    ),
    check(
        Code::ServerAlive,
        "processes of the server in the window; over rounds, rounds in which it died under load",
        &[
            not_run(SOUND, "the processes were not watched"),
            suspect(
                SOUND,
                "it died in a round that nothing disturbed; the numbers are those of the other \
                 rounds",
                &[],
            ),
            invalid(SOUND, "no process was left in the window", &[]),
        ],
        "The report names the cause of death and shows the end of the server's output.",
    ),
    Described {
        details: &[
            Text(
                "Healthy servers end processes, too. Apache and PHP-FPM renew theirs after a \
                 number of requests, CGI starts one for each request, nginx has one that loads \
                 its cache, and a helper may compile something at the start. So the check fails \
                 only if all of this holds:\n- Processes of the server were gone at one of the \
                 ten readings in a second, and were there at the reading before. A shell that \
                 becomes another program by `exec` has not ended.\n- Each was there before the \
                 load began, or for {} s.\n- Together they had used {} of the CPU time that the \
                 server had used since sampling began, and {} s.\n- Within {} s at least one \
                 request had its connection refused, closed or reset, and so did {} of the \
                 requests that the processes had in flight by their share of the CPU time.",
                &[
                    Limit::Plain(WORKER_LIVED_S),
                    Limit::Percent(WORKER_SHARE),
                    Limit::Plain(WORKER_CPU_S),
                    Limit::Plain(WORKER_LOST_WITHIN_S),
                    Limit::Percent(WORKER_LOST_SHARE),
                ],
            ),
            Text(
                "If only the last one does not hold, the check is a note: a reload, or a process \
                 that was renewed in order. So a server that restarts between two requests is a \
                 note. If one of more than ten equal processes ends alone, only `failed-share` \
                 shows it. A process that ends within 0.1 s of its start is not seen. Processes \
                 of a server at a `url` on another machine are not seen at all.",
                &[],
            ),
        ],
        ..check(
            Code::ServerRestarted,
            "share of the server's CPU time so far that was used by processes that ended in the \
             window",
            &[
                not_run(SOUND, "the record does not hold which processes ended"),
                note("they ended in order, without losing requests", &[]),
                invalid(
                    SOUND,
                    "from {}, if {} of their requests were lost",
                    &[
                        Limit::Percent(WORKER_SHARE),
                        Limit::Percent(WORKER_LOST_SHARE),
                    ],
                ),
            ],
            "The server crashed under load, or a supervisor restarted it. Look at its log.",
        )
    },
    check(
        Code::Recovered,
        "time from the end of the load to the server's next answer; bakeoff waits three times the \
         timeout of requests",
        &[
            not_run(LATENCY, "the server was not asked again"),
            note("above {} s, or no answer", &[Limit::Plain(RECOVERY_S)]),
        ],
        "The server was still working through its queue. The load was beyond its capacity.",
    ),
];
