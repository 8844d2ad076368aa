// Rates, from what the server counted in the last minutes: a page that is opened shows them at once.

const SVG = "http://www.w3.org/2000/svg";

/** The rate a second of the last interval; null before the first one has ended. */
export function rate({ every_ms: every, issued }) {
  return issued.length > 0 ? issued.at(-1) * 1000 / every : null;
}

/** The rates of the last minutes as a line, whose right end is now. */
export function line({ every_ms: every, issued }) {
  const KEPT = 60;
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("class", "rate");
  picture.setAttribute("viewBox", "0 0 120 24");
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("role", "img");
  const most = Math.max(1, ...issued);
  picture.setAttribute("aria-label", `at most ${Math.round(most * 1000 / every)} a second in the last five minutes`);
  if (issued.length > 1) {
    const x = (index) => 120 - (issued.length - 1 - index) * 120 / (KEPT - 1);
    const points = issued.map((number, index) => `${x(index).toFixed(1)},${(23 - 22 * number / most).toFixed(1)}`);
    const polyline = document.createElementNS(SVG, "polyline");
    polyline.setAttribute("points", points.join(" "));
    picture.append(polyline);
  }
  return picture;
}
