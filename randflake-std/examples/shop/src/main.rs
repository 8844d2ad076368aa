//! A shop. Its ids are `bigint` in PostgreSQL, text in JSON, and of a type for each kind in Rust.

use std::env;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use randflake_std::lease::{self, Namespace, PostgresStore};
use randflake_std::{Handle, Randflake, Secret, typed_id};
use serde::Serialize;
use sqlx::{FromRow, PgPool};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use utoipa::{OpenApi, ToSchema};

enum Customer {}
typed_id!(CustomerId = Id<Customer>, "customer");
typed_id!(OrderId = Id<Order>, "order");

#[derive(FromRow, Serialize, ToSchema)]
struct Order {
    id: OrderId,
    buyer: CustomerId,
    item: String,
}

#[derive(Clone)]
struct Shop {
    rows: PgPool,
    ids: Handle,
}

type Reply<T = Json<Order>> = Result<T, (StatusCode, String)>;

fn unavailable(error: impl ToString) -> (StatusCode, String) {
    (StatusCode::SERVICE_UNAVAILABLE, error.to_string())
}

#[utoipa::path(post, path = "/customers/{id}/orders", params(("id" = CustomerId, Path)), responses((status = 200, body = Order)))]
async fn place(shop: State<Shop>, Path(buyer): Path<CustomerId>, item: String) -> Reply {
    let id: OrderId = shop.ids.generate().map_err(unavailable)?.typed();
    let insert = sqlx::query_as("INSERT INTO orders VALUES ($1, $2, $3) RETURNING *")
        .bind(id)
        .bind(buyer)
        .bind(item);
    let order = insert.fetch_one(&shop.rows).await;
    order.map(Json).map_err(unavailable)
}

#[utoipa::path(get, path = "/orders/{id}", params(("id" = OrderId, Path)), responses((status = 200, body = Order)))]
async fn order(shop: State<Shop>, Path(id): Path<OrderId>) -> Reply {
    let find = sqlx::query_as("SELECT * FROM orders WHERE id = $1").bind(id);
    let found = find.fetch_optional(&shop.rows).await;
    found
        .map_err(unavailable)?
        .map(Json)
        .ok_or_else(|| (StatusCode::NOT_FOUND, format!("there is no order {id}")))
}

async fn ready(shop: State<Shop>) -> Reply<()> {
    let health = shop.ids.health();
    health
        .is_ready()
        .then_some(())
        .ok_or_else(|| unavailable(format!("{health:?}")))
}

#[derive(OpenApi)]
#[openapi(paths(place, order))]
struct Api;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = env::var("DATABASE_URL")?;
    let rows = PgPool::connect(&url).await?;
    let table =
        "CREATE TABLE IF NOT EXISTS orders (id bigint PRIMARY KEY, buyer bigint, item text)";
    sqlx::query(table).execute(&rows).await?;
    let secret = Secret::from_file(env::var("SHOP_KEY_FILE")?)?;
    let namespace = Namespace::new("shop", Randflake)?;
    let store = lease::deferred(&namespace, move |of| PostgresStore::open(&url, of));
    let ids = Handle::builder(&secret, store).build_async().await?;
    let shop = Shop { rows, ids };
    let router = Router::new()
        .route("/customers/{id}/orders", post(place))
        .route("/orders/{id}", get(order))
        .route("/ready", get(ready))
        .route("/openapi.json", get(async || Json(Api::openapi())));
    let listener = TcpListener::bind(env::var("LISTEN")?).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    let server = axum::serve(listener, router.with_state(shop.clone()));
    let signalled = async move { _ = terminate.recv().await };
    server.with_graceful_shutdown(signalled).await?;
    Ok(shop.ids.close_async().await?) // Gives the node id back.
}
