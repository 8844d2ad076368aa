//! Whose code this role may run: a view, a trigger or a rule in a table's place runs functions with the rights of
//! whoever uses the table.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::lease::EngineError;
use crate::lease::database::{Failure, changed};

/// What this role, superusers and the owner that the URL names have not made; and what no `schema.sql` has.
const QUESTION: &str = "
    WITH trusted AS (
        SELECT oid FROM pg_roles WHERE rolsuper OR rolname IN (current_user, $1)
    ), made AS (
        SELECT oid, nspowner, nspacl FROM pg_namespace WHERE nspname = 'randflake'
    ), relation AS (
        SELECT c.* FROM pg_class c JOIN made ON made.oid = c.relnamespace
    ), found (what, of) AS (
        SELECT 'schema', nspowner FROM made
        UNION ALL SELECT 'right to create in the schema', grantee FROM made, aclexplode(nspacl)
            WHERE privilege_type = 'CREATE'
        UNION ALL SELECT 'relation ' || relname, relowner FROM relation
    )
    SELECT what, coalesce((SELECT rolname::text FROM pg_roles WHERE oid = of), 'PUBLIC') AS role
    FROM found WHERE of NOT IN (SELECT oid FROM trusted)
    UNION ALL SELECT 'view or foreign table ' || relname, NULL
        FROM relation WHERE relkind NOT IN ('r', 'i', 'S')
    UNION ALL SELECT 'unlogged table ' || relname, NULL FROM relation WHERE relpersistence <> 'p'
    UNION ALL SELECT 'row level security of ' || relname, NULL FROM relation WHERE relrowsecurity
    UNION ALL SELECT 'trigger ' || tgname, NULL
        FROM pg_trigger JOIN relation ON relation.oid = tgrelid WHERE NOT tgisinternal
    UNION ALL SELECT 'rule ' || rulename, NULL
        FROM pg_rewrite JOIN relation ON relation.oid = ev_class WHERE relkind = 'r'
    LIMIT 1";

/// Refuses a schema that somebody has made or changed who is not trusted. Nothing of it is run.
pub(super) async fn check(client: &Client, owner: Option<&str>) -> Result<(), Failure> {
    let arguments = [(&owner as _, Type::TEXT)];
    let found = client.query_typed(QUESTION, &arguments).await?;
    let Some(row) = found.first() else {
        return Ok(());
    };
    let what: String = row.try_get("what")?;
    let role: Option<String> = row.try_get("role")?;
    let why = match role {
        Some(role) => EngineError::unusable(format!(
            "the schema randflake of the lease store is not trusted: its {what:?} belongs to the role \
             {role:?}, which could do all that this role may: name that role in the URL, owner=ROLE, if it \
             is the one that made the schema for you"
        )),
        None => changed(&format!("it has a {what:?}")),
    };
    Err(why.into())
}
