//! Where bakeoff keeps what can be had again: installed programs, what histories took from records.

use std::path::PathBuf;

/// The folder `bakeoff` of the user's cache: below `XDG_CACHE_HOME` where that is absolute, else
/// below `HOME`; `None` without either.
pub fn cache_folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    cache_folder_of(variable("XDG_CACHE_HOME"), variable("HOME"))
}

/// The same from the values of `XDG_CACHE_HOME` and `HOME`. An empty value means the same as none.
fn cache_folder_of(cache: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let is_set = |path: &PathBuf| path.is_absolute();
    cache
        .filter(is_set)
        .or_else(|| home.filter(is_set).map(|home| home.join(".cache")))
        .map(|cache| cache.join("bakeoff"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: [&str; 2], expected: Option<&str>) {
        let [cache, home] = values.map(|value| (value != "none").then(|| PathBuf::from(value)));
        assert_eq!(cache_folder_of(cache, home), expected.map(PathBuf::from));
    }

    #[test]
    fn the_cache_is_absolute_and_an_empty_value_is_none() {
        check(["none", "/home/me"], Some("/home/me/.cache/bakeoff"));
        check(["", "/home/me"], Some("/home/me/.cache/bakeoff"));
        check(["relative", "/home/me"], Some("/home/me/.cache/bakeoff"));
        check(["/cache", "/home/me"], Some("/cache/bakeoff"));
        check(["/cache", "none"], Some("/cache/bakeoff"));
        check(["none", ""], None);
        check(["none", "relative"], None);
    }
}
