use async_graphql::{EmptyMutation, EmptySubscription, Object, Request, Schema, Variables, value};
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
