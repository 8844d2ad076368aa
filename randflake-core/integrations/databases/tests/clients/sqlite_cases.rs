//! Statements that SQLite's functions over ids answer as core does: for each client, and for the
//! extension.

use randflake_core::{
    Cipher, Codec, Feistel53, Id, LAYOUTS, Layout as _, LayoutSpec, Parts, Plain, Randflake,
    Sparx64,
};
use serde_json::Value;

pub(crate) type Ids = Codec<LayoutSpec, Option<Cipher>>;

/// A secret that the cases of layouts are encrypted with.
pub(crate) const SECRET: &str = "dffd6021bb2bd5b0af676290809ec3a5";

/// What is derived from it for ids of 53 bits, as the vectors have it.
const SECRET_53: &str = "b81c1059a2788d1d9989006fec37b391";

pub(crate) fn cipher(secret: &str) -> Cipher {
    sparx(secret).into()
}

fn sparx(key: &str) -> Sparx64 {
    Sparx64::new(&u128::from_str_radix(key, 16).unwrap().to_be_bytes())
}

/// An expression that is text, and what it is.
pub(crate) struct Case {
    pub(crate) sql: String,
    pub(crate) expected: String,
}

/// All functions of one id.
pub(crate) fn case(ids: &Ids, parts: Parts) -> Case {
    let spec = ids.layout();
    let Parts {
        tick,
        node_id,
        sequence,
    } = parts;
    let id = ids.compose(parts).unwrap();
    let raw_of = |node_id, sequence| {
        let plain = Codec::new(spec, Plain);
        let parts = Parts {
            tick,
            node_id,
            sequence,
        };
        plain.compose(parts).unwrap().to_i64()
    };
    let (id, raw, text) = (id.to_i64(), raw_of(node_id, sequence), id.to_text());
    let (first, last) = (
        raw_of(0, 0),
        raw_of(spec.max_node_id(), spec.max_sequence()),
    );
    let time = date(&spec, tick);
    let range = format!("{time}, {}", date(&spec, tick + 1));
    let mut pairs = vec![
        (format!("id_to_text({id})"), text.to_string()),
        (format!("id_from_text('{}')", &*text), id.to_string()),
        (format!("(id_time({id}) = {time})"), "1".to_owned()),
        (format!("(raw_time({raw}) = {time})"), "1".to_owned()),
        (format!("id_node({id})"), node_id.to_string()),
        (format!("raw_node({raw})"), node_id.to_string()),
        (format!("id_sequence({id})"), sequence.to_string()),
        (format!("raw_sequence({raw})"), sequence.to_string()),
        (
            format!("compose({time}, {node_id}, {sequence})"),
            id.to_string(),
        ),
        (
            format!("compose_raw({time}, {node_id}, {sequence})"),
            raw.to_string(),
        ),
        (format!("raw_first({range})"), first.to_string()),
        (format!("raw_last({range})"), last.to_string()),
        (
            format!("raw_ranges({range})"),
            format!("[[{first},{last}]]"),
        ),
    ];
    if ids.permutation().is_some() {
        pairs.push((format!("decrypt({id})"), raw.to_string()));
        pairs.push((format!("encrypt({raw})"), id.to_string()));
    }
    let (sql, expected): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    Case {
        sql: sql.join(" || ' ' || "),
        expected: expected.join(" "),
    }
}

/// A tick's time by SQLite's own functions.
fn date(spec: &LayoutSpec, tick: u64) -> String {
    let ms = spec.unix_ms(tick);
    let seconds = format!("datetime({}, 'unixepoch')", ms / 1_000);
    if spec.tick_ms().is_multiple_of(1_000) {
        seconds
    } else {
        format!("({seconds} || '.{:03}')", ms % 1_000)
    }
}

/// A thousand random ids of each layout, encrypted and plain: the name of its layout for the tool,
/// and the cases.
pub(crate) fn layouts() -> impl Iterator<Item = (String, Ids, Vec<Case>)> {
    let mut state = 0_u64;
    // SplitMix64.
    let mut random = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    };
    let both = LAYOUTS
        .into_iter()
        .flat_map(|layout| [(layout, true), (layout, false)]);
    both.map(move |((name, spec), is_encrypted)| {
        // Its name says the form.
        let cipher = match name {
            "randflake53" => Feistel53::new(sparx(SECRET_53)).into(),
            _ => cipher(SECRET),
        };
        let ids = Codec::new(spec, is_encrypted.then_some(cipher));
        // Dates of SQLite end with the year 9999.
        let last = (253_402_300_800_000 - spec.epoch_unix_ms()) / spec.tick_ms() - 1;
        let last = last.min(spec.max_tick());
        let mut of = |max: u32| u32::try_from(random() % (u64::from(max) + 1)).unwrap();
        let mut parts = || Parts {
            node_id: of(spec.max_node_id()),
            sequence: of(spec.max_sequence()),
            tick: (u64::from(of(u32::MAX)) << 32 | u64::from(of(u32::MAX))) % last,
        };
        let cases = (0..1_000).map(|_| case(&ids, parts())).collect();
        let prefix = if is_encrypted { "encrypted:" } else { "" };
        (format!("{prefix}{name}"), ids, cases)
    })
}

/// The reference vectors of Randflake, each with its secret.
pub(crate) fn vectors() -> Vec<(String, Ids, Case)> {
    let files = [
        include_str!("../../../../tests/vectors/reference.json"),
        include_str!("../../../../tests/vectors/randflake.json"),
    ];
    let vectors = files
        .map(|json| serde_json::from_str::<Vec<Value>>(json).unwrap())
        .into_iter()
        .flatten();
    let vectors = vectors.map(|vector| {
        let text = |name: &str| vector[name].as_str().unwrap().to_owned();
        let secret = text("secret");
        let ids = Codec::new(Randflake::SPEC, Some(cipher(&secret)));
        let raw = text("raw_id").parse::<u64>().unwrap().cast_signed();
        let id = text("encrypted_id").parse::<i64>().unwrap();
        // What core makes of it is one with what the vector says, or the case below would say
        // something else.
        assert_eq!(Id::from_i64(id), ids.id(raw.cast_unsigned()));
        let mut case = case(&ids, ids.inspect(Id::from_i64(id)));
        let said = ["node_id", "sequence"].map(|name| vector[name].to_string());
        case.sql = format!(
            "{} || ' ' || decrypt({id}) || ' ' || id_to_text({id}) || ' ' || strftime('%s', id_time({id})) || ' ' || \
             id_node({id}) || ' ' || id_sequence({id})",
            case.sql
        );
        case.expected = format!(
            "{} {raw} {} {} {}",
            case.expected,
            text("encoded_id"),
            vector["timestamp"],
            said.join(" ")
        );
        (secret, ids, case)
    });
    vectors.collect()
}

/// Expressions of encrypted Randflake ids, and what is said of them.
pub(crate) const REFUSED: [(&str, &str); 20] = [
    (
        "decrypt('v')",
        "decrypt: argument 1 is a text: an integer of 64 bits is allowed, and id_from_text reads a text",
    ),
    (
        "decrypt(1.0)",
        "decrypt: argument 1 is a REAL: an integer of 64 bits is allowed",
    ),
    (
        "encrypt(x'00')",
        "encrypt: argument 1 is a BLOB: an integer of 64 bits is allowed",
    ),
    (
        "encrypt(9223372036854775808)",
        "encrypt: argument 1 is a REAL: an integer of 64 bits is allowed",
    ),
    (
        "id_time('v')",
        "id_time: argument 1 is a text: an integer of 64 bits is allowed, and id_from_text reads a text",
    ),
    (
        "id_from_text(31)",
        "id_from_text: argument 1 is an integer: a text is allowed",
    ),
    (
        "id_from_text('')",
        "id_from_text: the text is empty: 1 to 13 digits of 0-9a-v are allowed",
    ),
    (
        "id_from_text('V')",
        "id_from_text: 'V', character 1, is not a digit: 0-9 and a-v are allowed",
    ),
    (
        "id_from_text('0v')",
        "id_from_text: the text has a leading zero, which is not allowed",
    ),
    (
        "id_from_text('g000000000000')",
        "id_from_text: the number is over 64 bits: at most fvvvvvvvvvvvv is allowed",
    ),
    (
        "compose('today', 1, 1)",
        "compose: 'today' is not a time in UTC: texts as 2024-12-09 or 2024-12-09 01:04:57.250 are allowed",
    ),
    (
        "compose('2024-10-27 03:33:19', 1, 1)",
        "compose: '2024-10-27 03:33:19' is out of range: 2024-10-27 03:33:20 to 2058-11-05 17:10:23 are allowed, the times of the layout",
    ),
    (
        "compose_raw('2058-11-05 17:10:24', 1, 1)",
        "compose_raw: '2058-11-05 17:10:24' is out of range: 2024-10-27 03:33:20 to 2058-11-05 17:10:23 are allowed, the times of the layout",
    ),
    (
        "compose('2026-01-01', 131072, 1)",
        "compose: node id 131072 is out of range: 0 to 131071 are allowed",
    ),
    (
        "compose('2026-01-01', 1, -1)",
        "compose: sequence -1 is out of range: 0 to 131071 are allowed",
    ),
    (
        "compose(NULL, 1, 1)",
        "compose: argument 1 is NULL: a text is allowed",
    ),
    (
        "raw_first('2026-01-01', NULL)",
        "raw_first: argument 2 is NULL: a text is allowed",
    ),
    (
        "raw_last('2026-01-02', '2026-01-02')",
        "raw_last: no tick begins between '2026-01-02' and '2026-01-02': the end must be after the beginning, by a tick of 1000 ms or more",
    ),
    (
        "raw_ranges('2026-01-01', '2058-11-05 17:10:25')",
        "raw_ranges: '2058-11-05 17:10:25' is out of range: 2024-10-27 03:33:20 to 2058-11-05 17:10:24 are allowed, the times of the layout",
    ),
    (
        "raw_first('2041-10-31', '2041-11-01')",
        "raw_first: raw ids are negative from 2041-10-31 22:21:52 on, which is between '2041-10-31' and '2041-11-01': ask for both parts apart, or for raw_ranges",
    ),
];

/// Expressions of encrypted Randflake ids at the edges.
pub(crate) const EDGES: [(&str, &str); 6] = [
    (
        "(decrypt(NULL) IS NULL) + (id_to_text(NULL) IS NULL) + (id_from_text(NULL) IS NULL) + (id_time(NULL) IS NULL)",
        "4",
    ),
    // To the last tick, and over the second in which raw ids turn negative.
    ("raw_last('2058-11-05', '2058-11-05 17:10:24')", "-1"),
    (
        "raw_ranges('2041-10-31 22:21:51', '2041-10-31 22:21:53')",
        "[[9223372019674906624,9223372036854775807],[-9223372036854775808,-9223372019674906625]]",
    ),
    (
        "raw_last('2041-10-31 22:21:51', '2041-10-31 22:21:52')",
        "9223372036854775807",
    ),
    (
        "raw_first('2041-10-31 22:21:52', '2041-10-31 22:21:53')",
        "-9223372036854775808",
    ),
    // A bound within a tick is that of the next one.
    (
        "raw_first('2026-01-01 00:00:00.001', '2026-01-02') = raw_first('2026-01-01 00:00:01', '2026-01-02')",
        "1",
    ),
];

/// A table of raw ids, with a view that also has their ids.
pub(crate) const TABLE: &str = "CREATE TABLE orders (raw INTEGER PRIMARY KEY, item TEXT NOT NULL);
    CREATE VIEW shown_orders AS SELECT encrypt(raw) AS id, raw, item FROM orders;";

/// Statements, and the step of their plans that finds rows of that table by its key.
pub(crate) const PLANS: [(&str, &str); 7] = [
    ("SELECT item FROM orders WHERE raw = decrypt(1)", ONE),
    ("UPDATE orders SET item = 'x' WHERE raw = decrypt(1)", ONE),
    ("DELETE FROM orders WHERE raw = decrypt(1)", ONE),
    (
        "SELECT id, item FROM shown_orders WHERE raw = decrypt(1)",
        ONE,
    ),
    (
        "SELECT item FROM json_each('[1,2]') AS ids JOIN orders ON raw = decrypt(ids.value)",
        ONE,
    ),
    (
        "SELECT id, item FROM shown_orders WHERE raw BETWEEN raw_first('2026-01-01', '2026-02-01') \
         AND raw_last('2026-01-01', '2026-02-01')",
        RANGE,
    ),
    (
        "SELECT item FROM json_each(raw_ranges('2041-10-01', '2041-12-01')) AS range \
         JOIN orders ON raw BETWEEN json_extract(range.value, '$[0]') AND json_extract(range.value, '$[1]')",
        RANGE,
    ),
];

const ONE: &str = "SEARCH orders USING INTEGER PRIMARY KEY (rowid=?)";
const RANGE: &str = "SEARCH orders USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)";

/// Statements that would let somebody else's schema decrypt, or keep what another key makes, and
/// what SQLite says.
pub(crate) const FORBIDDEN: [(&str, &str); 2] = [
    (
        "CREATE VIEW secret_orders AS SELECT decrypt(raw) AS id FROM orders; SELECT id FROM secret_orders",
        "unsafe use of decrypt()",
    ),
    (
        "CREATE INDEX by_id ON orders (encrypt(raw))",
        "non-deterministic functions prohibited in index expressions",
    ),
];
