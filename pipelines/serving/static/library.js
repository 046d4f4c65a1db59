// All documents by name, for choosing some of them.
import { address, get } from "./api.js";

const FRESH = 60_000; // milliseconds for which a list is good enough
let read = null;

/** [{source, title, ...}] of every document that is indexed. */
export async function allDocuments() {
  if (!read || Date.now() - read.at > FRESH) read = { at: Date.now(), documents: await everything() };
  return read.documents;
}

async function everything() {
  const found = [];
  let after = null;
  do {
    const { documents, next } = await get(address("/api/documents", { state: "indexed", limit: 500, after }));
    found.push(...documents);
    after = next;
  } while (after);
  return found;
}

/** Names of the folders that hold documents. */
export async function folders() {
  const names = (await allDocuments()).map(({ source }) => source.split("/")).filter((steps) => steps.length > 1);
  return [...new Set(names.map(([first]) => first))].sort((a, b) => a.localeCompare(b));
}
