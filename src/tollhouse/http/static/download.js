// Shows the buttons that save a text of the page as a file (data-download names the element, data-filename the file). The file
// is made in the browser from what is on the page, so that the server never sends it. Without this script the text is copied.

for (const button of document.querySelectorAll("[data-download]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const text = document.getElementById(button.dataset.download).textContent;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`${text.trim()}\n`], { type: "text/plain" }));
    link.download = button.dataset.filename;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
}
