// Puts a Copy button beside each text that must be exact. Without this script the text can be selected as ever.
// data-copy-value is what is copied where another form is shown, such as an IBAN without its blanks.

const SAID_FOR_MS = 2_000;
const { copy = "Copy", copied: done = "Copied", selected = "Selected" } = document.body.dataset;
const status = document.createElement("p");
status.className = "vh";
status.setAttribute("aria-live", "polite");

function valueOf(text) {
  return text.dataset.copyValue ?? text.value ?? text.textContent;
}

// Also a person who selects the whole field and copies it gets the value.
function copyWhole(event) {
  const { selectionStart, selectionEnd, value, dataset } = event.target;
  if (selectionEnd - selectionStart === value.length) {
    event.clipboardData.setData("text/plain", dataset.copyValue);
    event.preventDefault();
  }
}

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
    await navigator.clipboard.writeText(valueOf(text));
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
  if (text.dataset.copyValue) text.addEventListener("copy", copyWhole);
  text.after(text.labels ? "" : " ", button);
}
if (texts.length) document.querySelector("main").append(status);
