// Sends a form once, however often its button is pressed. Without this script a second press is sent too.

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!("once" in form.dataset)) return;
  if (form.dataset.once === "sent") event.preventDefault();
  form.dataset.once = "sent";
});
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("[data-once]")) form.dataset.once = "";
});
