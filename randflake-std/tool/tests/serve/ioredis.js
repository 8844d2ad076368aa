// What ioredis sees of a server: prints one JSON object.

const crypto = require("node:crypto");

const Redis = require("ioredis");

const settings = JSON.parse(process.env.RANDFLAKE_SERVER);

// Without the last, numbers beyond 2^53 would be rounded.
const connect = (password) =>
  new Redis({ port: settings.port, password, retryStrategy: null, stringNumbers: true });

const refusal = (promise) => promise.then(() => null, (error) => error.message.split(" ")[0]);

async function main() {
  const client = connect(settings.token);
  const pipeline = client.pipeline();
  for (let turn = 0; turn < 1000; turn += 1) {
    pipeline.incr("default");
  }
  const ids = (await pipeline.exec()).map(([error, number]) => {
    if (error) {
      throw error;
    }
    return number;
  });
  for (let turn = 0; turn < 500; turn += 1) {
    ids.push(await client.get("default"));
  }
  ids.push(...(await client.mget(Array(500).fill("default"))));
  const batch = await client.call("ID.NEXT", "default", "COUNT", 1000);
  const lease = await client.call("LEASE.ACQUIRE", "default", "HOLDER", "ioredis", "EX", 30);
  const renewed = await client.call("LEASE.RENEW", lease, "REQUEST", crypto.randomUUID());
  await client.call("LEASE.RELEASE", renewed, "REQUEST", crypto.randomUUID());
  const fields = JSON.parse(await client.call("ID.INSPECT", "default", batch[0]));
  const ofInt = JSON.parse(await client.call("ID.INSPECT", "default", ids[0], "FORMAT", "int"));
  const refused = await refusal(client.incr("other"));
  const stranger = connect("guess");
  stranger.on("error", () => {});
  const unknown = await refusal(stranger.auth("guess"));
  stranger.disconnect();
  await client.quit();
  const node = (text) => JSON.parse(text).leases[0].node;
  console.log(
    JSON.stringify({
      ids,
      batch: new Set(batch).size,
      node: ofInt.node,
      inspected_node: fields.node,
      renewed: node(renewed) === node(lease),
      refused,
      unknown,
    }),
  );
}

main();
