//! Names of what users' own files store or listen at, below a trial's folder.
//!
//! Of a path only its last part is kept, so that what two paths end with is numbered.

use std::cell::RefCell;
use std::collections::BTreeMap;

/// A name for each path, no two of them the same.
#[derive(Debug, Default)]
pub(crate) struct Names(RefCell<BTreeMap<String, String>>);

impl Names {
    /// The name that stands for a path as a file has it, the same one each time.
    pub(super) fn of(&self, path: &str) -> String {
        let path = path.trim_matches(['"', '\'']).trim_end_matches('/');
        let mut names = self.0.borrow_mut();
        if let Some(name) = names.get(path) {
            return name.clone();
        }
        let last = path.rsplit(['/', '@', ':']).next().unwrap_or_default();
        let numbered = (2_usize..).map(|number| format!("{number}-{last}"));
        let mut all = std::iter::once(last.to_owned()).chain(numbered);
        let is_new = |name: &String| !names.values().any(|taken| taken == name);
        let name = all.find(is_new).unwrap_or_default();
        names.insert(path.to_owned(), name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_end_alike_have_names_of_their_own() {
        let names = Names::default();
        for (path, name) in [
            ("/a/cache", "cache"),
            ("\"/b/cache\"", "2-cache"),
            ("/c/cache/", "3-cache"),
            ("'/a/cache'", "cache"),
            ("unix:/run/a b/web.sock", "web.sock"),
            ("/run/web.sock", "2-web.sock"),
            ("abns@x", "x"),
            ("unix@y", "y"),
        ] {
            assert_eq!(names.of(path), name, "{path}");
        }
    }
}
