//! The JSON Schema of the report's document, from the types that it is made of.

use schemars::generate::SchemaSettings;

use crate::view::Report;

/// The JSON Schema of `bakeoff.report/1`, as `docs/schema/report.schema.json` holds it.
pub fn report_schema() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<Report>();
    let text = serde_json::to_string_pretty(&schema).expect("a schema has only text keys");
    text + "\n"
}
