// Puts a Copy button beside each text that must be exact. Without this script the text can be selected as ever.

const SAID_FOR_MS = 2_000;
const { copy = "Copy", copied: done = "Copied", selected = "Selected" } = document.body.dataset;
const status = document.createElement("p");
status.className = "vh";
status.setAttribute("aria-live", "polite");

function select(text) {
  if (text.select) {
    text.focus();
    text.select();
  } else {
    getSelection().selectAllChildren(text);
  }
}

// On plain HTTP there is no clipboard to write to: then the old way, and if that fails too, the text stands selected.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text.value ?? text.textContent);
    return true;
  } catch {
    select(text);
    return document.execCommand("copy");
  }
}

function say(button, word, more) {
  button.firstChild.data = word;
  status.textContent = `${more} ${word.toLowerCase()}`;
  clearTimeout(button.later);
  button.later = setTimeout(() => {
    button.firstChild.data = copy;
    status.textContent = "";
  }, SAID_FOR_MS);
}

// A text may have its name in data-copy. A field has a label; a text in a list of facts is named before it.
function nameOf(text) {
  return text.dataset.copy || (text.labels ? text.labels[0] : text.closest("div").querySelector("dt")).textContent;
}

const texts = document.querySelectorAll("main [data-copy]");
for (const text of texts) {
  const name = nameOf(text);
  const button = document.createElement("button");
  const what = document.createElement("span");
  button.type = "button";
  button.className = text.labels || text.dataset.copy ? "btn" : "copy";
  what.className = "vh";
  what.textContent = ` ${name}`;
  button.append(copy, what);
  button.addEventListener("click", async () => say(button, (await copied(text)) ? done : selected, name));
  text.after(text.labels ? "" : " ", button);
}
if (texts.length) document.querySelector("main").append(status);
