"""A service with FastAPI: ids of `randflake serve`, as text in URLs and JSON, and as bigint in the database."""

import os
from typing import Annotated

import redis.asyncio as redis
from fastapi import Depends, FastAPI, HTTPException
from randflake import v2

NAMESPACE = os.environ.get("RANDFLAKE_NAMESPACE", "default")
app = FastAPI()
orders: dict[int, str] = {}  # in place of a table with a bigint key
server = redis.Redis(
    host=os.environ.get("RANDFLAKE_HOST", "127.0.0.1"),
    port=int(os.environ.get("RANDFLAKE_RESP_PORT", "6380")),
    password=os.environ.get("RANDFLAKE_TOKEN"),
)


async def new_id() -> int:
    """An id; tests put their own in the place of this."""
    return await server.incr(NAMESPACE)


@app.post("/orders", status_code=201)
async def create(customer: str, id: Annotated[int, Depends(new_id)]):
    orders[id] = customer
    return {"id": v2.encode_string(id), "customer": customer}


@app.get("/orders/{text}")
async def read(text: str):
    try:
        id = v2.decode_string(text)
    except v2.ErrInvalidID:
        raise HTTPException(404) from None
    if id not in orders:
        raise HTTPException(404)
    return {"id": text, "customer": orders[id]}
