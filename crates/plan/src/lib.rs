//! Plans: turns contenders, workloads and loads into trials in a fixed order.
//!
//! ```text
//! plan.toml ──► file ──► check ──► resolve ──► Plan ──► order ──► [Trial]
//!                          workloads ──┘         │ with(Overrides)
//!                                                └──► write ──► plan.toml, nothing left open
//! ```
//!
//! A pure crate: it reads no files and no clock. Text goes in, and ready values come out.

mod named;

mod change;
mod changes;
mod client;
mod contender;
mod course;
mod model;
mod overload;
mod placeholder;
mod request;
mod search;
mod trial;
mod url;
mod variants;

mod action;
mod ascii;
mod check;
mod choice;
mod container;
mod contenders;
mod curl;
mod demand;
mod duration;
mod error;
mod file;
mod headers;
mod hosts;
mod in_order;
mod limits;
mod list;
mod loads;
mod nearest;
mod overloads;
mod protocols;
mod replay;
mod requests;
mod resolve;
mod rules;
mod searches;
mod source;
mod stored;
mod workload;

mod overrides;
mod write;

pub mod content;
mod library;
mod load;
mod order;
mod pinning;
mod protocol;
mod question;
mod random;
mod readiness;
mod schedule;
mod timed;

pub use action::{Action, Actions};
pub use ascii::{ascii_authority, encoded_target};
pub use change::{Change, Suspicion};
pub use changes::CHANGE_RATE;
pub use client::{Client, ClientCertificate, ProxyVersion, Resumption};
pub use container::{
    ContainerSource, MountedConfig, OwnCompose, OwnContainer, OwnImage, check_image,
};
pub use contender::*;
pub use contenders::RESERVED;
pub use content::{Content, ContentKind, Encoding, ServedFile};
pub use course::{Budget, CONTROL_FROM, CompareMode, REPEAT_FROM, References, Until};
pub use curl::{CurlCommand, curl_commands};
pub use demand::{Delay, Demand, SlowBody};
pub use duration::{DurationError, format_duration, parse_duration};
pub use error::{Place, PlanError};
pub use file::{LogFormat, plan_schema, workload_schema};
pub use headers::{USER_AGENT, own_header, repeated_header, with_user_agent};
pub use hosts::{HOME, Host, HostRoles, HostWay, Hosts, Pods, hosts_schema};
pub use in_order::{distinct, grouped};
pub use library::{
    Builtin, Library, Published, PublishedRow, builtin_plan, builtin_plans, builtin_workloads,
    first_sentence, published,
};
pub use limits::Limits;
pub use list::{ListError, ListedBody, ListedRequest, parse_request_list};
pub use load::{Connect, Load, LoadModel};
pub use model::{Plan, Workload};
pub use nearest::nearest;
pub use order::{
    Block, TRIAL_OVERHEAD, blocks, expected, expected_duration, trials, why_no_references,
};
pub use overload::{Overload, Purpose, RUNGS_MAX, Ramp, STEPS_MAX};
pub use overrides::{Overrides, RoundsAsked};
pub use pinning::{Cpus, Pinning};
pub use placeholder::{Tables, ValueTable, joined_placeholders};
pub use protocol::Protocol;
pub use question::Question;
pub use random::Random;
pub use readiness::Readiness;
pub use replay::{AccessLog, Page, PageRequest, is_redirect};
pub use request::{
    Changing, Connections, Expected, KnownBy, Request, RequestBody, Requests, SentBody,
};
pub use requests::REQUESTS_MAX;
pub use resolve::parse;
pub use rules::{CLIENTS_MAX, DURATION_MAX};
pub use schedule::{Arrival, RateShape, Schedule};
pub use search::{CONFIRMING, GOALS_MAX, Goal, GoalError, Objective, Search, goals, parse_errors};
pub use timed::next_timed;
pub use trial::{CONTROL_MARK, Group, Trial, attempt_id, control_name};
pub use url::Url;
pub use variants::{Cut, Values, Variant};
pub use workload::parse_workload;
