// Puts a Copy button beside each text that must be exact, and at each block of code. Without this script the text can be
// selected as ever. data-copy-value is what is copied where another form is shown, such as an IBAN without its blanks. An entry
// of a menu that copies (data-copies) is hidden without this script.

const SAID_FOR_MS = 2_000;
const { copy = "Copy", copied: done = "Copied", selected = "Selected" } = document.body.dataset;
const status = document.createElement("p");
status.className = "vh";
status.setAttribute("aria-live", "polite");

function valueOf(text) {
  return text.dataset.copyValue ?? text.value ?? text.textContent;
}

// Also a person who selects the whole text and copies it gets the value.
function copyWhole(event) {
  const text = event.currentTarget;
  const chosen = text.labels ? text.value.slice(text.selectionStart, text.selectionEnd) : getSelection().toString();
  if (chosen.trim() === (text.value ?? text.textContent)) {
    event.clipboardData.setData("text/plain", text.dataset.copyValue);
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

// Where a menu was, a message says what happened; if nothing could be copied, it is the value itself.
async function copyFrom(entry) {
  const kept = document.createElement("textarea");
  kept.value = entry.dataset.copies;
  entry.after(kept);
  const isCopied = await copied(kept);
  kept.remove();
  entry.closest("[popover]").hidePopover();
  announce(isCopied ? done : entry.dataset.copies, "toast");
}

function announce(text, look) {
  status.className = look;
  status.textContent = text;
  clearTimeout(status.later);
  status.later = setTimeout(() => {
    status.className = "vh";
    status.textContent = "";
  }, SAID_FOR_MS);
}

function say(button, word, name) {
  button.firstChild.textContent = word;
  button.classList.toggle("done", word === done);
  announce(`${name} ${word.toLowerCase()}`, "vh");
  clearTimeout(button.later);
  button.later = setTimeout(() => {
    button.firstChild.textContent = copy;
    button.classList.remove("done");
  }, SAID_FOR_MS);
}

function span(text, className = "") {
  const made = document.createElement("span");
  made.textContent = text;
  made.className = className;
  return made;
}

// An icon alone still has its words for screen readers. `current` is asked at each click: of tabs, the shown one is copied.
function buttonFor(current, name, isIcon) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = `btn s plain copies${isIcon ? " icon" : ""}`;
  button.append(span(copy, isIcon ? "vh" : ""), span(name && ` ${name}`, "vh"));
  button.addEventListener("click", async () => say(button, (await copied(current())) ? done : selected, name));
  return button;
}

// A text may have its name in data-copy. A field has a label; a text in a list of facts is named before it.
function nameOf(text) {
  return text.dataset.copy || (text.labels ? text.labels[0] : text.closest("div").querySelector("dt")).textContent;
}

const texts = document.querySelectorAll("main [data-copy]");
const blocks = document.querySelectorAll("main pre:not([data-copy])");
for (const text of texts) {
  text.after(buttonFor(() => text, nameOf(text), !text.labels && !text.dataset.copy));
  if (text.dataset.copyValue) text.addEventListener("copy", copyWhole);
}
for (const block of blocks) {
  const code = block.closest(".code");
  const head = code?.querySelector(".code-head");
  if (head?.querySelector(".copies")) continue; // a tab beside one that has it
  const panes = head ? [...code.querySelectorAll("pre")] : [block];
  const name = code?.ariaLabel || head?.firstElementChild.textContent || "";
  const button = buttonFor(() => panes.find((pane) => pane.checkVisibility()) ?? block, name, false);
  if (head) head.append(button);
  else block.before(button);
}
const entries = document.querySelectorAll("[data-copies]");
for (const entry of entries) {
  entry.hidden = false;
  entry.addEventListener("click", () => copyFrom(entry));
}
if (texts.length || blocks.length || entries.length) document.body.append(status);
