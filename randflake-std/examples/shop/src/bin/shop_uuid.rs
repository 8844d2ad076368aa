//! The same shop with UUIDs, for comparison.

use std::env;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Serialize;
use sqlx::{FromRow, PgPool};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

#[derive(FromRow, Serialize, ToSchema)]
struct Order {
    id: Uuid,
    buyer: Uuid,
    item: String,
}

#[derive(Clone)]
struct Shop {
    rows: PgPool,
}

type Reply<T = Json<Order>> = Result<T, (StatusCode, String)>;

fn unavailable(error: impl ToString) -> (StatusCode, String) {
    (StatusCode::SERVICE_UNAVAILABLE, error.to_string())
}

#[utoipa::path(post, path = "/customers/{id}/orders", params(("id" = Uuid, Path)), responses((status = 200, body = Order)))]
async fn place(shop: State<Shop>, Path(buyer): Path<Uuid>, item: String) -> Reply {
    let id = Uuid::new_v4();
    let insert = sqlx::query_as("INSERT INTO orders VALUES ($1, $2, $3) RETURNING *")
        .bind(id)
        .bind(buyer)
        .bind(item);
    let order = insert.fetch_one(&shop.rows).await;
    order.map(Json).map_err(unavailable)
}

#[utoipa::path(get, path = "/orders/{id}", params(("id" = Uuid, Path)), responses((status = 200, body = Order)))]
async fn order(shop: State<Shop>, Path(id): Path<Uuid>) -> Reply {
    let find = sqlx::query_as("SELECT * FROM orders WHERE id = $1").bind(id);
    let found = find.fetch_optional(&shop.rows).await;
    found
        .map_err(unavailable)?
        .map(Json)
        .ok_or_else(|| (StatusCode::NOT_FOUND, format!("there is no order {id}")))
}

async fn ready() {}

#[derive(OpenApi)]
#[openapi(paths(place, order))]
struct Api;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = env::var("DATABASE_URL")?;
    let rows = PgPool::connect(&url).await?;
    let table = "CREATE TABLE IF NOT EXISTS orders (id uuid PRIMARY KEY, buyer uuid, item text)";
    sqlx::query(table).execute(&rows).await?;
    let shop = Shop { rows };
    let router = Router::new()
        .route("/customers/{id}/orders", post(place))
        .route("/orders/{id}", get(order))
        .route("/ready", get(ready))
        .route("/openapi.json", get(async || Json(Api::openapi())));
    let listener = TcpListener::bind(env::var("LISTEN")?).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    let server = axum::serve(listener, router.with_state(shop));
    let signalled = async move { _ = terminate.recv().await };
    server.with_graceful_shutdown(signalled).await?;
    Ok(())
}
