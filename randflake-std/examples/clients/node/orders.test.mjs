// Tests of the service: with ids that the test chooses, and, if RANDFLAKE_RESP_PORT is set, with those of a server.

import assert from "node:assert/strict";
import { connect, decode, encode, service } from "./orders.mjs";

async function createsAndReads(newId) {
  const listener = service(newId).listen(0, "127.0.0.1");
  await new Promise((resolve) => listener.once("listening", resolve));
  const url = `http://127.0.0.1:${listener.address().port}/orders`;
  const ids = [];
  for (let order = 0; order < 2; order++) {
    const { id } = await (await fetch(`${url}?customer=Ada`, { method: "POST" })).json();
    assert.deepEqual(await (await fetch(`${url}/${id}`)).json(), { id, customer: "Ada" });
    ids.push(id);
  }
  // Neither an id that is not there nor a text that is none.
  for (const id of ["3vgoe12ccb8gh", "ZZZ"]) assert.equal((await fetch(`${url}/${id}`)).status, 404);
  listener.close();
  listener.closeAllConnections();
  return ids;
}

// Known ids: no server, no secret.
let last = 0;
assert.deepEqual(await createsAndReads(async () => String(++last)), ["1", "2"]);

for (const [text, number] of [["3vgoe12ccb8gh", 4594531474933654033n], ["dlcf0rrr7skg6", -2688120254340640250n]]) {
  assert.equal(decode(text), number);
  assert.equal(encode(number), text);
}
for (const text of ["", "g000000000000", "3vgoe12ccb8gw", "00000000000000"]) assert.throws(() => decode(text));

if (process.env.RANDFLAKE_RESP_PORT) {
  const server = connect();
  const ids = await createsAndReads(() => server.call("ID.NEXT", "default"));
  await server.quit();
  console.log(ids.join("\n"));
}
