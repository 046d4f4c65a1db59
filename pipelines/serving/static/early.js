// Runs before the first paint, so that a chosen theme and language do not flash.
(() => {
  const root = document.documentElement;
  const kept = (name) => {
    try {
      return localStorage.getItem("vaultline." + name);
    } catch {
      return null; // storage is switched off: the choice lasts as long as the page
    }
  };
  root.dataset.theme = kept("theme") || "auto";
  root.lang = kept("language") || (navigator.language.toLowerCase().startsWith("es") ? "es" : "en");
})();
