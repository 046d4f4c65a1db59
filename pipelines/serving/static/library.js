// All documents by name, for links between notes and for choosing some.
import { address, get } from "./api.js";
import { toast } from "./dom.js";
import { t } from "./language.js";
import { go } from "./router.js";

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

/** Open what a link in a note names: a path, a file name, or a title; otherwise look for the words. */
export async function openNote(named) {
  const wanted = fold(named.split(/[#^]/)[0]);
  try {
    const documents = await allDocuments();
    const found =
      documents.find(({ source }) => [fold(source), stem(source)].includes(wanted)) ??
      documents.find(({ source }) => stem(source).endsWith(`/${wanted}`) || fold(source).endsWith(`/${wanted}`)) ??
      documents.find(({ title }) => fold(title) === wanted);
    if (found) return { doc: found.source };
  } catch (error) {
    toast(error.message);
    return null;
  }
  toast(t("no_such_note", { name: named }));
  go("search", { parameters: { q: named } });
  return null;
}

const fold = (text) => (text ?? "").normalize("NFC").toLowerCase().trim();
const stem = (source) => fold(source).replace(/\.[a-z]{2,6}$/, "");

/** Names of the folders that hold documents. */
export async function folders() {
  const names = (await allDocuments()).map(({ source }) => source.split("/")).filter((steps) => steps.length > 1);
  return [...new Set(names.map(([first]) => first))].sort((a, b) => a.localeCompare(b));
}
