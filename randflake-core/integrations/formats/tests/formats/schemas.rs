//! Schemas of ids, for GraphQL, JSON and `OpenAPI`.

mod async_graphql {
    use async_graphql::{
        EmptyMutation, EmptySubscription, Object, Request, Schema, Variables, value,
    };
    use futures::executor::block_on;
    use randflake_core::Id;

    use crate::kinds::{IDS, Message, MessageId, NO_USERS, User, UserId};

    struct Query;

    #[Object]
    impl Query {
        async fn user(&self, id: UserId) -> UserId {
            id
        }

        async fn messages(&self, ids: Vec<MessageId>) -> Vec<Option<MessageId>> {
            ids.into_iter().map(Some).collect()
        }

        async fn next(&self, id: Id) -> Id {
            Id::from_i64(id.to_i64().wrapping_add(1))
        }
    }

    fn schema() -> Schema<Query, EmptyMutation, EmptySubscription> {
        Schema::new(Query, EmptyMutation, EmptySubscription)
    }

    #[test]
    fn ids_are_arguments_and_answers() {
        let query = "query($user: UserId!, $messages: [MessageId!]!, $id: Id!) {
        user(id: $user) messages(ids: $messages) next(id: $id)
    }";
        for id in IDS {
            let (user, message) = (
                id.typed::<User>().to_string(),
                id.typed::<Message>().to_string(),
            );
            let next = Id::from_i64(id.to_i64().wrapping_add(1)).to_string();
            let text = id.to_string();
            let variables = serde_json::json!({ "user": user, "messages": [message], "id": text });
            let request = Request::new(query).variables(Variables::from_json(variables));
            let response = block_on(schema().execute(request));
            assert_eq!(response.errors, []);
            assert_eq!(
                response.data,
                value!({ "user": user, "messages": [message], "next": next })
            );
        }
    }

    #[test]
    fn other_values_are_refused() {
        let errors = |argument: &str| {
            let query = format!("{{ user(id: {argument}) }}");
            let response = block_on(schema().execute(query));
            response
                .errors
                .into_iter()
                .map(|error| error.message)
                .collect::<String>()
        };
        for (text, why) in NO_USERS {
            let error = errors(&format!("{text:?}"));
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(errors("31").contains("UserId"), "{}", errors("31"));
        assert_ne!(errors("null"), "");
    }

    #[test]
    fn each_kind_is_a_scalar() {
        let sdl = schema().sdl();
        for name in ["Id", "UserId", "MessageId"] {
            assert!(sdl.contains(&format!("scalar {name}\n")), "{sdl}");
        }
    }
}

mod schemars {
    use randflake_core::{Any, Bits64, Id, Kind};
    use schemars::{JsonSchema, schema_for};
    use serde_json::{Value, json};

    use crate::kinds::{ID, IDS, Message, NO_USERS, User, UserId};

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Users {
        owner: UserId,
        others: Vec<UserId>,
        last: Option<Id>,
    }

    fn accepts<T: JsonSchema>(text: &str) -> bool {
        let schema = schema_for!(T).to_value();
        jsonschema::validator_for(&schema)
            .unwrap()
            .is_valid(&Value::from(text))
    }

    fn describes<K: Kind<Width = Bits64>>() {
        for id in IDS {
            let text = id.typed::<K>().to_string();
            assert!(accepts::<Id<K>>(&text), "{text}");
        }
        let schema = schema_for!(Id<K>).to_value();
        assert_eq!(schema["examples"], json!([ID.typed::<K>().to_string()]));
        let longest = Id::from_i64(-1).typed::<K>().to_string();
        assert_eq!(schema["maxLength"], json!(longest.len()));
        let shortest = Id::from_i64(0).typed::<K>().to_string();
        assert_eq!(schema["minLength"], json!(shortest.len()));
    }

    #[test]
    fn the_schema_has_the_texts_of_ids_and_no_others() {
        describes::<Any>();
        describes::<User>();
        describes::<Message>();
        for (text, _) in NO_USERS {
            assert!(!accepts::<UserId>(text), "{text}");
        }
        for text in [
            "",
            "0v",
            "g000000000000",
            "11111111111111",
            "V",
            "w",
            "user_v",
            "v\n",
        ] {
            assert!(!accepts::<Id>(text), "{text:?}");
        }
    }

    #[test]
    fn it_stands_in_other_schemas() {
        let schema = schema_for!(Users).to_value();
        let validator = jsonschema::validator_for(&schema).unwrap();
        assert!(
            validator.is_valid(&json!({"owner": "user_v", "others": ["user_1"], "last": null}))
        );
        assert!(validator.is_valid(&json!({"owner": "user_v", "others": [], "last": "v"})));
        assert!(!validator.is_valid(&json!({"owner": "order_v", "others": []})));
        assert!(!validator.is_valid(&json!({"owner": "user_v", "others": [31]})));
        assert_eq!(UserId::schema_name(), "UserId");
    }
}

mod utoipa {
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
}
