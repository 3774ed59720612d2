// Saves an export while it says how much of it has come. Without this script the link downloads it as ever.

const LINE_FEED = 10;
const link = document.querySelector("a[data-rows]");

function made(name, attributes) {
  return Object.assign(document.createElement(name), attributes);
}

// The size is known by rows alone, so rows are counted as they come: their ends, less the one of the names.
async function read(answer, tell) {
  const parts = [];
  let ends = -1;
  const reader = answer.body.getReader();
  while (true) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts, { type: "text/csv" });
    parts.push(value);
    for (const byte of value) if (byte === LINE_FEED) ends += 1;
    tell(Math.max(0, ends));
  }
}

function save(blob) {
  const address = URL.createObjectURL(blob);
  made("a", { href: address, download: link.download }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

if (link && "ReadableStream" in window) {
  const { rows, done, broken, stop, stopped, label } = link.dataset;
  const total = Number(rows);
  const bar = made("progress", { max: total, value: 0, hidden: true });
  const count = made("p", { className: "muted", hidden: true });
  const said = made("p", {});
  const halt = made("button", { type: "button", className: "btn", textContent: stop });
  bar.setAttribute("aria-label", label);
  said.setAttribute("role", "status");
  link.parentElement.after(bar, count, said);
  let underWay = null;
  halt.addEventListener("click", () => underWay?.abort());

  link.addEventListener("click", async (event) => {
    event.preventDefault();
    if (underWay) return;
    underWay = new AbortController();
    bar.hidden = count.hidden = false;
    link.after(" ", halt);
    said.textContent = "";
    try {
      const answer = await fetch(link.href, { signal: underWay.signal });
      if (answer.redirected || !answer.ok) return location.reload();
      const blob = await read(answer, (seen) => {
        bar.value = seen;
        count.textContent = `${seen.toLocaleString()} / ${Math.max(seen, total).toLocaleString()}`;
      });
      bar.value = total;
      save(blob);
      said.textContent = done;
    } catch (fault) {
      said.textContent = fault.name === "AbortError" ? stopped : broken;
    } finally {
      underWay = null;
      halt.remove();
    }
  });
}
