//! The configuration of a trial: a variant of the server's folder, or a file of the user's own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bakeoff_plan::{ConfigSource, Contender, Workload};
use bakeoff_record::{ConfigChange, Step, read_regular_text};

use crate::error::{Cause, StageError};
use crate::files::{self, Access};
use crate::own::{Changed, FILE_BYTES_MAX, OwnFiles, Ports, Tools};
use crate::server::Server;
use crate::template::{self, Variables};
use crate::user::User;

/// Where a trial's folder has changed copies of a user's own files.
pub(crate) const OWN_FOLDER: &str = "own";

/// A configuration before and after it was made ready.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// Where the text came from, for messages.
    source: String,
    /// Before it was made ready.
    template: String,
    /// As used.
    pub(crate) text: String,
    /// The file that the server reads.
    pub(crate) path: PathBuf,
    /// Files of the user's own that the first one takes in, as used.
    pub(crate) others: Vec<(PathBuf, String)>,
    /// What was changed in the user's own files.
    pub(crate) changes: Vec<ConfigChange>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// A template that the server's folder brought along.
    OfFolder,
    /// A user's file that is a template itself.
    Template(Access),
    /// A user's file, used as it is but for what a trial must change.
    Own(Box<OwnFiles>),
}

impl Configuration {
    /// Reads what `contender` names; what is made of it goes below `folder`.
    pub(crate) fn choose(
        server: &Server,
        config: &ConfigSource,
        workload: &Workload,
        folder: &Path,
    ) -> Result<Self, StageError> {
        let rendered = folder.join(&server.description.config);
        let (source, template, kind, path) = match config {
            ConfigSource::Variant(variant) => {
                let template = server.template(variant, workload)?;
                let source = format!("servers/{}/{}", server.name, template.file);
                (source, template.text, Kind::OfFolder, rendered)
            }
            ConfigSource::File(path) => {
                let fail = |cause| StageError::file(Step::Prepare, path, cause);
                let text = read_regular_text(path, FILE_BYTES_MAX).map_err(fail)?;
                let source = path.display().to_string();
                if template::is_template(&text) {
                    let access = Access::of(&path.metadata().map_err(fail)?);
                    (source, text, Kind::Template(access), rendered)
                } else {
                    let own = OwnFiles::read(path, &server.own)?;
                    (source, text, Kind::Own(Box::new(own)), path.clone())
                }
            }
        };
        Ok(Self {
            source,
            template,
            text: String::new(),
            path,
            others: Vec::new(),
            changes: Vec::new(),
            kind,
        })
    }

    /// Whether bakeoff chooses the port.
    pub(crate) fn takes_port(&self) -> bool {
        // A folder's template may leave its port to a file that it includes.
        self.uses("port") || template::includes(&self.template)
    }

    /// Whether it shows the certificate that the stage made.
    pub(crate) fn takes_certificate(&self) -> bool {
        matches!(self.kind, Kind::OfFolder) || self.uses("certificate")
    }

    /// Whether the server reads the user's own files where they lie.
    pub(crate) fn is_in_place(&self) -> bool {
        matches!(self.kind, Kind::Own(_)) && self.changes.is_empty()
    }

    /// The user's own files, where they are no template.
    pub(crate) fn own(&self) -> Option<&OwnFiles> {
        match &self.kind {
            Kind::Own(own) => Some(own),
            Kind::OfFolder | Kind::Template(_) => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn own_mut(&mut self) -> Option<&mut OwnFiles> {
        match &mut self.kind {
            Kind::Own(own) => Some(own),
            Kind::OfFolder | Kind::Template(_) => None,
        }
    }

    fn uses(&self, variable: &str) -> bool {
        !matches!(self.kind, Kind::Own(_)) && template::uses(&self.template, variable)
    }

    /// Makes it ready for a start with `variables`, below `folder`.
    pub(crate) fn make_ready(
        &mut self,
        contender: &Contender,
        variables: &Variables,
        version: &str,
        server: &Server,
        folder: &Path,
        user: Option<&User>,
    ) -> Result<(), StageError> {
        let render = |template: &str, variables: &Variables, configuration: &str| {
            let context = template::Context {
                version,
                configuration,
                files: server,
            };
            template::render(template, variables, &context)
        };
        let Kind::Own(own) = &self.kind else {
            self.text = render(&self.template, variables, "").map_err(|cause| {
                let file = self.source.clone();
                StageError::new(Step::Prepare, Cause::Template { file, cause })
            })?;
            return self.write_rendered(server, folder);
        };
        let tools = Tools {
            rules: &server.own,
            replacements: &contender.replacements,
            variables,
            ports: &Ports::default(),
            user,
            blocks: &BTreeSet::new(),
            served: &[],
            render: &render,
        };
        let changed = own.change(&tools, &folder.join(OWN_FOLDER))?;
        let Changed {
            files,
            changes,
            main,
        } = changed;
        let mut files = files.into_iter().map(|file| (file.path, file.text));
        self.text = files.next().map(|(_, text)| text).unwrap_or_default();
        self.others = files.collect();
        self.changes = changes;
        self.path = main;
        Ok(())
    }

    /// Makes the file that the server reads, in place of that of an earlier start.
    fn write_rendered(&self, server: &Server, folder: &Path) -> Result<(), StageError> {
        let fail = |cause| StageError::file(Step::Prepare, &self.path, cause);
        let config = Path::new(&server.description.config);
        let path = files::place(folder, config).map_err(fail)?;
        files::remove(&path).map_err(fail)?;
        let bytes = self.text.as_bytes();
        let made = match self.kind {
            Kind::Template(original) => files::create_copy(&path, bytes, original),
            _ => files::create(&path, bytes, files::FOR_OWNER).map(drop),
        };
        made.map_err(fail)
    }
}
