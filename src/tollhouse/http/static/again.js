// Loads a page again that tells how far something is, while somebody looks. Without this script there is its link.

const PAUSE_MS = 1_500;

function look() {
  if (document.hidden) setTimeout(look, PAUSE_MS);
  else location.replace(location.href);
}

if (document.querySelector("[data-again]")) setTimeout(look, PAUSE_MS);
