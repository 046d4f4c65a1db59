// What this server is set up to do; asked once.
import { get } from "./api.js";

let asked = null;

export function config() {
  asked ??= get("/api/config").catch((error) => {
    asked = null; // asked again next time
    throw error;
  });
  return asked;
}
