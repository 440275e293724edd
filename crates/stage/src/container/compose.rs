//! A service of a compose file as a contender, with all that the file starts beside it: its
//! networks and its upstreams are as they are.

use std::path::Path;

use bakeoff_plan::OwnCompose;
use bakeoff_record::{Step, read_regular_text};

use super::{Started, kept_config};
use crate::compose::{Service, compose};
use crate::engine::{self, Engine};
use crate::error::{Cause, StageError};
use crate::program::is_executable;
use crate::stage::{Stage, Surroundings};

/// Longest compose file.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Label that compose gives to all that it makes for a project.
const PROJECT: &str = "com.docker.compose.project";

impl Stage {
    /// Starts all services of a compose file.
    pub(super) fn compose_up(
        &self,
        own: &OwnCompose,
        surroundings: &Surroundings,
    ) -> Result<Started, StageError> {
        let found = Found::of(own)?;
        let name = self.new_label();
        let label = format!("{PROJECT}={name}");
        let file = own.file.display().to_string();
        let mut command = found.tool.clone();
        let fixed = ["--project-name", &name, "--file", &file, "up", "--detach"];
        command.extend(fixed.map(str::to_owned));
        let (holder, all) = self.held(&found.engine, &label, &command, surroundings)?;
        let is_measured = |it: &engine::Inspected| it.service.as_ref() == Some(&own.service);
        let (measured, beside): (Vec<_>, Vec<_>) = all.into_iter().partition(is_measured);
        let [measured] = measured.try_into().map_err(|several: Vec<_>| {
            let (order, count) = (format!("start service {}", own.service), several.len());
            let said = format!("{count} containers are of this service, and one is measured");
            StageError::new(Step::Start, Cause::Engine { order, said })
        })?;
        if !surroundings.cpus.is_empty() {
            let cpus: Vec<String> = surroundings.cpus.iter().map(usize::to_string).collect();
            let cpus = cpus.join(",");
            let arguments = ["update", "--cpuset-cpus", &cpus, &measured.id];
            found.engine.ask(arguments).map_err(|said| {
                let order = format!("pin service {} to processors {cpus}", own.service);
                StageError::new(Step::Start, Cause::Engine { order, said })
            })?;
        }
        Ok(Started {
            version: String::new(),
            image: found.image.unwrap_or_default(),
            image_id: measured.image.clone(),
            engine: found.engine,
            holder,
            measured,
            beside,
            command,
            configs: vec![kept_config(&own.file, surroundings)?],
        })
    }
}

/// Looks whether a compose file can be started.
pub(super) fn check(own: &OwnCompose) -> Result<(), StageError> {
    Found::of(own).map(drop)
}

/// The image of the service that is measured.
pub(super) fn image_of(own: &OwnCompose) -> Result<String, StageError> {
    let image = Found::of(own)?.image;
    image.ok_or_else(|| {
        let reason = format!("service {} has no image", own.service);
        let fix = format!(
            "build it first, and name it by `image` in {}",
            own.file.display()
        );
        StageError::new(Step::Prepare, Cause::Lacking { reason, fix })
    })
}

/// Who starts a compose file.
struct Found {
    engine: Engine,
    /// Beginning of its command line.
    tool: Vec<String>,
    /// The image of the service that is measured.
    image: Option<String>,
}

impl Found {
    fn of(own: &OwnCompose) -> Result<Self, StageError> {
        let lacking = |reason, fix| StageError::new(Step::Prepare, Cause::Lacking { reason, fix });
        let text = read_regular_text(&own.file, FILE_BYTES_MAX)
            .map_err(|cause| StageError::file(Step::Prepare, &own.file, cause))?;
        let file = own.file.display();
        let services = compose(&own.file, &text).unwrap_or_default();
        let is_it = |it: &&Service| it.name == own.service;
        let Some(measured) = services.iter().find(is_it) else {
            let names: Vec<&str> = services.iter().map(|it| it.name.as_str()).collect();
            let reason = format!("{file} has no service `{}`", own.service);
            return Err(lacking(reason, format!("it has {}", names.join(", "))));
        };
        // What a variable stands for, compose knows.
        let is_plain = |image: &&String| !image.contains('$');
        let images = services.iter().filter_map(|it| it.image.as_ref());
        let mut having = None;
        for image in images.filter(is_plain) {
            let (engine, _) = engine::with_image(image)?;
            having.get_or_insert(engine);
        }
        let engines = having.map_or_else(engine::installed, |engine| vec![engine]);
        let mut tools = engines.into_iter().filter_map(|engine| {
            let tool = tool(&engine)?;
            Some((engine, tool))
        });
        let (engine, tool) = tools.next().ok_or_else(|| {
            let reason = format!("nothing here starts compose files such as {file}");
            lacking(reason, "apt-get install podman-compose".to_owned())
        })?;
        Ok(Self {
            engine,
            tool,
            image: measured.image.clone(),
        })
    }
}

/// What starts compose files with this engine.
fn tool(engine: &Engine) -> Option<Vec<String>> {
    let own = |it: &Path| vec![it.display().to_string()];
    let beside = engine
        .program
        .with_file_name(format!("{}-compose", engine.name()));
    if is_executable(&beside) {
        return Some(own(&beside));
    }
    engine.ask(["compose", "version"]).ok()?;
    let mut tool = own(&engine.program);
    tool.push("compose".to_owned());
    Some(tool)
}
