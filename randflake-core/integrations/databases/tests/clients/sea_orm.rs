//! Ids in databases by `sea-orm`.

use randflake_core::Id;
use sea_orm::entity::prelude::*;
use sea_orm::{Database, DatabaseConnection, QueryOrder, QuerySelect, Schema, Set};

use crate::kinds::{
    CIPHER_MISSING, NUMBERS, OrderColumn, OrderId, UserId, ids, orders, sorted, whole,
};
use crate::servers::{mariadb, postgresql};

mod thing {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "things")]
    pub(super) struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub(super) id: Id,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub(super) enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

mod user {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "users")]
    pub(super) struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub(super) id: UserId,
        pub(super) parent: Option<UserId>,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub(super) enum Relation {
        #[sea_orm(has_many = "super::order::Entity")]
        Order,
    }

    impl Related<order::Entity> for Entity {
        fn to() -> RelationDef {
            Relation::Order.def()
        }
    }

    impl ActiveModelBehavior for ActiveModel {}
}

mod order {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "orders")]
    pub(super) struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub(super) id: OrderColumn,
        pub(super) user_id: UserId,
    }

    #[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
    pub(super) enum Relation {
        #[sea_orm(
            belongs_to = "super::user::Entity",
            from = "Column::UserId",
            to = "super::user::Column::Id"
        )]
        User,
    }

    impl Related<user::Entity> for Entity {
        fn to() -> RelationDef {
            Relation::User.def()
        }
    }

    impl ActiveModelBehavior for ActiveModel {}
}

async fn connect(url: &str) -> DatabaseConnection {
    let connection = Database::connect(url).await.unwrap();
    let schema = Schema::new(connection.get_database_backend());
    for table in [
        schema.create_table_from_entity(thing::Entity),
        schema.create_table_from_entity(user::Entity),
        schema.create_table_from_entity(order::Entity),
    ] {
        connection.execute(&table).await.unwrap();
    }
    connection
}

async fn ids_come_back_in_their_order(connection: &DatabaseConnection) {
    let rows = ids()
        .into_iter()
        .map(|id| thing::ActiveModel { id: Set(id) });
    thing::Entity::insert_many(rows)
        .exec(connection)
        .await
        .unwrap();
    let rows = thing::Entity::find().order_by_asc(thing::Column::Id);
    let found = rows.all(connection).await.unwrap().into_iter();
    assert_eq!(found.map(|row| row.id).collect::<Vec<_>>(), sorted(ids()));
    let few = [Id::from_i64(-1), Id::from_i64(i64::MIN)];
    let rows = thing::Entity::find().filter(thing::Column::Id.is_in(few));
    assert_eq!(rows.count(connection).await.unwrap(), 2);
}

/// Where the raw id is stored, and the encrypted one comes back.
async fn typed_ids_join_and_may_be_null(connection: &DatabaseConnection) {
    let [child, parent]: [UserId; 2] = [31, 32].map(|number| Id::from_i64(number).typed());
    for (id, of) in [(parent, None), (child, Some(parent))] {
        let row = user::ActiveModel {
            id: Set(id),
            parent: Set(of),
        };
        let inserted = row.insert(connection).await.unwrap();
        assert_eq!(inserted, user::Model { id, parent: of });
    }
    for id in orders() {
        let row = order::ActiveModel {
            id: Set(id),
            user_id: Set(child),
        };
        row.insert(connection).await.unwrap();
    }
    for (raw, id) in NUMBERS.into_iter().zip(orders()) {
        let found = order::Entity::find_by_id(id).find_also_related(user::Entity);
        let (found, of) = found.one(connection).await.unwrap().unwrap();
        assert_eq!(found, order::Model { id, user_id: child });
        assert_eq!(found.id.id(), id.id());
        assert_eq!(
            of,
            Some(user::Model {
                id: child,
                parent: Some(parent)
            })
        );
        let stored: Option<i64> = order::Entity::find_by_id(id)
            .select_only()
            .column(order::Column::Id)
            .into_tuple()
            .one(connection)
            .await
            .unwrap();
        assert_eq!(stored, Some(raw));
    }
}

async fn a_missing_cipher_is_told(connection: &DatabaseConnection) {
    let row = order::Entity::find()
        .select_only()
        .column(order::Column::Id);
    let found = row
        .into_tuple::<crate::kinds::ForgottenColumn>()
        .one(connection)
        .await;
    let said = whole(&found.unwrap_err());
    assert!(said.contains(CIPHER_MISSING), "{said}");
}

async fn all(url: &str) {
    let connection = connect(url).await;
    ids_come_back_in_their_order(&connection).await;
    typed_ids_join_and_may_be_null(&connection).await;
    a_missing_cipher_is_told(&connection).await;
    let id: OrderId = Id::from_i64(-5).typed();
    assert_eq!(Value::from(id), Value::BigInt(Some(-5)));
}

#[tokio::test]
async fn entities_of_postgresql() {
    all(&postgresql().url).await;
}

#[tokio::test]
async fn entities_of_mariadb() {
    all(&mariadb().url).await;
}

#[tokio::test]
async fn entities_of_sqlite() {
    all("sqlite::memory:").await;
}
