// The table of leases: who holds what, since when, and until when.

import { get } from "./api.js";
import { $, count, el, plural, say, span, state, tableRow, time } from "./show.js";

const ROWS = 200;
const STATES = {
  held: ["held", "leased"], ending: ["ending", "about to expire"],
  contested: ["contested", "contested by a copy"], over: ["", "expired"],
};

let namespace = null;
let from = 0;
let next = null;
// The time of the last answer: during an outage its rows stay, as of then.
let answered = null;

const COLUMNS = ["Node id", "State", "Holder", "Since", "Expires in", "Fencing token"];

function row(lease, now) {
  const [kind, text] = STATES[lease.state] ?? ["", lease.state];
  const left = lease.state === "over" ? "—" : span(lease.end_unix_ms - now);
  return tableRow(COLUMNS, [
    el("td", { class: "number" }, count(lease.node)), el("td", {}, state(kind, text)),
    el("td", { class: "wide" }, lease.holder), el("td", {}, time(lease.start_unix_ms)),
    el("td", { class: "number" }, left), el("td", { class: "number" }, String(lease.fencing_token))]);
}

const parameters = () => ({ namespace, limit: ROWS, from, ...($("with-over").checked && { all: "true" }) });

export async function refresh() {
  if (namespace === null) return;
  const asked = parameters();
  // A late answer would replace that to a newer question.
  const isOld = () => JSON.stringify(asked) !== JSON.stringify(parameters());
  let rows;
  try {
    const answer = await get("/v1/leases", asked);
    if (isOld()) return;
    next = answer.next ?? null;
    rows = answer.leases.map((lease) => row(lease, answer.now_unix_ms));
    answered = Date.now();
    say($("leases-note"), "");
    say($("leases-count"), `${plural(rows.length, "lease")} from node id ${count(from)} on${next === null ? "" : ", and more"}`);
  } catch (error) {
    if (isOld()) return;
    const when = answered === null ? "Not known" : `As of ${time(answered)}`;
    say($("leases-count"), `${when}: ${error.message}`);
    return;
  }
  if (rows.length === 0) {
    rows = [el("tr", {}, el("td", { colspan: "6", class: "empty" }, `No leases from node id ${count(from)} on.`))];
  }
  $("leases").replaceChildren(...rows);
  $("more").hidden = next === null;
}

export function showLeases(of, node = 0) {
  // Rows of another namespace would be taken for this one's.
  if (of !== namespace || node !== from) { $("leases").replaceChildren(); answered = null; }
  namespace = of;
  from = node;
  $("from-node").value = node;
  return refresh();
}

$("filter").addEventListener("submit", (event) => {
  event.preventDefault();
  if (namespace !== null) showLeases(namespace, Number.parseInt($("from-node").value, 10) || 0);
});
$("with-over").addEventListener("change", refresh);
$("more").addEventListener("click", () => { if (next !== null) showLeases(namespace, next); });
