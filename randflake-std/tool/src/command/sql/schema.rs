//! The schema of a namespace in a database.

use crate::failure::Failure;

/// Longest name in PostgreSQL, in bytes: longer ones are cut off there.
const LONGEST_NAME: usize = 63;

#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// Schema of the functions [default: randflake_NAMESPACE, where a hyphen is an underscore]
    #[arg(long, value_name = "NAME", value_parser = name)]
    schema: Option<String>,
}

impl SchemaArgs {
    pub(crate) fn name(&self, namespace: &str) -> Result<String, Failure> {
        if let Some(schema) = &self.schema {
            return Ok(schema.clone());
        }
        let schema = format!("randflake_{}", namespace.replace('-', "_"));
        name(&schema).map_err(|allowed| {
            Failure::usage(format!(
                "the schema {schema}: {allowed}; name another one with --schema"
            ))
        })
    }
}

/// Reads a name that needs no quotes in SQL.
pub(super) fn name(text: &str) -> Result<String, String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins_well = !text.starts_with(|c: char| c.is_ascii_digit()) && !text.starts_with("pg_");
    if !(1..=LONGEST_NAME).contains(&text.len()) || !text.chars().all(is_part) || !begins_well {
        return Err(format!(
            "1 to {LONGEST_NAME} characters of a-z, 0-9 and _ are allowed, and neither a digit nor pg_ at the beginning"
        ));
    }
    Ok(text.to_owned())
}
