import { storageOf } from "../kit/storage.ts"
import { wireKeys } from "./factor/key.ts"
import { wirePasswordRules } from "./password-check.ts"
import { wireSetup } from "./setup-script.ts"

/*
 * The one script of the login pages. But for passkeys, they work without it: it keeps the chosen
 * colours, shows and hides passwords and checks new ones, asks keys, hands over the code of the
 * link, submits the page that only carries an answer to an application, and goes on when all that a
 * page loads is there.
 */
const root = document.documentElement
root.dataset.script = "on"
const theme = storageOf("localStorage")?.getItem("latchkey.theme")
if (theme === "light" || theme === "dark") root.dataset.theme = theme

document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll("button[data-reveal]")) wireReveal(button)
  for (const input of document.querySelectorAll("input[data-from-link]")) takeCode(input)
  for (const place of document.querySelectorAll("[data-code-place]")) showCode(place)
  for (const form of document.querySelectorAll("form")) {
    if (!form.closest("[data-key]")) wireForm(form)
  }
  for (const list of document.querySelectorAll("[data-password-rules]")) wirePasswordRules(list)
  wireSetup()
  wireKeys()
  for (const link of document.querySelectorAll("a[data-when-loaded]")) goWhenLoaded(link)
})

function wireReveal(button: Element): void {
  if (!(button instanceof HTMLButtonElement)) return
  button.addEventListener("click", () => {
    const input = document.getElementById(button.dataset.reveal ?? "")
    if (!(input instanceof HTMLInputElement)) return
    const shown = input.type === "password"
    input.type = shown ? "text" : "password"
    button.ariaPressed = String(shown)
    button.textContent = (shown ? button.dataset.hide : button.dataset.show) ?? ""
    input.focus()
  })
}

/** The code stands behind the # so that it reaches no server log and no Referer header. */
function takeCode(input: Element): void {
  const code = location.hash.slice(1)
  if (!(input instanceof HTMLInputElement) || !code) return
  input.value = code
  input.closest("[data-code-field]")?.setAttribute("hidden", "")
}

/** The same, to be read and typed elsewhere. */
function showCode(place: Element): void {
  const code = location.hash.slice(1)
  if (!code) return
  place.textContent = code
  place.closest("[data-code-shown]")?.removeAttribute("hidden")
}

/** The frames of a page are part of what it loads, also those that fail. */
function goWhenLoaded(link: Element): void {
  if (!(link instanceof HTMLAnchorElement)) return
  window.addEventListener("load", () => location.replace(link.href))
}

/** A second click while the answer is on its way would post the form a second time. */
function wireForm(form: HTMLFormElement): void {
  let sent = false
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault()
    sent = true
  })
  // Coming back by the Back button shows the page as it was left: let it post again.
  window.addEventListener("pageshow", () => {
    sent = false
  })
  if (form.dataset.autosubmit !== undefined) form.submit()
}
