//! What of bakeoff's own environment a server of a folder does not get.
//!
//! It inherits the rest, because configurations use variables. What sends requests through a proxy,
//! or tunes a runtime or a library, acts on those contenders alone that know it, and no
//! configuration shows it. What the server's folder sets comes to the server all the same.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Which proxies to ask, in small or in capital letters.
const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"];
/// Settings of Go, of OpenSSL, of the C library and of allocators, and what is loaded into programs
/// that are linked dynamically, which is often an allocator.
const TUNING: [&str; 9] = [
    "GOGC",
    "GOMEMLIMIT",
    "GODEBUG",
    "GOMAXPROCS",
    "OPENSSL_CONF",
    "OPENSSL_ia32cap",
    "GLIBC_TUNABLES",
    "LD_PRELOAD",
    "_RJEM_MALLOC_CONF",
];
/// What names of other settings of allocators begin with.
const ALLOCATORS: [&str; 2] = ["MALLOC_", "TCMALLOC_"];

/// Whether no server of a folder gets this variable from bakeoff's own environment.
fn is_withheld(name: &str) -> bool {
    PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy))
        || TUNING.contains(&name)
        || ALLOCATORS.iter().any(|family| name.starts_with(family))
}

/// The value of a variable as a server of a folder gets it from bakeoff's own environment.
pub(crate) fn inherited(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|_| !is_withheld(name))
}

/// Names of the variables of bakeoff's own environment that a server does not get, of whose folder
/// `declared` are the variables, and `given` those with a value.
pub(crate) fn withheld(
    declared: &BTreeMap<String, String>,
    given: &[(String, String)],
) -> Vec<String> {
    let own = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut names = among(own, declared, given);
    names.sort();
    names
}

fn among(
    own: impl Iterator<Item = String>,
    declared: &BTreeMap<String, String>,
    given: &[(String, String)],
) -> Vec<String> {
    let is_given = |name: &String| given.iter().any(|(known, _)| known == name);
    // What is declared and comes to nothing is not to be set at all.
    own.filter(|name| is_withheld(name) || declared.contains_key(name))
        .filter(|name| !is_given(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_and_tuning_are_withheld_unless_the_folder_gives_them() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let own = [
            "PATH",
            "HOME",
            "http_proxy",
            "HTTPS_PROXY",
            "No_Proxy",
            "GOGC",
            "GODEBUG",
            "MALLOC_ARENA_MAX",
            "MALLOCATED",
            "EMPTY",
            "LD_LIBRARY_PATH",
        ];
        let declared = [
            pair("HTTPS_PROXY", "http://127.0.0.1:9"),
            pair("EMPTY", "{% if false %}1{% endif %}"),
            pair("HOME", "{{ run }}"),
        ];
        let given = [
            pair("HTTPS_PROXY", "http://127.0.0.1:9"),
            pair("HOME", "/run"),
        ];
        let own = own.into_iter().map(str::to_owned);
        let names = among(own, &BTreeMap::from(declared), &given);
        let expected = [
            "http_proxy",
            "No_Proxy",
            "GOGC",
            "GODEBUG",
            "MALLOC_ARENA_MAX",
            "EMPTY",
        ];
        assert_eq!(names, expected);
    }
}
