//! Every format of one record carries the same figures.
//!
//! The document is what text, Markdown, CSV and the HTML fallback walk, so its fields are held
//! against what each of them wrote, and against the JSON, field by field.

use std::collections::BTreeMap;

use bakeoff_report::document::{Document, Extent, Table, Unit, Value, draw};
use bakeoff_report::{MarkdownOptions, Report, TextOptions, csv, html, json, markdown, text, view};
use serde_json::Value as Json;

/// Wide enough for every table in one piece.
const WIDE: TextOptions<'static> = TextOptions {
    width: 4_000,
    colour: false,
    full: true,
    diffs: true,
    record: None,
    needed_again: None,
};

/// What each format wrote.
struct Written {
    text: String,
    markdown: String,
    csv: Vec<BTreeMap<String, String>>,
    json: Json,
}

impl Written {
    fn of(report: &Report) -> Self {
        let csv = csv(report);
        let mut lines = csv.lines().map(csv_fields);
        let names = lines.next().expect("a line of names");
        let row = |fields: Vec<String>| names.iter().cloned().zip(fields).collect();
        Self {
            text: text(report, WIDE),
            markdown: markdown(report, MarkdownOptions { full: true }),
            csv: lines.map(row).collect(),
            json: serde_json::from_str(&json(report)).expect("the report is JSON"),
        }
    }
}

/// Fields of a line of CSV.
fn csv_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            usual => fields.last_mut().expect("one is there").push(usual),
        }
    }
    fields
}

#[test]
fn every_field_of_every_cell_is_the_same_in_every_format() {
    for record in [
        bakeoff_testing::campaign(7),
        bakeoff_testing::record(),
        bakeoff_testing::record_at_constant_rate(),
    ] {
        let report = view(&record);
        let document = draw(&report);
        let written = Written::of(&report);
        let rows: usize = document.tables("cells").map(|table| table.rows.len()).sum();
        assert_eq!(rows, written.csv.len());
        let mut number = 0;
        let mut compared = 0;
        for table in document.tables("cells") {
            for row in 0..table.rows.len() {
                compared += cell(table, row, &written, number);
                number += 1;
            }
        }
        assert!(compared > 15 * rows, "{compared} figures of {rows} rows");
        for name in ["ratios", "comparisons"] {
            lines_of(&document, name, &written);
        }
        ratios(&report, &written.json);
    }
}

/// One row of the main tables; the number of figures that were held against each other.
fn cell(table: &Table, row: usize, written: &Written, number: usize) -> usize {
    let (csv, json) = (&written.csv[number], &written.json["cells"][number]);
    let mut figures = 0;
    for (column, field) in table.columns.iter().zip(&table.rows[row].fields) {
        let name = column.name.as_str();
        let at = format!(
            "{} {} {}: {name}",
            csv["workload"], csv["load"], csv["contender"]
        );
        let in_json = in_json(json, name);
        match &field.value {
            Value::Estimate(one) if column.ends => {
                let ends = [
                    name.to_owned(),
                    format!("{name}_low"),
                    format!("{name}_high"),
                ];
                // A bound has its one end, and one round no interval.
                let is_there = match field.bound {
                    Some("<=") => [false, false, true],
                    Some(_) => [false, true, false],
                    None => [true, one.n > 1, one.n > 1],
                };
                let values = [one.point, one.low, one.high].into_iter().zip(is_there);
                for (end, (value, is_there)) in ends.iter().zip(values) {
                    let value = is_there.then_some(value);
                    assert_eq!(csv[end].parse::<f64>().ok(), value, "{at}");
                }
                if !name.starts_with("ratio_") {
                    let of = |end: &str| in_json[end].as_f64();
                    assert_eq!(of("point"), Some(one.point), "{at}");
                    assert_eq!(
                        (of("low"), of("high")),
                        (Some(one.low), Some(one.high)),
                        "{at}"
                    );
                    assert_eq!(in_json["n"].as_u64(), Some(one.n as u64), "{at}");
                }
                figures += 1;
            }
            Value::Number(value) if column.ends => {
                assert_eq!(
                    csv[&format!("{name}_low")].parse::<f64>().ok(),
                    Some(*value),
                    "{at}"
                );
                assert_eq!(json["at_least"][name].as_f64(), Some(*value), "{at}");
                figures += 1;
            }
            Value::Number(value) if !name.is_empty() => {
                assert_eq!(csv[name].parse::<f64>().ok(), Some(*value), "{at}");
                let same = in_json.as_f64() == Some(*value);
                // Outcomes that did not occur, and counts of 0, are left out of the JSON.
                assert!(
                    same || in_json.is_null() && *value == 0.0,
                    "{at}: {in_json}"
                );
                figures += 1;
            }
            Value::Text(text) if !name.is_empty() => assert_eq!(csv[name], *text, "{at}"),
            Value::Nothing if !name.is_empty() => {
                assert_eq!(csv[name], "", "{at}");
                if !name.starts_with("ratio_") {
                    let reason = &json["missing"][name];
                    assert_eq!(reason.as_str(), field.reason.as_deref(), "{at}");
                }
            }
            _ => {}
        }
    }
    let shown = shown_fields(table, row);
    in_a_line(&written.text, &shown, "text");
    in_a_line(&written.markdown, &shown, "Markdown");
    figures
}

/// Where a figure stands in the JSON of a cell.
fn in_json<'j>(cell: &'j Json, name: &str) -> &'j Json {
    let counted = name.strip_suffix("_rounds");
    if let Some(estimate) = counted.and_then(|number| cell["estimates"].get(number)) {
        return &estimate["n"];
    }
    match name.strip_prefix("outcome_") {
        Some(outcome) => &cell["outcomes"][outcome],
        None if cell["estimates"].get(name).is_some() => &cell["estimates"][name],
        None => &cell[name],
    }
}

/// The fields of a row as people read them.
fn shown_fields(table: &Table, row: usize) -> Vec<String> {
    let fields = table.columns.iter().zip(&table.rows[row].fields);
    let shown = fields.filter(|(column, _)| column.extent <= Extent::Full);
    shown
        .map(|(column, field)| field.shown(column.unit))
        .collect()
}

/// There is a line that has all of the fields, in their order.
#[track_caller]
fn in_a_line(written: &str, fields: &[String], format: &str) {
    let has_all = |line: &str| {
        let line = line
            .replace('\\', "")
            .replace("&lt;", "<")
            .replace("&gt;", ">");
        let mut rest = line.as_str();
        fields
            .iter()
            .filter(|field| !field.is_empty())
            .all(|field| {
                let found = rest.split_once(field.trim_end());
                rest = found.map_or("", |(_, after)| after);
                found.is_some()
            })
    };
    assert!(
        written.lines().any(has_all),
        "{format} has no line of {fields:?}"
    );
}

fn lines_of(document: &Document, name: &str, written: &Written) {
    for table in document.tables(name) {
        for row in 0..table.rows.len() {
            let shown = shown_fields(table, row);
            in_a_line(&written.markdown, &shown, "Markdown");
            if name == "comparisons" {
                in_a_line(&written.text, &shown, "text");
            }
        }
    }
}

/// The ratios of the answer stand in the JSON, and in the answer that ends the text.
fn ratios(report: &Report, json: &Json) {
    let tables = json["answer"]["tables"].as_array().expect("a list");
    assert_eq!(tables.len(), report.answer.tables.len());
    let answer = text(
        report,
        TextOptions {
            full: false,
            ..WIDE
        },
    );
    for (index, (table, drawn)) in tables.iter().zip(draw(report).tables("ratios")).enumerate() {
        for (row, reported) in table["rows"]
            .as_array()
            .expect("a list")
            .iter()
            .zip(&drawn.rows)
        {
            for (place, field) in reported.fields.iter().enumerate().skip(3) {
                let cell = &row["cells"][place - 2];
                let Value::Estimate(one) = &field.value else {
                    assert!(cell["ratio"].is_null());
                    assert!(cell["reason"].is_string(), "{cell}");
                    continue;
                };
                assert_eq!(cell["ratio"]["point"].as_f64(), Some(one.point));
                assert_eq!(cell["mark"], field.mark);
                assert_eq!(cell["bound"].as_str(), field.bound);
                if index == 0 {
                    assert!(answer.contains(&field.shown(Unit::Ratio)), "{answer}");
                }
            }
        }
    }
}

/// Whether two documents say the same: a script reads 1 and 1.0 as one number.
fn is_same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => left.as_f64() == right.as_f64(),
        (Json::Array(left), Json::Array(right)) => {
            let mut pairs = left.iter().zip(right);
            left.len() == right.len() && pairs.all(|(left, right)| is_same(left, right))
        }
        (Json::Object(left), Json::Object(right)) => {
            let mut pairs = left.iter();
            let same = |(name, value): (&String, &Json)| {
                right.get(name).is_some_and(|other| is_same(value, other))
            };
            left.len() == right.len() && pairs.all(same)
        }
        _ => left == right,
    }
}

#[test]
fn the_page_carries_the_document_of_scripts() {
    let report = view(&bakeoff_testing::campaign(7));
    let page = html(&report);
    // Without the built page the figures stand in its tables.
    if let Some((_, rest)) = page.split_once("id=\"record\">") {
        let (packed, _) = rest.split_once("</script>").expect("the element ends");
        let packed: Json = serde_json::from_str(packed).expect("the record is JSON");
        let scripts: Json = serde_json::from_str(&json(&report)).expect("the report is JSON");
        let mut unpacked = bakeoff_report::unpacked(&packed).expect("it was packed");
        unpacked
            .as_object_mut()
            .and_then(|it| it.remove("document"));
        assert!(is_same(&unpacked, &scripts), "the page has other figures");
    } else {
        for table in draw(&report).tables("cells") {
            for row in 0..table.rows.len() {
                for field in shown_fields(table, row) {
                    let field = field.replace('>', "&gt;");
                    assert!(page.contains(&format!(">{field}</td>")), "{field}");
                }
            }
        }
    }
}
