// Puts a Copy button above each block of code or JSON. Without this script the text can be selected as ever.

const SAID_FOR_MS = 2_000;
const { copy = "Copy", copied: done = "Copied", selected = "Selected" } = document.body.dataset;

// On plain HTTP there is no clipboard to write to: then the old way, and if that fails too, the text stands selected.
async function copied(block) {
  try {
    await navigator.clipboard.writeText(block.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(block);
    return document.execCommand("copy");
  }
}

for (const block of document.querySelectorAll("main pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn copy-code";
  button.textContent = copy;
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    button.textContent = (await copied(block)) ? done : selected;
    clearTimeout(button.later);
    button.later = setTimeout(() => (button.textContent = copy), SAID_FOR_MS);
  });
  block.before(button);
}
