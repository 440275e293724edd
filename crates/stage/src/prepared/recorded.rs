//! What the record keeps of a contender's configuration.

use bakeoff_record::ConfigFile;

use super::{OF_THE_TRIAL, Prepared, included_name};
use crate::trial_folder::path_in_record;

/// The configuration as used, as the record keeps it.
pub(super) fn configs(prepared: &Prepared) -> Vec<ConfigFile> {
    let filled = if prepared.configuration.is_in_place() {
        Default::default()
    } else {
        prepared.variables.texts(&OF_THE_TRIAL)
    };
    let file = |(name, text): (String, &String)| ConfigFile {
        filled: filled.clone(),
        path: path_in_record(&prepared.log_folder, &name),
        text: text.clone(),
    };
    let main = (
        prepared.server.description.config.clone(),
        &prepared.configuration.text,
    );
    let others = prepared.configuration.others.iter();
    let others = others.map(|(path, text)| (included_name(path), text));
    std::iter::once(main).chain(others).map(file).collect()
}
