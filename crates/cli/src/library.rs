//! Where plans, workloads and servers are found: the user's own folder first, then what is built
//! in.

use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context;
use bakeoff_plan::{
    Arrival, Builtin, Library, Overrides, Plan, RoundsAsked, ValueTable, builtin_plan,
    builtin_plans, builtin_workloads, first_sentence, nearest, parse,
};
use bakeoff_record::{open_regular, read_regular_text, shell_path};
use bakeoff_stage::Servers;

use crate::exit;
use crate::flags::{ArrivalFlag, LibraryFlags, PlanFlags};

/// Longest plan or workload that is read, bytes: a plan may hold the bodies of its requests.
const TEXT_BYTES_MAX: u64 = 256 << 20;
/// Longest file of values, bytes.
const TABLE_BYTES_MAX: u64 = 16 << 20;

/// The user's own folder, if there is one, before what is built in.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    path: Option<PathBuf>,
    /// Whether workloads may name files wherever these lie.
    files_anywhere: bool,
    /// Whether configurations may lie on another host.
    is_far: bool,
}

impl Folder {
    pub(crate) fn new(path: Option<PathBuf>) -> anyhow::Result<Self> {
        if let Some(path) = &path {
            crate::paths::must_be_text("--library", path)?;
        }
        match &path {
            Some(path) if !path.is_dir() => Err(exit::usage(format!(
                "--library {} is not a folder",
                path.display()
            ))),
            _ => Ok(Self {
                path,
                files_anywhere: false,
                is_far: false,
            }),
        }
    }

    /// The folder that flags name.
    pub(crate) fn of(flags: &LibraryFlags) -> anyhow::Result<Self> {
        Ok(Self {
            files_anywhere: flags.allow_outside_files,
            ..Self::new(flags.library.clone())?
        })
    }

    /// The same for servers of which some may run on another host, if `is_far`: a configuration
    /// that is not here may be there.
    pub(crate) fn far(self, is_far: bool) -> Self {
        Self { is_far, ..self }
    }

    /// The user's own folder.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub(crate) fn servers(&self) -> Servers {
        Servers::new(self.servers_folder())
    }

    /// The folder of the user's own servers.
    pub(crate) fn servers_folder(&self) -> Option<PathBuf> {
        self.path.as_ref().map(|folder| folder.join("servers"))
    }

    /// Names of all plans.
    pub(crate) fn plan_names(&self) -> Vec<String> {
        self.names("plans", builtin_plans().map(|(name, _)| name.to_owned()))
    }

    /// What a plan says of itself in a sentence.
    pub(crate) fn said_of_plan(&self, name: &str) -> Option<String> {
        let (text, _, _) = self.plan_text(name).ok()?;
        first_sentence(&text)
    }

    /// What a workload says of itself in a sentence.
    pub(crate) fn said_of_workload(&self, name: &str) -> Option<String> {
        first_sentence(&self.workload(name)?)
    }

    fn names(&self, kind: &str, built_in: impl Iterator<Item = String>) -> Vec<String> {
        let mut names: Vec<String> = built_in.collect();
        let entries = self
            .path
            .as_ref()
            .and_then(|folder| folder.join(kind).read_dir().ok());
        for entry in entries.into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|ending| ending == "toml") {
                names.extend(
                    path.file_stem()
                        .map(|stem| stem.to_string_lossy().into_owned()),
                );
            }
        }
        names.sort();
        names.dedup();
        names
    }

    fn own_file(&self, kind: &str, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            return None;
        }
        let path = self.path.as_ref()?.join(kind).join(format!("{name}.toml"));
        path.is_file().then_some(path)
    }

    /// Text, name for messages and base folder of a plan: a file, or a name.
    fn plan_text(&self, plan: &str) -> anyhow::Result<(String, String, PathBuf)> {
        let here = std::env::current_dir().context("failed to find the current folder")?;
        let is_file = plan.contains('/') || plan.ends_with(".toml");
        let own = if is_file {
            Some(here.join(plan))
        } else {
            self.own_file("plans", plan)
        };
        if let Some(path) = own {
            let read = read_regular_text(&path, TEXT_BYTES_MAX);
            let text = read.map_err(|error| {
                exit::usage(format!("failed to read plan {}: {error}", path.display()))
            })?;
            let base = path.parent().map(Path::to_owned).unwrap_or(here);
            return Ok((text, plan.to_owned(), base));
        }
        match builtin_plan(plan) {
            Some(text) => Ok((text.to_owned(), format!("plans/{plan}.toml"), here)),
            None if here.join(plan).is_file() => {
                let file = shell_path(Path::new(plan));
                Err(exit::usage(format!(
                    "{plan} is a file whose name does not end in .toml, as those of plans do; the \
                     configuration of a server is shown by `bakeoff try {file}`, and measured by \
                     `bakeoff race {file} OTHER`"
                )))
            }
            None => {
                let names = self.plan_names();
                let near = nearest(plan, names.iter().map(String::as_str));
                let hint = near
                    .map(|name| format!("; did you mean {name}?"))
                    .unwrap_or_default();
                Err(exit::usage(format!(
                    "there is no plan {plan}{hint}; plans are: {}; for a file, write its path, \
                     as in ./{}.toml",
                    names.join(", "),
                    example(plan)
                )))
            }
        }
    }

    /// The plan that flags ask for.
    pub(crate) fn plan(&self, flags: &PlanFlags) -> anyhow::Result<Plan> {
        let plan = self.plan_named(&flags.plan)?;
        let overrides = Overrides {
            contenders: flags.contender.clone(),
            workloads: flags.workload.clone(),
            protocols: flags.protocol.clone(),
            streams: flags.streams,
            requests: flags.requests,
            clients: flags.clients.clone(),
            rate: flags.rate,
            arrival: flags.arrival.map(ArrivalFlag::ready),
            duration: flags.duration,
            warmup: flags.warmup,
            rounds: RoundsAsked {
                number: flags.rounds,
                ..RoundsAsked::default()
            },
            seed: flags.seed,
        };
        plan.with(&overrides).map_err(exit::usage)
    }

    /// A plan as it stands.
    pub(crate) fn plan_named(&self, plan: &str) -> anyhow::Result<Plan> {
        let (text, name, base) = self.plan_text(plan)?;
        parse(&text, &name, &base, self).map_err(exit::usage)
    }
}

/// The name of a file that a plan called `plan` might be in.
fn example(plan: &str) -> &str {
    let is_name = plan.contains(|c: char| c.is_ascii_alphanumeric()) && !Path::new(plan).is_dir();
    if is_name { plan } else { "plan" }
}

/// The values in a text in CSV, header first.
pub(crate) fn table_of(text: &str) -> std::io::Result<ValueTable> {
    let records = bakeoff_published::csv_records(text).map_err(std::io::Error::other)?;
    Ok(ValueTable::of_records(records))
}

impl Library for Folder {
    fn workload(&self, name: &str) -> Option<String> {
        self.workload_text(name).ok().flatten()
    }

    fn workload_text(&self, name: &str) -> std::io::Result<Option<String>> {
        match self.own_file("workloads", name) {
            Some(path) => read_regular_text(&path, TEXT_BYTES_MAX).map(Some),
            None => Ok(Builtin.workload(name)),
        }
    }

    fn workload_folder(&self, name: &str) -> PathBuf {
        let own = self.own_file("workloads", name);
        let folder = own.and_then(|path| path.parent().map(Path::to_owned));
        // What is named there is read by others, too.
        let absolute = |folder| std::path::absolute(&folder).unwrap_or(folder);
        folder.map(absolute).unwrap_or_default()
    }

    /// A plan that somebody else wrote must not put any file of this machine into a record.
    fn open(&self, folder: &Path, name: &str) -> std::io::Result<Box<dyn BufRead>> {
        let path = folder.join(name).canonicalize()?;
        if !self.files_anywhere {
            let folder = folder.canonicalize()?;
            let library = self.path.as_ref().and_then(|it| it.canonicalize().ok());
            let of_library = library.filter(|library| folder.starts_with(library));
            let allowed = of_library.unwrap_or(folder);
            if !path.starts_with(&allowed) {
                return Err(std::io::Error::other(format!(
                    "it lies outside {}; move it there, or allow it with --allow-outside-files",
                    allowed.display()
                )));
            }
        }
        let file = open_regular(&path)?;
        // What is added to a log from now on does not count.
        let length = file.metadata()?.len();
        Ok(Box::new(BufReader::new(file.take(length))))
    }

    fn table(&self, folder: &Path, name: &str) -> std::io::Result<ValueTable> {
        let mut text = String::new();
        let mut reader = self.open(folder, name)?.take(TABLE_BYTES_MAX + 1);
        if reader.read_to_string(&mut text)? as u64 > TABLE_BYTES_MAX {
            let problem = format!("it is longer than {TABLE_BYTES_MAX} bytes");
            return Err(std::io::Error::other(problem));
        }
        table_of(&text)
    }

    fn server_names(&self) -> Vec<String> {
        self.servers().names().into_iter().collect()
    }

    fn has_file(&self, path: &Path) -> bool {
        self.is_far || path.exists()
    }

    fn workload_names(&self) -> Vec<String> {
        self.names(
            "workloads",
            builtin_workloads().map(|(name, _)| name.to_owned()),
        )
    }
}

impl ArrivalFlag {
    pub(crate) fn ready(self) -> Arrival {
        match self {
            Self::Constant => Arrival::Constant,
            Self::Poisson => Arrival::Poisson,
        }
    }
}
