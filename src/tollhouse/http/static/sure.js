// Asks once more before what cannot be undone. Without this script a form does at once what its button says.

const dialog = document.querySelector("#sure");
const question = dialog.querySelector("h2");
const yes = dialog.querySelector("[value=yes]");
let agreed = null;

document.addEventListener("submit", (event) => {
  const form = event.target;
  const button = event.submitter;
  if (!form.dataset.sure || form === agreed) return;
  event.preventDefault();
  question.textContent = form.dataset.sure;
  yes.textContent = [...button.childNodes].find((node) => node.nodeType === Node.TEXT_NODE).textContent;
  dialog.returnValue = "";
  dialog.onclose = () => {
    if (dialog.returnValue !== "yes") return;
    agreed = form;
    form.requestSubmit(button);
  };
  dialog.showModal();
});
