// Requests, with the token that the page was given. It is kept here and nowhere else: no URL, cookie or storage has it.

let token = null;

export const hasToken = () => token !== null;
export const setToken = (given) => { token = given || null; };

/** What the server refused: its problem document (RFC 9457). */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the server answered ${status}`);
    this.status = status;
  }
}

export async function get(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  const headers = { Accept: "application/json" };
  if (token !== null) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(query ? `${path}?${query}` : path, {
    headers, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(15_000),
  });
  if (answer.ok) return answer.json();
  let problem = {};
  try { problem = await answer.json(); } catch { /* it is no JSON: the status has to do */ }
  throw new Refused(answer.status, problem);
}
