//! Where a path leads on this disk, followed as the kernel does, and what is passed on the way.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Links that are followed for one path; the kernel stops there too.
const LINKS_MAX: usize = 40;

/// What was passed on the way to files. No path in it has a link or `..` in its folders.
#[derive(Debug, Clone, Default)]
pub(super) struct Trail {
    pub(super) folders: BTreeSet<PathBuf>,
    pub(super) links: BTreeSet<PathBuf>,
}

/// A step on the way.
enum Part {
    Root,
    Up,
    Down(OsString),
}

impl Trail {
    /// Where `path` leads, which begins in `folder`: an absolute path without links or `..`.
    pub(super) fn follow(&mut self, folder: &Path, path: &Path) -> io::Result<PathBuf> {
        let mut real = folder.to_owned();
        let mut left = Vec::new();
        push(&mut left, path);
        let mut links = 0;
        while let Some(part) = left.pop() {
            let name = match part {
                Part::Root => {
                    real = PathBuf::from("/");
                    continue;
                }
                Part::Up => {
                    self.pass(&real)?;
                    real.pop();
                    continue;
                }
                Part::Down(name) => name,
            };
            let here = real.join(name);
            if !here.symlink_metadata()?.is_symlink() {
                self.pass(&real)?;
                real = here;
                continue;
            }
            links += 1;
            if links > LINKS_MAX {
                return Err(io::Error::from(rustix::io::Errno::LOOP));
            }
            let to = std::fs::read_link(&here)?;
            self.pass(&real)?;
            self.links.insert(here);
            push(&mut left, &to);
        }
        Ok(real)
    }

    /// Notes a folder that is left, upwards or downwards.
    fn pass(&mut self, folder: &Path) -> io::Result<()> {
        if !self.folders.contains(folder) {
            if !folder.is_dir() {
                return Err(io::Error::from(io::ErrorKind::NotADirectory));
            }
            self.folders.insert(folder.to_owned());
        }
        Ok(())
    }
}

/// Puts the parts of a path on top of those that are left.
fn push(left: &mut Vec<Part>, path: &Path) {
    left.extend(path.components().rev().filter_map(|part| match part {
        Component::RootDir => Some(Part::Root),
        Component::ParentDir => Some(Part::Up),
        Component::Normal(name) => Some(Part::Down(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    }));
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_leads_where_the_kernel_leads_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/file"), "").unwrap();
        for (to, link) in [
            ("a/b", "down"),
            ("../../a/file", "a/b/up"),
            ("loop", "loop"),
            ("nowhere", "dangling"),
        ] {
            symlink(to, root.join(link)).unwrap();
        }
        symlink(root.join("a"), root.join("absolute")).unwrap();
        for path in [
            "a/file",
            "down/../file",
            "down/up",
            "absolute/b/up",
            "absolute/../down/./../b/up",
            "../../../../../../../../../../../../..",
            "a/file/..",
            "a/file/b",
            "loop",
            "loop/a",
            "dangling",
            "none",
        ] {
            let expected = root.join(path).canonicalize().ok();
            let found = Trail::default().follow(&root, Path::new(path)).ok();
            assert_eq!(found, expected, "{path}");
        }
        let mut trail = Trail::default();
        trail.follow(&root, Path::new("down/../file")).unwrap();
        assert_eq!(trail.links, BTreeSet::from([root.join("down")]));
        let folders = ["", "a", "a/b"].map(|path| root.join(path));
        let of_root = |path: &&PathBuf| path.starts_with(&root);
        let found: Vec<&PathBuf> = trail.folders.iter().filter(of_root).collect();
        assert_eq!(found.len(), folders.len());
        assert!(folders.iter().all(|path| trail.folders.contains(path)));
    }
}
