// Decoding an id, for tokens that may.

import { get } from "./api.js";
import { $, el, time } from "./show.js";

function list(pairs) {
  return el("dl", {}, ...pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

export function inspector(namespaceNow) {
  $("inspect").addEventListener("submit", async (event) => {
    event.preventDefault();
    const place = $("inspected");
    try {
      const namespace = namespaceNow();
      if (!namespace) throw new Error("there is no namespace yet");
      const answer = await get("/v1/inspect", { namespace, id: $("id").value.trim(), form: $("form").value });
      const [id] = answer.ids;
      const parts = Object.entries(id.node_parts ?? {}).map(([name, value]) => `${name} ${value}`).join(", ");
      const doubt = id.unix_ms > Date.now() + 86_400_000 ? " — in the future: of another secret or layout?" : "";
      place.replaceChildren(list([
        ["Namespace", answer.namespace], ["Text", id.text], ["Number", id.int], ["Time", time(id.unix_ms) + doubt],
        ["Node id", parts ? `${id.node} (${parts})` : String(id.node)], ["Sequence", String(id.sequence)],
      ]));
    } catch (error) {
      place.replaceChildren(el("p", { class: "error" }, `Not decoded: ${error.message}.`));
    }
  });
}
