//! What the stage starts a contender with: a program with its configuration, or an image.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bakeoff_plan::{Contender, ServerChoice, Workload};
use bakeoff_record::Step;

use crate::boxed::Boxed;
use crate::error::{Cause, StageError};
use crate::prepared::Prepared;
use crate::stage::{Stage, Surroundings};
use crate::{container, host, program};

impl Stage {
    /// The path and the SHA-256, hex, of the program that a contender would be started with; of a
    /// container the name and digest of its image.
    ///
    /// # Errors
    /// When there is no such server, program or image, or it cannot be read.
    pub fn program_of(&self, contender: &Contender) -> Result<(PathBuf, String), StageError> {
        if let ServerChoice::Container(own) = &contender.server {
            return container::image_of(own);
        }
        let ServerChoice::Program {
            server,
            version,
            binary,
            ..
        } = &contender.server
        else {
            let name = contender.name.clone();
            return Err(StageError::new(Step::Prepare, Cause::BuiltIn { name }));
        };
        let server = self.servers().find(server)?;
        let program = program::find(&server, version.as_deref(), binary.as_deref())?;
        let digest = self.digest(&program.path)?;
        Ok((program.path, digest))
    }

    /// SHA-256 of what a contender is started with now, hex: of this program, or of its image.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn digest_of(&self, contender: &Contender, program: &Path) -> Result<String, StageError> {
        match &contender.server {
            ServerChoice::Container(own) => container::image_of(own).map(|(_, digest)| digest),
            _ => self.digest(program),
        }
    }

    /// Finds the contender's program, renders its configuration and makes the files it serves.
    ///
    /// # Errors
    /// When the program is missing or of another version, when the server cannot do the workload,
    /// or when a file cannot be written.
    pub fn prepare(
        &self,
        contender: &Contender,
        workload: &Workload,
        surroundings: &Surroundings,
    ) -> Result<Prepared, StageError> {
        host::check(Step::Prepare)?;
        let boxed = match &surroundings.boxed {
            None => Boxed::of(contender, self.servers(), self.listening())?,
            made => made.clone(),
        };
        let surroundings = &Surroundings {
            boxed,
            ..surroundings.clone()
        };
        let folder = self.new_folder("trial");
        let shared = Arc::clone(&self.shared);
        Prepared::new(
            self.servers(),
            shared,
            folder,
            contender,
            workload,
            surroundings,
        )
    }
}
