//! A contender in a container of the user's own engine: an image, or a service of a compose file.
//!
//! Nothing is known here of engines, and no compose file is read: the plan gives names and paths.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{At, PlanError};
use crate::file::ContenderTable;
use crate::readiness::Readiness;
use crate::rules::{self, Fault};

/// A server in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnContainer {
    /// What is started.
    pub source: ContainerSource,
    /// Port that is asked, in the container's own network; `None` for the likeliest of those that
    /// it listens on.
    pub port: Option<u16>,
    /// When it counts as started.
    pub ready: Readiness,
}

/// What a container is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ContainerSource {
    /// One image.
    Image(OwnImage),
    /// A service of a compose file; all of its services are started.
    Compose(OwnCompose),
}

/// An image, and how it is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnImage {
    /// Its name as the engine takes it, such as `nginx:1.28`.
    pub image: String,
    /// Arguments in place of those of the image.
    pub args: Vec<String>,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
    /// A configuration of the user's own, mounted read only.
    pub config: Option<MountedConfig>,
}

/// A file of the user's own in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MountedConfig {
    /// Absolute.
    pub file: PathBuf,
    /// Where the container has it; `None` for where the server's folder says.
    pub at: Option<String>,
}

/// A compose file, and which of its services is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnCompose {
    /// Absolute.
    pub file: PathBuf,
    /// The service's name in it.
    pub service: String,
}

impl OwnImage {
    /// An image as it is.
    pub fn plain(image: impl Into<String>) -> Self {
        Self {
            image: image.into(),
            args: Vec::new(),
            environment: Vec::new(),
            config: None,
        }
    }

    /// The last part of its name, without registry, tag and digest: `nginx`.
    pub fn short_name(&self) -> &str {
        short(&self.image).0
    }

    /// Its tag: `1.28`; empty where it has none.
    pub fn tag(&self) -> &str {
        short(&self.image).1
    }
}

/// Last part of an image's name, and its tag.
fn short(image: &str) -> (&str, &str) {
    let name = image.split('@').next().unwrap_or_default();
    let last = name.rsplit('/').next().unwrap_or_default();
    last.split_once(':').unwrap_or((last, ""))
}

impl MountedConfig {
    /// `FILE`, or `FILE:/PATH` with where the container has it; the file is not absolute yet.
    pub(crate) fn read(text: &str) -> Self {
        match text.rsplit_once(":/") {
            Some((file, at)) if !file.is_empty() => Self {
                file: file.into(),
                at: Some(format!("/{at}")),
            },
            _ => Self {
                file: text.into(),
                at: None,
            },
        }
    }

    /// As a plan has it.
    pub(crate) fn text(&self) -> String {
        let file = self.file.to_string_lossy();
        let at = self.at.as_ref();
        at.map_or_else(|| file.clone().into_owned(), |at| format!("{file}:{at}"))
    }
}

/// Whether an engine can take this for the name of an image.
///
/// # Errors
/// Why not, and what to write.
pub fn check_image(image: &str) -> Result<(), String> {
    image_name(image).map_err(|fault| fault.to_string())
}

fn image_name(image: &str) -> Result<(), Fault> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    let begins = image.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && image.len() <= 512 && image.chars().all(is_of_name) {
        return Ok(());
    }
    Err(Fault::new(
        format!("`{}` is no name of an image", image.escape_debug()),
        "write it as the engine lists it, such as nginx:1.28",
    ))
}

/// What a table with `image` or `compose` stands for; `absolute` makes a path of the plan's one.
pub(crate) fn container(
    table: &ContenderTable,
    ready: Readiness,
    base: &Path,
    at: At<'_>,
    absolute: fn(&str, &Path) -> Result<PathBuf, Fault>,
) -> Result<OwnContainer, PlanError> {
    let path = |text: &str, key: &str| absolute(text, base).map_err(|fault| fault.at(at(key)));
    let source = if let Some(image) = &table.image {
        image_name(image).map_err(|fault| fault.at(at("image")))?;
        let config = table.config.as_deref().map(MountedConfig::read);
        let config = config.map(|config| {
            let file = path(&config.file.to_string_lossy(), "config")?;
            Ok::<_, PlanError>(MountedConfig { file, ..config })
        });
        ContainerSource::Image(OwnImage {
            image: image.clone(),
            args: table.args.clone(),
            environment: table.env.clone().into_iter().collect(),
            config: config.transpose()?,
        })
    } else {
        let Some(service) = &table.service else {
            return Err(PlanError::MissingKey {
                place: at("compose"),
                key: "service".to_owned(),
                table: "contender".to_owned(),
                fix: "`service = \"proxy\"`, the service that is measured".to_owned(),
            });
        };
        rules::name(service).map_err(|fault| fault.at(at("service")))?;
        ContainerSource::Compose(OwnCompose {
            file: path(table.compose.as_deref().unwrap_or_default(), "compose")?,
            service: service.clone(),
        })
    };
    Ok(OwnContainer {
        source,
        port: table.port,
        ready,
    })
}

/// Writes a container back into a table.
pub(crate) fn into_table(own: &OwnContainer, table: &mut ContenderTable) {
    table.port = own.port;
    match &own.source {
        ContainerSource::Image(image) => {
            table.image = Some(image.image.clone());
            table.args = image.args.clone();
            table.env = image.environment.iter().cloned().collect();
            table.config = image.config.as_ref().map(MountedConfig::text);
        }
        ContainerSource::Compose(compose) => {
            table.compose = Some(compose.file.to_string_lossy().into_owned());
            table.service = Some(compose.service.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_has_a_short_name_and_a_tag() {
        for (image, expected) in [
            ("nginx", ("nginx", "")),
            ("nginx:1.28", ("nginx", "1.28")),
            ("localhost:5000/a/caddy:2.10", ("caddy", "2.10")),
            (
                "docker.io/library/nginx:1.28@sha256:00ff",
                ("nginx", "1.28"),
            ),
            ("localhost:5000/caddy", ("caddy", "")),
        ] {
            let own = OwnImage::plain(image);
            assert_eq!((own.short_name(), own.tag()), expected, "{image}");
            assert!(check_image(image).is_ok(), "{image}");
        }
        for image in ["", "-v", "a b", "a;b", "$(a)"] {
            assert!(check_image(image).is_err(), "{image}");
        }
    }

    #[test]
    fn a_mounted_file_may_say_where() {
        for text in ["nginx.conf", "/a/b:c.conf", "a.conf:/etc/a.conf"] {
            assert_eq!(MountedConfig::read(text).text(), text);
        }
        let at = |text| MountedConfig::read(text).at;
        assert_eq!(at("a.conf:/etc/a.conf").as_deref(), Some("/etc/a.conf"));
        assert_eq!(at("/a/b:c.conf"), None);
    }
}
