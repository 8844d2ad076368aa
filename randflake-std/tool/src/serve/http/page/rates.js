// Rates, from the counts of successive answers.

const KEPT_MS = 120_000;
const histories = new Map();
const SVG = "http://www.w3.org/2000/svg";

/** Notes a count at a time of the server's clock, and gives the rate a second since the last one. */
export function rate(name, unixMs, issued) {
  const history = histories.get(name) ?? [];
  histories.set(name, history);
  const last = history.at(-1);
  // A server that began anew counts from 0.
  if (last && (issued < last.issued || unixMs < last.unixMs)) history.length = 0;
  const before = history.at(-1);
  if (before && unixMs === before.unixMs) return before.rate;
  const perSecond = before ? (issued - before.issued) * 1000 / (unixMs - before.unixMs) : null;
  history.push({ unixMs, issued, rate: perSecond });
  while (history[0].unixMs < unixMs - KEPT_MS) history.shift();
  return perSecond;
}

/** The rates of the last two minutes as a line. */
export function line(name) {
  const history = (histories.get(name) ?? []).filter((point) => point.rate !== null);
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("class", "rate");
  picture.setAttribute("viewBox", "0 0 120 24");
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("role", "img");
  const most = Math.max(1, ...history.map((point) => point.rate));
  picture.setAttribute("aria-label", `at most ${Math.round(most)} a second in the last two minutes`);
  if (history.length > 1) {
    const end = history.at(-1).unixMs;
    const points = history.map(({ unixMs, rate }) =>
      `${(120 - (end - unixMs) / 1000).toFixed(1)},${(23 - 22 * rate / most).toFixed(1)}`);
    const polyline = document.createElementNS(SVG, "polyline");
    polyline.setAttribute("points", points.join(" "));
    picture.append(polyline);
  }
  return picture;
}
