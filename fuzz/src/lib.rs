//! One check for each reader of outside bytes, as a function of any bytes.
//!
//! `tests/replay.rs` runs each on the project's own files, on changed copies of them and on random
//! bytes, in every `make test`. `make fuzz` searches with coverage: `main.rs`.

mod access_log;
mod curl_list;
mod engine;
mod found;
mod h2_frames;
mod h3_frames;
mod host_frames;
mod hosts_file;
mod hpack;
mod http1_response;
mod kernel_texts;
mod load_document;
mod origin_h2;
mod origin_h3;
mod origin_request;
mod placeholders;
mod plan_file;
mod published;
mod qpack;
mod request_list;
mod server_counters;
mod server_toml;
mod trial_line;
mod trial_sums;

use arbitrary::{Arbitrary, Unstructured};

/// A reader and what it must keep.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its module.
    pub name: &'static str,
    /// Panics where the reader breaks a promise on these bytes.
    pub check: fn(&[u8]),
    /// Folders of the repository with files that the reader accepts, or nearly.
    pub seeds: &'static [&'static str],
}

/// A row of [`TARGETS`]: the module's name and the folders of its seeds.
macro_rules! target {
    ($name:ident $(, $seeds:literal)*) => {
        Target {
            name: stringify!($name),
            check: |bytes| with(bytes, $name::check),
            seeds: &[$($seeds),*],
        }
    };
}

/// Every target.
pub const TARGETS: [Target; 24] = [
    target!(access_log, "fuzz/seeds/access_log"),
    target!(curl_list, "fuzz/seeds/curl_list"),
    target!(engine, "fuzz/seeds/engine"),
    target!(found, "tests/own"),
    target!(h2_frames),
    target!(h3_frames),
    target!(host_frames),
    target!(hosts_file, "fuzz/seeds/hosts_file"),
    target!(hpack),
    target!(http1_response, "fuzz/seeds/http1_response"),
    target!(kernel_texts, "fuzz/seeds/kernel_texts"),
    target!(load_document, "crates/published/tests/data"),
    target!(origin_h2),
    target!(origin_h3),
    target!(origin_request, "fuzz/seeds/origin_request"),
    target!(placeholders, "fuzz/seeds/placeholders"),
    target!(plan_file, "plans", "workloads"),
    target!(published, "crates/published/tests/data"),
    target!(qpack),
    target!(request_list, "fuzz/seeds/request_list"),
    target!(server_counters, "fuzz/seeds/server_counters"),
    target!(server_toml, "servers"),
    target!(trial_line, "crates/record/tests"),
    target!(trial_sums, "crates/record/tests"),
];

/// Makes what a check takes out of bytes, as libFuzzer's macro does. Too few bytes are no input.
fn with<'a, T: Arbitrary<'a>>(bytes: &'a [u8], check: fn(T)) {
    if let Ok(input) = T::arbitrary_take_rest(Unstructured::new(bytes)) {
        check(input);
    }
}
