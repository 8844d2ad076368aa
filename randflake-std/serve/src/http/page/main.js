// The operators' page: asks for the status every two seconds, and shows it.

import { get, hasToken, Refused, setToken } from "./api.js";
import { inspector } from "./inspect.js";
import { refresh as refreshLeases, showLeases } from "./leases.js";
import { showMap } from "./map.js";
import { line, rate } from "./rates.js";
import { $, count, el, plural, say, span, state, tableRow, time } from "./show.js";

const EVERY_MS = 2_000;
const STATES = {
  ready: ["good", "ready"], short: ["ending", "too few node ids"],
  degraded: ["ending", "store fails"], not_ready: ["contested", "not ready"], quarantine: ["quarantine", "quarantine"],
};

const LEVELS = { fine: "good", caution: "ending", wrong: "contested" };

let chosen = null;
let paused = false;
let timer = null;

const COLUMNS = ["Name", "Layout", "State", "Node ids leased", "Ids per second", "Last 5 minutes", "Store’s clock"];

function row(namespace) {
  const leased = namespace.leases && Object.values(namespace.leases).reduce((sum, number) => sum + number, 0);
  const name = el("button", { type: "button", class: "name" }, namespace.name);
  name.addEventListener("click", () => choose(namespace.name));
  const perSecond = rate(namespace.recent);
  const [kind, text] = STATES[namespace.state] ?? ["", namespace.state];
  const skew = namespace.skew_ms ?? null;
  const cells = [
    el("th", { scope: "row" }, name), el("td", {}, namespace.layout), el("td", { title: namespace.detail ?? "" }, state(kind, text)),
    el("td", { class: "number" }, `${leased === undefined ? "?" : count(leased)} of ${count(namespace.node_ids)}`),
    el("td", { class: "number" }, perSecond === null ? "—" : count(Math.round(perSecond))), el("td", {}, line(namespace.recent)),
    el("td", { class: "number" }, skew === null ? "—" : `${skew > 0 ? "+" : ""}${count(skew)} ms`),
  ];
  return tableRow(COLUMNS, cells, namespace.name === chosen ? { "aria-current": "true" } : {});
}

const emptyRow = (text) => el("tr", {}, el("td", { colspan: "7", class: "empty" }, text));

function showNamespaces({ namespaces }) {
  const focused = document.activeElement?.closest?.("#namespaces button")?.textContent;
  const rows = namespaces.map(row);
  $("namespaces").replaceChildren(...(rows.length > 0 ? rows : [emptyRow("This token sees no namespace.")]));
  // The row that had the focus is another element now.
  if (focused) [...$("namespaces").querySelectorAll("button")].find((button) => button.textContent === focused)?.focus();
}

function showChosen({ namespaces, now_unix_ms: now }) {
  const namespace = namespaces.find(({ name }) => name === chosen);
  $("chosen").hidden = !namespace;
  if (!namespace) return;
  say($("chosen-title"), namespace.name);
  const { quarantine, fields } = namespace;
  $("quarantine").hidden = !quarantine;
  if (quarantine) say($("quarantine"), `In quarantine for ${span(quarantine.until_unix_ms - now)}: ${quarantine.text}.`);
  $("board").hidden = !namespace.map;
  if (namespace.map) showMap(namespace, (node) => showLeases(namespace.name, node));
  $("detail").hidden = !namespace.detail || Boolean(quarantine);
  // What is wrong, since when, and what to do.
  const since = namespace.since_unix_ms === null ? "" : `Since ${time(namespace.since_unix_ms)} (${span(now - namespace.since_unix_ms)}): `;
  say($("detail"), namespace.detail ? `${since}${namespace.detail}${namespace.advice ? `. To do: ${namespace.advice}` : ""}.` : "");
  showHolders(namespace);
  const forecasts = (namespace.forecasts ?? []).map(({ name, level, value, advice }) =>
    el("li", {}, state(LEVELS[level], `${name}: ${value}${advice ? `: ${advice}` : ""}`)));
  $("forecasts").replaceChildren(...(forecasts.length > 0 ? forecasts : [el("li", {}, "The store does not answer.")]));
  const pairs = [
    ["Bits", `${fields.time_bits} time, ${fields.node_bits} node id, ${fields.sequence_bits} sequence`],
    ["Tick", `${count(fields.tick_ms)} ms`], ["Epoch", time(fields.epoch_unix_ms)], ["Last date", time(fields.last_unix_ms)],
    ["Issued here", plural(namespace.issued, "id")], ["Node ids here", count(namespace.held_here)],
  ];
  $("layout").replaceChildren(...pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

/** Who holds leases: other servers, and programs that lease by themselves. */
function showHolders({ holders = [], holder_count: all = 0 }) {
  const entries = holders.map(({ holder, node_ids: number, is_this: isThis }) =>
    el("li", {}, `${holder}: ${plural(number, "node id")}${isThis ? " (this server)" : ""}`));
  if (all > holders.length) entries.push(el("li", {}, `and ${count(all - holders.length)} more`));
  $("holders").replaceChildren(...(entries.length > 0 ? entries : [el("li", {}, "none known")]));
}

function showRequests({ http, resp, open_connections: open, refused }) {
  const kinds = Object.entries(refused).map(([kind, number]) => `${kind.replaceAll("_", " ")} ${count(number)}`);
  const pairs = [
    ["HTTP requests", count(http)], ["Redis commands", count(resp)], ["Open connections", count(open)],
    ["Refused", kinds.length > 0 ? kinds.join(", ") : "none"],
  ];
  $("requests-section").hidden = false;
  $("requests").replaceChildren(...pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

let last = null;
let pending = null;

function choose(name) {
  chosen = name;
  showLeases(name);
  if (last) { showNamespaces(last); showChosen(last); }
}

/** A link carries no token, so there it would only be refused. */
const showMetrics = (shown) => { $("metrics").hidden = !shown; };

async function update() {
  try {
    last = await get("/v1/status");
    if (!last.namespaces.some(({ name }) => name === chosen)) {
      chosen = last.namespaces[0]?.name ?? null;
      if (chosen !== null) showLeases(chosen);
    }
    showMetrics(!hasToken());
    showNamespaces(last);
    showChosen(last);
    // Only for who administers all namespaces.
    if (last.requests !== null) showRequests(last.requests);
    const place = last.store === null ? "" : `, leases in ${last.store}`;
    say($("about"), `version ${last.version}, up ${span(last.uptime_ms)}${place}`);
    say($("state"), last.ready ? "Ready" : "Not ready");
    $("state").className = `state ${last.ready ? "good" : "contested"}`;
    // Not waited for: a store that is silent would delay the status.
    pending ??= refreshLeases().finally(() => { pending = null; });
  } catch (error) {
    if (error.status === 401) showMetrics(false);
    const refusal = error.status === 401 ? "A token is needed" : error.message;
    say($("state"), error instanceof Refused ? refusal : "No answer from the server");
    $("state").className = "state contested";
    if (last === null) $("namespaces").replaceChildren(emptyRow("Nothing to show yet."));
    if (error.status === 401 && !$("token-dialog").open && !paused) askForToken(hasToken() ? error.message : null);
  }
}

async function loop() {
  if (!paused && !document.hidden) await update();
  clearTimeout(timer);
  timer = setTimeout(loop, EVERY_MS);
}

function askForToken(why) {
  if (why) say($("token-why"), `The server refused the token: ${why}. Another one?`);
  $("token").value = "";
  $("token-dialog").showModal();
}

function setPaused(to) {
  paused = to;
  $("pause").setAttribute("aria-pressed", String(paused));
  say($("pause"), paused ? "Continue" : "Pause");
  if (!paused) loop();
}

// Enter in a dialog's field presses its first button, and that is not the one meant.
$("token").addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    event.preventDefault();
    $("token-dialog").close("use");
  }
});
$("token-dialog").addEventListener("close", () => {
  const { returnValue } = $("token-dialog");
  if (returnValue === "use") setToken($("token").value.trim());
  if (returnValue === "forget") setToken(null);
  $("token").value = "";
  // Without one the question would come back at once.
  if (returnValue === "use") setPaused(false);
  else if (!hasToken() && last === null) setPaused(true);
});
$("sign-in").addEventListener("click", () => askForToken(null));
$("pause").addEventListener("click", () => setPaused(!paused));
inspector(() => chosen);
loop();
