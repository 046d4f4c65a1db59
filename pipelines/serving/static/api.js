// Requests to this server: the token, errors as people read them, and a question for the token where one is missing.
import { keep, kept } from "./choices.js";
import { t } from "./language.js";
import { askToken } from "./dialogs.js";

/** A refusal or a failure. `status` is 0 where the server did not answer at all. */
export class Problem extends Error {
  constructor(status, code, detail, body = {}) {
    super(detail);
    this.status = status;
    this.code = code;
    this.body = body;
  }
}

let token = kept("token");
let asking = null;

/** The answer of `path`, a Response that is fine. Raises Problem, or AbortError if `signal` says so. */
export async function request(path, { method = "GET", json, body, signal } = {}) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (json !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, signal, body: json === undefined ? body : JSON.stringify(json) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "offline", t("offline"));
  }
  if (answer.status === 401) {
    await unlock(headers.Authorization);
    return request(path, { method, json, body, signal });
  }
  if (!answer.ok) throw await problemOf(answer);
  return answer;
}

/** The JSON of an answer; undefined where there is none. */
export async function get(path, options) {
  const answer = await request(path, options);
  return answer.status === 204 ? undefined : answer.json();
}

/** A path with parameters; what is empty is left out. */
export function address(path, parameters) {
  const filled = Object.entries(parameters).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  return filled.length ? `${path}?${new URLSearchParams(filled)}` : path;
}

/** The address of a document's text. */
export const documentPath = (source) => `/api/documents/${source.split("/").map(encodeURIComponent).join("/")}`;

async function unlock(used) {
  if (token && used !== `Bearer ${token}`) return; // another request got it meanwhile
  asking ??= askToken({ wrong: Boolean(used) }).finally(() => (asking = null));
  const given = await asking;
  if (given === null) throw new Problem(401, "no_token", t("locked"));
  token = given.token;
  keep("token", token, { lasting: given.lasting });
}

async function problemOf(answer) {
  let body = {};
  try {
    body = await answer.json();
  } catch {
    // a proxy's page, perhaps
  }
  const detail = typeof body.detail === "string" ? body.detail : "";
  return new Problem(
    answer.status,
    body.code ?? "failed",
    detail || t("failed", { status: String(answer.status) }),
    body,
  );
}
