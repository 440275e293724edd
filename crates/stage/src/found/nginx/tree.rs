//! The statements of all files of a configuration as one tree, as nginx reads them.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::super::{Named, Place, Text};
use crate::statements::{self, Statement};

/// Files in files that are taken in.
const DEPTH_MAX: usize = 10;
/// Statements of the whole tree: a file may be taken in many times.
const NODES_MAX: usize = 200_000;
/// Where published files say that what they take in lies.
const USUAL: &str = "/etc/nginx/";

/// A statement and where it stands.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    pub(super) words: Vec<String>,
    pub(super) place: Place,
    pub(super) is_block: bool,
    pub(super) inner: Vec<Node>,
}

impl Node {
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    pub(super) fn values(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    pub(super) fn value(&self) -> &str {
        self.values().first().map_or("", String::as_str)
    }

    /// Whether one of its values is this.
    pub(super) fn says(&self, value: &str) -> bool {
        self.values().iter().any(|it| it == value)
    }

    /// Its words, and where it stands.
    pub(super) fn whole(&self) -> Named {
        Named {
            text: self.words.join(" "),
            place: self.place.clone(),
        }
    }

    /// Its first value, and where it stands.
    pub(super) fn named(&self) -> Named {
        Named {
            text: self.value().to_owned(),
            place: self.place.clone(),
        }
    }
}

/// The first of `nodes` with this name.
pub(super) fn first<'n>(nodes: &'n [Node], name: &str) -> Option<&'n Node> {
    nodes.iter().find(|node| node.name() == name)
}

/// All nodes below `nodes`, in their order.
pub(super) fn walk<'n>(nodes: &'n [Node], each: &mut dyn FnMut(&'n Node)) {
    for node in nodes {
        each(node);
        walk(&node.inner, each);
    }
}

/// The whole tree of `files`, the main one first, and where one takes itself in, if one does. What
/// none of them takes in by a path that can be followed here is read as if `http` did.
pub(super) fn of(files: &[Text<'_>]) -> (Vec<Node>, Option<Place>) {
    let Some(main) = files.first() else {
        return (Vec::new(), None);
    };
    let parsed = files
        .iter()
        .map(|file| statements::parse(file.text))
        .collect();
    let mut tree = Tree {
        files,
        parsed,
        base: main.path.parent().unwrap_or(Path::new("/")),
        taken: BTreeSet::from([0]),
        open: BTreeSet::new(),
        circle: None,
        left: NODES_MAX,
    };
    let mut nodes = tree.nodes(0, DEPTH_MAX);
    let mut others = Vec::new();
    for file in 1..files.len() {
        if !tree.taken.contains(&file) {
            others.extend(tree.nodes(file, DEPTH_MAX));
        }
    }
    if let Some(http) = nodes.iter_mut().find(|node| node.name() == "http") {
        http.inner.extend(others);
    }
    (nodes, tree.circle)
}

struct Tree<'a> {
    files: &'a [Text<'a>],
    parsed: Vec<Vec<Statement>>,
    base: &'a Path,
    taken: BTreeSet<usize>,
    /// Those within which a statement stands.
    open: BTreeSet<usize>,
    circle: Option<Place>,
    left: usize,
}

impl Tree<'_> {
    fn nodes(&mut self, file: usize, depth: usize) -> Vec<Node> {
        self.taken.insert(file);
        let statements = std::mem::take(&mut self.parsed[file]);
        self.open.insert(file);
        let nodes = self.expanded(&statements, file, depth);
        self.open.remove(&file);
        self.parsed[file] = statements;
        nodes
    }

    fn expanded(&mut self, statements: &[Statement], file: usize, depth: usize) -> Vec<Node> {
        let mut nodes = Vec::new();
        for statement in statements {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let taken_in = match statement.name() {
                "include" if depth > 0 => self.taken_in(statement.value()),
                _ => Vec::new(),
            };
            let place = self.files[file].place(statement.line);
            for other in taken_in {
                if self.open.contains(&other) {
                    self.circle.get_or_insert_with(|| place.clone());
                } else {
                    nodes.extend(self.nodes(other, depth - 1));
                }
            }
            nodes.push(Node {
                words: statement.words.clone(),
                place,
                is_block: statement.block.is_some(),
                inner: self.expanded(statement.block.as_deref().unwrap_or_default(), file, depth),
            });
        }
        nodes
    }

    /// The files that an include takes in.
    fn taken_in(&self, pattern: &str) -> Vec<usize> {
        let beside = pattern.strip_prefix(USUAL).unwrap_or(pattern);
        let as_said = self.matching(&self.base.join(pattern));
        if as_said.is_empty() {
            self.matching(&self.base.join(beside))
        } else {
            as_said
        }
    }

    fn matching(&self, pattern: &Path) -> Vec<usize> {
        let plain = plain(pattern);
        let glob = plain
            .to_str()
            .and_then(|text| glob::Pattern::new(text).ok());
        let is_meant = |path: &Path| {
            let options = glob::MatchOptions {
                require_literal_separator: true,
                ..glob::MatchOptions::default()
            };
            path == plain
                || glob
                    .as_ref()
                    .is_some_and(|it| it.matches_path_with(path, options))
        };
        let files = self.files.iter().enumerate();
        let found = files.filter(|(_, file)| is_meant(file.path));
        found.map(|(index, _)| index).collect()
    }
}

/// A path without `.` and `..`, as far as its text says.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
