// Closes the popovers of filters on a click outside and on Escape. Without this script their summary closes them.

function close(pop) {
  pop.open = false;
}

document.addEventListener("click", (event) => {
  for (const pop of document.querySelectorAll("details.pop[open]")) if (!pop.contains(event.target)) close(pop);
});
document.addEventListener("keydown", (event) => {
  const pop = event.key === "Escape" && document.querySelector("details.pop[open]");
  if (!pop) return;
  close(pop);
  pop.querySelector("summary").focus();
});
