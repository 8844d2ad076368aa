#![expect(unused_qualifications, reason = "what the macro of utoipa writes")]

use randflake_core::{Id, Sparx64, StoredPlain, typed_id};
use serde_json::{Value, json};
use utoipa::{IntoParams, OpenApi, PartialSchema, ToSchema};

use crate::kinds::{IDS, NO_USERS, User, UserId};

#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Order {
    id: OrderId,
    replaces: Option<OrderId>,
    items: Vec<ItemId>,
}
typed_id!(OrderId = StoredRaw<Order>, "order");

impl StoredPlain for Order {
    fn cipher() -> Option<&'static Sparx64> {
        None
    }
}

enum Item {}
typed_id!(ItemId = Id53<Item>);

#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Account {
    owner: UserId,
    previous: Option<UserId>,
    events: Vec<Id>,
    order: Order,
}

#[derive(IntoParams)]
#[expect(dead_code, reason = "only its schema is looked at")]
struct Filter {
    after: Option<UserId>,
}

#[utoipa::path(
    get,
    path = "/accounts/{id}",
    params(("id" = UserId, Path, description = "whose account"), Filter),
    responses((status = 200, body = Account))
)]
#[expect(dead_code, reason = "only its description is looked at")]
fn account() {}

#[derive(OpenApi)]
#[openapi(paths(account))]
struct Api;

fn document() -> Value {
    serde_json::to_value(Api::openapi()).unwrap()
}

#[test]
fn the_schema_has_the_texts_of_ids_and_no_others() {
    let validator =
        |schema| jsonschema::validator_for(&serde_json::to_value(schema).unwrap()).unwrap();
    let (ids, users) = (validator(<Id>::schema()), validator(UserId::schema()));
    for id in IDS {
        let (text, user) = (id.to_string(), id.typed::<User>().to_string());
        assert!(
            ids.is_valid(&json!(text)) && !ids.is_valid(&json!(user)),
            "{text}"
        );
        assert!(
            users.is_valid(&json!(user)) && !users.is_valid(&json!(text)),
            "{user}"
        );
    }
    for (text, _) in NO_USERS {
        assert!(!users.is_valid(&json!(text)), "{text}");
    }
}

#[test]
fn bodies_refer_to_it() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let properties = &schemas["Account"]["properties"];
    assert_eq!(properties["owner"]["$ref"], "#/components/schemas/UserId");
    assert_eq!(
        properties["events"]["items"]["$ref"],
        "#/components/schemas/Id"
    );
    assert_eq!(
        schemas["UserId"],
        json!({
            "type": "string",
            "description": "A 64-bit id: base32hex digits without a leading zero, after the prefix of its kind if \
                            that has one.",
            "pattern": "^user_(0|[1-9a-v][0-9a-v]{0,11}|[1-9a-f][0-9a-v]{12})$",
            "minLength": 6,
            "maxLength": 18,
            "examples": ["user_3vgoe12ccb8gh"],
        })
    );
}

#[test]
fn a_struct_refers_to_the_id_that_it_has_in_each_form() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let properties = &schemas["Order"]["properties"];
    let (order, item) = (
        json!({"$ref": "#/components/schemas/OrderId"}),
        json!({"$ref": "#/components/schemas/ItemId"}),
    );
    assert_eq!(properties["id"], order);
    assert!(
        properties["replaces"]["oneOf"]
            .as_array()
            .unwrap()
            .contains(&order)
    );
    assert_eq!(properties["items"]["items"], item);
    assert_eq!(
        schemas["OrderId"]["pattern"],
        "^order_(0|[1-9a-v][0-9a-v]{0,11}|[1-9a-f][0-9a-v]{12})$"
    );
    assert_eq!(schemas["ItemId"]["type"], "integer");
}

#[test]
fn parameters_refer_to_it() {
    let document = document();
    let parameters = &document["paths"]["/accounts/{id}"]["get"]["parameters"];
    assert_eq!(parameters[0]["in"], "path");
    assert_eq!(
        parameters[0]["schema"]["$ref"],
        "#/components/schemas/UserId"
    );
    assert_eq!(parameters[1]["name"], "after");
    assert!(
        parameters[1]["schema"]
            .to_string()
            .contains("#/components/schemas/UserId"),
        "{parameters}"
    );
}
