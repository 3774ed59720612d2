// The documentation. Tabs of code in several languages all show the language that was chosen last, on every page. Without this script
// each is chosen by itself.

const KEY = "tollhouse.language";
const choices = document.querySelectorAll(".tabbed input[type=radio]");

function choose(language) {
  for (const choice of choices) if (choice.value === language) choice.checked = true;
}

// A browser may deny storage: then the choice holds for this page.
function kept() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function keep(language) {
  try {
    localStorage.setItem(KEY, language);
  } catch {
    // as above
  }
}

choose(kept());
for (const choice of choices) {
  choice.addEventListener("change", () => {
    const before = choice.getBoundingClientRect().top;
    choose(choice.value);
    keep(choice.value);
    scrollBy(0, choice.getBoundingClientRect().top - before); // tabs above may have another height now
  });
}

// The current page is seen in the sidebar.
const side = document.querySelector(".side");
const current = side?.querySelector("[aria-current]");
if (current?.checkVisibility()) side.scrollTop = current.offsetTop - side.clientHeight / 2;
