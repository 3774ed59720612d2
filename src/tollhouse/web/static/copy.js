// Puts a Copy button beside each field whose text must be exact. Without this script the text can be selected as ever.

const SAID_FOR_MS = 2_000;
const { copy = "Copy", copied: done = "Copied", selected = "Selected" } = document.body.dataset;
const status = document.createElement("p");
status.className = "vh";
status.setAttribute("role", "status");

// On plain HTTP there is no clipboard to write to: then the old way, and if that fails too, the text stands selected.
async function copied(field) {
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    field.focus();
    field.select();
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

const fields = document.querySelectorAll("input[data-copy]");
for (const field of fields) {
  const name = field.labels[0].textContent;
  const button = document.createElement("button");
  const what = document.createElement("span");
  button.type = "button";
  button.className = "btn";
  what.className = "vh";
  what.textContent = ` ${name}`;
  button.append(copy, what);
  button.addEventListener("click", async () => say(button, (await copied(field)) ? done : selected, name));
  field.after(button);
}
if (fields.length) document.querySelector("main").append(status);
