// A service with Express: ids of `randflake serve`, as text in URLs and JSON, and as bigint in the database.

import express from "express";
import Redis from "ioredis";

/** The signed number of an id's text, for a `bigint` column; an Error if it is none. */
export function decode(text) {
  if (!/^[0-9a-v]{1,13}$/.test(text)) throw new Error(`${text} is no id`);
  const number = [...text].reduce((sum, digit) => sum * 32n + BigInt(parseInt(digit, 32)), 0n);
  if (number >= 2n ** 64n) throw new Error(`${text} is no id`);
  return BigInt.asIntN(64, number);
}

export const encode = (number) => BigInt.asUintN(64, number).toString(32);

/** The service; `newId` resolves to the text of a new id. Tests give their own. */
export function service(newId) {
  const orders = new Map(); // in place of a table with a bigint key
  const app = express();
  app.post("/orders", async (request, response) => {
    const id = await newId();
    orders.set(decode(id), request.query.customer);
    response.status(201).json({ id, customer: request.query.customer });
  });
  app.get("/orders/:id", (request, response) => {
    let customer;
    try {
      customer = orders.get(decode(request.params.id));
    } catch { /* as one that is not there */ }
    if (customer === undefined) return response.sendStatus(404);
    return response.json({ id: request.params.id, customer });
  });
  return app;
}

export function connect(env = process.env) {
  return new Redis({
    host: env.RANDFLAKE_HOST ?? "127.0.0.1",
    port: Number(env.RANDFLAKE_RESP_PORT ?? 6380),
    password: env.RANDFLAKE_TOKEN,
  });
}

if (process.argv[1] === import.meta.filename) {
  const server = connect();
  const namespace = process.env.RANDFLAKE_NAMESPACE ?? "default";
  service(() => server.call("ID.NEXT", namespace)).listen(3000);
}
