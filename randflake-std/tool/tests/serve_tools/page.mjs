// Looks at the page for operators in a headless browser. Arguments: its URL, what is to be seen, and a token.
// With RANDFLAKE_SCREENSHOTS, a folder, it leaves pictures there.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.RANDFLAKE_NODE_PATH, "from-there.js"));
const { chromium } = require("playwright-core");
const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [, , URL_OF_PAGE, WHAT, TOKEN] = process.argv;
const VIEWS = {
  light: { colorScheme: "light", viewport: { width: 1200, height: 900 } },
  dark: { colorScheme: "dark", viewport: { width: 1200, height: 900 } },
  phone: { colorScheme: "light", viewport: { width: 390, height: 844 } },
  narrow: { colorScheme: "light", viewport: { width: 320, height: 700 } },
};
// A busy machine may take its time; nothing here waits for a fixed one.
const PATIENCE_MS = 60_000;

const browser = await chromium.launch({
  executablePath: process.env.RANDFLAKE_CHROMIUM, headless: true, timeout: PATIENCE_MS,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});

/** A page in a context of its own; what it complains of is kept. */
async function open(view) {
  const context = await browser.newContext(VIEWS[view]);
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    // The browser itself tells of answers such as 401.
    const isStatus = message.text().startsWith("Failed to load resource");
    if (["error", "warning"].includes(message.type()) && !isStatus) complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(URL_OF_PAGE).origin) complaints.push(`asks ${request.url()}`);
    if (TOKEN && request.url().includes(TOKEN)) complaints.push("the token is in a URL");
  });
  const answer = await page.goto(URL_OF_PAGE);
  assert.match(answer.headers()["content-security-policy"], /^default-src 'none'; script-src 'self';/);
  return { context, page, complaints };
}

async function accessible(page, view) {
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const found = await page.evaluate(`${AXE}; axe.run(document, { runOnly: ${JSON.stringify(tags)} })`);
  const violations = found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
  assert.deepEqual(violations, [], `axe, ${view}`);
  assert.ok(found.passes.length > 20, "axe has looked");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${view}: ${wide} pixels too wide`);
  const cut = await page.evaluate(() => [...document.querySelectorAll(".scroll")].map((box) => box.scrollWidth - box.clientWidth));
  assert.ok(Math.max(...cut) <= 0, `${view}: tables are cut by ${cut} pixels`);
}

async function picture(page, name) {
  const folder = process.env.RANDFLAKE_SCREENSHOTS;
  if (folder) await page.screenshot({ path: path.join(folder, `${WHAT}-${name}.png`), fullPage: true });
}

const shows = (page, selector, text) => page.locator(selector).filter({ hasText: text }).first().waitFor();

async function decode(page, id) {
  await page.fill("#id", id);
  await page.press("#id", "Enter");
}

const LOOKS = {
  async open() {
    for (const view of Object.keys(VIEWS)) {
      const { context, page, complaints } = await open(view);
      await shows(page, "#state", "Ready");
      await shows(page, "#namespaces", "default");
      await shows(page, "#leases", "leased");
      await shows(page, "#forecasts", "2058-11-05");
      assert.ok(await page.isVisible("#metrics"));
      await decode(page, "3vgoe12ccb8gh");
      await shows(page, "#inspected", "2024-12-09 01:04:57 UTC");
      await decode(page, "3VGOE");
      await shows(page, "#inspected", "Not decoded");
      await accessible(page, view);
      await picture(page, view);
      if (view === "light") await byKeyboard(page);
      assert.deepEqual(complaints, [], view);
      await context.close();
    }
  },

  async fleet() {
    const { context, page, complaints } = await open("phone");
    // The table shows some of them and scrolls.
    await shows(page, "#leases-count", "52 leases from node id 0 on");
    await shows(page, "#holders", "(this server)");
    assert.equal(await page.locator("#holders li").count(), 3);
    await page.locator("svg.rate polyline").waitFor({ state: "attached" });
    await page.reload();
    await shows(page, "#state", "Ready");
    assert.equal(await page.locator("svg.rate polyline").count(), 1);
    await shows(page, "#leases-count", "52 leases");
    await accessible(page, "phone");
    console.log("act");
    await shows(page, "#detail", "To do: look after the store");
    assert.match(await page.textContent("#detail"), /^Since \d{4}-.* UTC \(\d+ s\): ids are issued for another /);
    await shows(page, "#leases-count", "As of ");
    assert.equal(await page.locator("#leases tr").count(), 52);
    await picture(page, "outage");
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async numbers() {
    const { context, page, complaints } = await open("light");
    await shows(page, "#state", "Ready");
    const { sent, read } = await page.evaluate(async () => {
      const asked = await fetch("/v1/ids?count=2000&namespace=randflake53");
      const { ids } = await asked.json();
      const wrong = ids.find(({ int, number }) => !Number.isSafeInteger(number) || String(number) !== int);
      if (wrong) throw Error(JSON.stringify(wrong));
      const body = JSON.stringify({ ids: ids.slice(0, 1000).map(({ number }) => String(number)), form: "int" });
      const headers = { "content-type": "application/json" };
      const path = "/v1/inspect?namespace=randflake53";
      const inspected = await fetch(path, { method: "POST", headers, body });
      return { sent: ids.slice(0, 1000), read: (await inspected.json()).ids };
    });
    // The server finds in what came back through the page that it has made them.
    assert.deepEqual(read.map(({ number }) => number), sent.map(({ number }) => number));
    assert.equal(new Set(read.map(({ node }) => node)).size, 1);
    assert.equal(new Set(sent.map(({ number }) => number)).size, 1000);
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async uuids() {
    const vectors = path.join(import.meta.dirname, "../../../../randflake-core/tests/vectors/tagged.json");
    // Its numbers of 64 bits, which JSON.parse would round, stay text.
    const lines = fs.readFileSync(vectors, "utf8").replace(/"(id|tag)": (\d+)/g, '"$1": "$2"');
    const expected = JSON.parse(lines);
    const { context, page, complaints } = await open("light");
    await shows(page, "#state", "Ready");
    const found = await page.evaluate((uuids) => uuids.map((uuid) => {
      const there = new URLSearchParams(JSON.parse(JSON.stringify({ uuid })));
      const text = new URL(`?${there}`, location.href).searchParams.get("uuid");
      const bytes = Uint8Array.from(text.replaceAll("-", "").match(/../g), (pair) => parseInt(pair, 16));
      const view = new DataView(bytes.buffer);
      const [high, low] = [view.getBigUint64(0), view.getBigUint64(8)];
      const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
      return {
        uuid: hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
        version: Number(high >> 12n & 15n), variant: Number(low >> 62n),
        id: String(high >> 16n << 16n | (high & 0xfffn) << 4n | low >> 58n & 15n),
        key_number: Number(low >> 52n & 63n), tag: String(BigInt.asUintN(52, low)),
      };
    }), expected.map(({ uuid }) => uuid));
    assert.equal(found.length, 64);
    assert.deepEqual(found, expected.map(({ uuid, id, key_number, tag }) => (
      { uuid, version: 8, variant: 0b10, id, key_number, tag })));
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async token() {
    const { context, page, complaints } = await open("dark");
    await page.locator("#token-dialog[open]").waitFor();
    await accessible(page, "dialog");
    await picture(page, "dialog");
    await page.fill("#token", "wrong");
    await page.press("#token", "Enter");
    await shows(page, "#token-why", "refused the token");
    await page.locator("#token-dialog[open]").waitFor();
    await page.fill("#token", TOKEN);
    await page.press("#token", "Enter");
    await shows(page, "#state", "Ready");
    await shows(page, "#namespaces", "other");
    // Its link has no token.
    assert.ok(await page.isHidden("#metrics"));
    await page.locator("#namespaces button", { hasText: "other" }).click();
    await shows(page, "#chosen-title", "other");
    await decode(page, "1");
    await shows(page, "#inspected", "Node id");
    const left = await page.evaluate(() => [document.cookie, localStorage.length, sessionStorage.length, location.href]);
    assert.deepEqual(left, ["", 0, 0, URL_OF_PAGE]);
    // A reload forgets it.
    await page.reload();
    await page.locator("#token-dialog[open]").waitFor();
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async holders() {
    const { context, page, complaints } = await open("light");
    // Turned around, it would read as another name; what is not seen would make two names look alike.
    await shows(page, "#leases", "app\\u{202e}1\\u{200b}/ke\\u{301}ep");
    assert.deepEqual(complaints, []);
    await context.close();
  },

  async quarantine() {
    const { context, page, complaints } = await open("light");
    await shows(page, "#quarantine", "nothing is granted until");
    await shows(page, "#namespaces", "quarantine");
    await shows(page, "#legend", "in quarantine");
    await accessible(page, "quarantine");
    await picture(page, "light");
    assert.deepEqual(complaints, []);
    await context.close();
  },
};

/** All that a mouse does. */
async function byKeyboard(page) {
  const reached = new Set();
  await page.evaluate(() => document.activeElement?.blur());
  for (let step = 0; step < 40; step++) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.textContent.trim()));
  }
  for (const name of ["Skip to content", "pause", "sign-in", "default", "map", "from-node", "with-over", "id", "form"]) {
    assert.ok(reached.has(name), `Tab does not reach ${name}: ${[...reached].join(", ")}`);
  }
  await page.focus("#map");
  await page.keyboard.press("End");
  const value = (name) => page.getAttribute("#map", name);
  assert.equal(await value("aria-valuenow"), await value("aria-valuemax"));
  assert.match(await value("aria-valuetext"), /^Node ids 131,008 to 131,071: (free|some leased)$/);
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowLeft");
  assert.match(await value("aria-valuetext"), /^Node ids 126,848 to/);
  await page.keyboard.press("Enter");
  assert.equal(await page.inputValue("#from-node"), "126848");
  // The server's own node id is a random one: one in thirty is above.
  await shows(page, "#leases-count", /^(0 leases|1 lease) from node id 126,848 on$/);
  const isNone = (await page.textContent("#leases-count")).startsWith("0");
  await shows(page, "#leases", isNone ? "No leases from node id 126,848 on" : "leased");
  await page.focus("#pause");
  await page.keyboard.press("Space");
  assert.equal(await page.getAttribute("#pause", "aria-pressed"), "true");
}

try {
  await LOOKS[WHAT]();
} finally {
  await browser.close();
}
console.log("all is well");
