//! `/v1/inspect`: the fields of ids, for tokens that may see them.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use clap::ValueEnum;
use randflake_std::Id;
use serde::{Deserialize, Serialize};

use super::App;
use super::body::{Json, JsonBody};
use super::principal::Principal;
use super::problem::Problem;
use super::query::Query;
use crate::form::TextForm;
use crate::serve::access::Weight;
use crate::serve::service::refusal::Refusal;
use crate::serve::service::{Inspected, read_id};

const MOST: usize = 1_000;
/// So many ids in their longest form, base2: what is read of shorter texts takes many times their length.
const MAX_LEN: usize = 80 << 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InspectRequest {
    ids: Vec<String>,
    form: Option<String>,
}

#[derive(Serialize)]
struct InspectAnswer<'a> {
    namespace: &'a str,
    ids: Vec<Inspected>,
}

pub(super) async fn one(
    State(app): State<Arc<App>>,
    principal: Principal,
    query: Query,
) -> Result<Response, Problem> {
    let query = query.only(&ONE)?;
    let (namespace, id) = read_one(&query, &app, &principal, Weight::ONE)?;
    let ids = vec![app.service.inspect(&principal.0, namespace, id)?];
    Ok(Json(InspectAnswer { namespace, ids }).into_response())
}

/// The parameters of a request about one id.
pub(super) const ONE: [&str; 3] = ["namespace", "id", "form"];

/// Its namespace and its id, for who may inspect ids there.
pub(super) fn read_one<'a>(
    query: &'a Query,
    app: &'a App,
    principal: &Principal,
    weight: Weight,
) -> Result<(&'a str, Id), Problem> {
    let namespace = query.namespace(app, principal)?;
    // Before anything is said of what was sent.
    app.service.may_inspect(&principal.0, namespace, weight)?;
    let text = query.text("id").ok_or_else(|| {
        Problem::invalid("the parameter id is missing: one id is allowed, as in ?id=3vgoe12ccb8gh")
    })?;
    let form = form_of(query.text("form"))?;
    Ok((namespace, read_id(form, text)?))
}

pub(super) async fn many(
    State(app): State<Arc<App>>,
    principal: Principal,
    query: Query,
    JsonBody(asked, _): JsonBody<InspectRequest, MAX_LEN>,
) -> Result<Response, Problem> {
    let query = query.only(&["namespace"])?;
    let count = asked.ids.len();
    if !(1..=MOST).contains(&count) {
        let told = format!("{count} ids were sent: 1 to {MOST} are allowed in one request");
        return Err(Problem::invalid(told));
    }
    let namespace = query.namespace(&app, &principal)?;
    let weight = Weight::Each(count as u64);
    app.service.may_inspect(&principal.0, namespace, weight)?;
    let form = form_of(asked.form.as_deref())?;
    let read = asked.ids.iter().map(|text| {
        let id = read_id(form, text)?;
        app.service.inspect(&principal.0, namespace, id)
    });
    let ids: Result<Vec<_>, Refusal> = read.collect();
    let ids = ids?;
    Ok(Json(InspectAnswer { namespace, ids }).into_response())
}

fn form_of(name: Option<&str>) -> Result<TextForm, Problem> {
    let Some(name) = name else {
        return Ok(TextForm::Text);
    };
    TextForm::from_str(name, false).map_err(|_| {
        let forms = TextForm::value_variants().iter();
        let values = forms.filter_map(ValueEnum::to_possible_value);
        let names: Vec<_> = values.map(|value| value.get_name().to_owned()).collect();
        Problem::invalid(format!(
            "form is {name:?}: {} are allowed",
            names.join(", ")
        ))
    })
}
