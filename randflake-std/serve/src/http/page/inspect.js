// Decoding an id, for tokens that may: its fields, and who held its node id then.

import { get } from "./api.js";
import { $, el, time } from "./show.js";

const VERDICTS = { held: "held", contested: "contested", nobody: "ending", ahead: "ending", unknown: "" };

function list(pairs) {
  return el("dl", {}, ...pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function rows({ namespace, text, int, unix_ms: unixMs, node, sequence, verdict, because, lease, gaps }) {
  const pairs = [
    ["Namespace", namespace], ["Text", text], ["Number", int], ["Time", time(unixMs)],
    ["Node id", String(node)], ["Sequence", String(sequence)],
    ["Verdict", el("span", { class: `state ${VERDICTS[verdict] ?? ""}` }, `${verdict}: ${because}`)],
  ];
  if (lease) {
    pairs.push(["Holder", lease.holder], ["Its lease", `${lease.start_utc} to ${lease.end_utc}, ${lease.end}`]);
  }
  if (gaps.length > 0) {
    pairs.push(["History", el("span", { class: "error" }, "Records of this node id are missing or were changed.")]);
  }
  return pairs;
}

export function inspector(namespaceNow) {
  $("inspect").addEventListener("submit", async (event) => {
    event.preventDefault();
    const place = $("inspected");
    try {
      const namespace = namespaceNow();
      if (!namespace) throw new Error("there is no namespace yet");
      const id = $("id").value.trim();
      place.replaceChildren(list(rows(await get("/v1/explain", { namespace, id, form: $("form").value }))));
    } catch (error) {
      place.replaceChildren(el("p", { class: "error" }, `Not decoded: ${error.message}.`));
    }
  });
}
