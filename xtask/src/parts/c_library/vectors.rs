//! The libraries' test vectors as tables in C.

use std::collections::HashMap;

use super::Form;
use crate::helpers::prelude::*;

/// The files with ids, the file with tickets, and the names of an id's key, number and text.
type Source = (&'static [&'static str], &'static str, [&'static str; 3]);

const BITS_64: Source = (
    &["reference.json", "randflake.json"],
    "tickets.json",
    ["secret", "encrypted_id", "encoded_id"],
);
const BITS_53: Source = (
    &["randflake53.json"],
    "tickets53.json",
    ["key", "id", "text"],
);

/// Writes the test vectors for C, `vectors.h`.
pub(super) fn write(form: &Form) -> Result<(), String> {
    let (files, tickets, [key, number, text]) = if form.is_53() { BITS_53 } else { BITS_64 };
    let mut code = String::from("static const struct vector VECTORS[] = {\n");
    let objects = files.iter().map(|file| read(file));
    for object in objects.collect::<Result<Vec<_>, _>>()?.concat() {
        let id: i64 = object
            .get(number)?
            .parse()
            .map_err(|error| format!("{error}"))?;
        code += &line(&[
            bytes(object.get(key)?),
            format!("{}u", object.get("timestamp")?),
            format!("{}u", object.get("node_id")?),
            format!("{}u", object.get("sequence")?),
            format!("{}ull", id.cast_unsigned()),
            format!("{:?}", object.get(text)?),
        ]);
    }
    code.push_str("};\nstatic const struct ticket TICKETS[] = {\n");
    for object in read(tickets)? {
        let [node_id, start, end] =
            ["node_id", "start_unix_s", "end_unix_s"].map(|name| object.get(name));
        code += &line(&[
            bytes(object.get("key")?),
            format!("0x{}ull", object.get("device_id")?),
            format!("{}u", object.get("counter")?),
            format!("{{{}u, {}u, {}u}}", node_id?, start?, end?),
            bytes(object.get("ticket")?),
        ]);
    }
    code.push_str("};\n");
    files::write(&form.out().join("vectors.h"), code)
}

fn line(fields: &[String]) -> String {
    format!("    {{{}}},\n", fields.join(", "))
}

/// `{0x01, 0x02}` for `0102`.
fn bytes(digits: &str) -> String {
    let pairs = (0..digits.len() / 2).filter_map(|at| digits.get(2 * at..2 * at + 2));
    format!(
        "{{{}}}",
        pairs
            .map(|byte| format!("0x{byte}"))
            .collect::<Vec<_>>()
            .join(", ")
    )
}

/// A vector: names and values, without their quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Object(HashMap<String, String>);

impl Object {
    fn get(&self, name: &str) -> Result<&str, String> {
        let found = self.0.get(name).map(String::as_str);
        found.ok_or_else(|| format!("a vector has no `{name}`"))
    }
}

fn read(name: &str) -> Result<Vec<Object>, String> {
    Ok(objects(&files::read(
        &root().join("randflake-core/tests/vectors").join(name),
    )?))
}

/// The vectors are lists of flat objects, whose strings have none of JSON's own characters.
fn objects(text: &str) -> Vec<Object> {
    let plain = |text: &str| text.trim().trim_matches('"').to_owned();
    let bodies = text
        .split('{')
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('}')?.0));
    let object = |body: &str| {
        let fields = body.split(',').filter_map(|field| field.split_once(':'));
        Object(
            fields
                .map(|(name, value)| (plain(name), plain(value)))
                .collect(),
        )
    };
    bodies.map(object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_objects_are_read() {
        let read = objects("[\n {\"a\": 1,\n \"b\": \"x\"},\n {\"a\": -2}]");
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].get("a"), read[0].get("b")), (Ok("1"), Ok("x")));
        assert_eq!(read[1].get("a"), Ok("-2"));
        assert!(read[1].get("b").is_err());
    }

    #[test]
    fn bytes_are_a_list() {
        assert_eq!(bytes("01ff"), "{0x01, 0xff}");
    }
}
