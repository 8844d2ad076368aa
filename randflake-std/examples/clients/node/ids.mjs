// Ids from `randflake serve` with ioredis: as text or BigInt, because numbers of JavaScript round beyond 2^53.

import Redis from "ioredis";

const env = process.env;
const server = new Redis({
  host: env.RANDFLAKE_HOST ?? "127.0.0.1",
  port: Number(env.RANDFLAKE_RESP_PORT ?? 6380),
  password: env.RANDFLAKE_TOKEN,
  // tls: { ca: readFileSync("ca.pem") },
});
const namespace = env.RANDFLAKE_NAMESPACE ?? "default";

// One id. `incr` would answer a number, which is rounded: `get` answers its digits.
const id = BigInt(await server.get(namespace));
console.log(id.toString());

// A thousand in one request, as text, as in URLs.
for (const text of await server.call("ID.NEXT", namespace, "COUNT", 1000)) {
  console.log(text);
}
await server.quit();
