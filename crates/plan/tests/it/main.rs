//! Plan files, workloads and logs: what they mean, and the messages where they are wrong.

mod messages;
mod properties;
mod replay;
mod schema;
mod workload_messages;
