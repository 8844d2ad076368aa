// Runs the module with the published test vectors: node host.mjs wasm.wasm reference.json
import { readFile } from "node:fs/promises";
import { argv, exit } from "node:process";

const [file, vectors] = argv.slice(2);
const module = await WebAssembly.compile(await readFile(file));

let now = 0;
const clock = { unix_s: () => now };

async function last(vector) {
  const ids = (await WebAssembly.instantiate(module, { clock })).exports;
  const before = ids.generate();
  new Uint8Array(ids.memory.buffer, ids.key(), 16).set(Buffer.from(vector.secret, "hex"));
  const started = ids.start(vector.node_id, vector.timestamp, vector.timestamp + 1);
  now = 0;
  const unknown = ids.generate();
  now = vector.timestamp;
  let refused = 0;
  for (let sequence = 0; sequence <= vector.sequence; sequence++) refused += ids.generate();
  const id = BigInt.asUintN(64, ids.id()).toString(32);
  now += 1;
  const over = ids.generate();
  return `${id} ${started} ${before} ${unknown} ${refused} ${over}`;
}

let [passed, failed] = [0, 0];
for (const vector of JSON.parse(await readFile(vectors))) {
  const [is, expected] = [await last(vector), `${vector.encoded_id} 1 1 2 0 4`];
  is === expected ? passed++ : failed++;
  if (is !== expected) console.log(`${is} instead of ${expected}`);
}
console.log(`test result: ${failed ? "FAILED" : "ok"}. ${passed} passed; ${failed} failed; 0 ignored`);
exit(failed ? 1 : 0);
