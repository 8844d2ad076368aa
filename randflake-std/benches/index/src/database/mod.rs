//! A database whose inserts are measured.

mod mariadb;
mod postgres;

use crate::recipe::Recipe;
pub(crate) use mariadb::Mariadb;
pub(crate) use postgres::Postgres;

/// What a row has beside its id, as both databases read it.
pub(crate) const PAYLOAD: &str = "\t42\tsome fifty characters that every row of it has\n";

pub(crate) trait Database {
    /// Rows unless told otherwise: some minutes for all recipes.
    const ROWS: u64;

    fn name(&self) -> &'static str;

    /// Settings on which the figures depend: name and value.
    fn settings(&mut self) -> Vec<(String, String)>;

    /// Whether the database has what a recipe needs.
    fn knows(&self, recipe: Recipe) -> bool;

    /// Makes the table of a recipe, with partitions below these stored ids if the recipe has them.
    fn create(&mut self, recipe: Recipe, bounds: &[i64]);

    /// Inserts the lines of each writer in a transaction of its own, all at once: seconds until all
    /// are committed.
    fn insert(&mut self, recipe: Recipe, lines: &[String]) -> f64;

    /// Writes changed pages to the disk.
    fn checkpoint(&mut self);

    /// Bytes written to the log up to now.
    fn log_bytes(&mut self) -> u64;

    fn size(&mut self, recipe: Recipe, rows: u64) -> Size;
}

/// What a table takes.
pub(crate) struct Size {
    pub(crate) index_bytes: f64,
    /// How full the leaf pages of the primary key are, in percent; `None` without one.
    pub(crate) leaf_density: Option<f64>,
    pub(crate) table_bytes: f64,
}
