import { findStorage } from "../kit/storage.ts"
import { wireKeys } from "./factor/key.ts"
import { wirePasswordRules } from "./password-check.ts"
import { wireSetup } from "./setup-script.ts"

/*
 * The only script of the login pages. Except for passkeys, they work without it: it applies the
 * chosen color theme, shows and hides passwords and validates new ones, requests keys, reads the
 * code of a link, submits forms that deliver a response to an application, and continues when a
 * page has loaded.
 */
const root = document.documentElement
root.dataset.script = "on"
const theme = findStorage("localStorage")?.getItem("latchkey.theme")
if (theme === "light" || theme === "dark") root.dataset.theme = theme

document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll("button[data-reveal]")) wireReveal(button)
  for (const input of document.querySelectorAll("input[data-from-link]")) fillCode(input)
  for (const element of document.querySelectorAll("[data-code-place]")) showCode(element)
  for (const form of document.querySelectorAll("form")) {
    if (!form.closest("[data-key]")) wireForm(form)
  }
  for (const list of document.querySelectorAll("[data-password-rules]")) wirePasswordRules(list)
  wireSetup()
  wireKeys()
  for (const link of document.querySelectorAll("a[data-when-loaded]")) continueWhenLoaded(link)
})

function wireReveal(button: Element): void {
  if (!(button instanceof HTMLButtonElement)) return
  button.addEventListener("click", () => {
    const input = document.getElementById(button.dataset.reveal ?? "")
    if (!(input instanceof HTMLInputElement)) return
    const isHidden = input.type === "password"
    input.type = isHidden ? "text" : "password"
    button.ariaPressed = String(isHidden)
    button.textContent = (isHidden ? button.dataset.hide : button.dataset.show) ?? ""
    input.focus()
  })
}

/** The code is in the fragment, so that it appears in no server log and no Referer header. */
function fillCode(input: Element): void {
  const code = location.hash.slice(1)
  if (!(input instanceof HTMLInputElement) || !code) return
  input.value = code
  input.closest("[data-code-field]")?.setAttribute("hidden", "")
}

/** The same, as text to enter elsewhere. */
function showCode(element: Element): void {
  const code = location.hash.slice(1)
  if (!code) return
  element.textContent = code
  element.closest("[data-code-shown]")?.removeAttribute("hidden")
}

/** The load event includes the frames of the page, even those that fail. */
function continueWhenLoaded(link: Element): void {
  if (!(link instanceof HTMLAnchorElement)) return
  window.addEventListener("load", () => location.replace(link.href))
}

/** A second click during the request would post the form again. */
function wireForm(form: HTMLFormElement): void {
  let isSubmitted = false
  form.addEventListener("submit", (event) => {
    if (isSubmitted) event.preventDefault()
    isSubmitted = true
  })
  // The Back button restores the page in its last state, so the form is enabled again.
  window.addEventListener("pageshow", () => {
    isSubmitted = false
  })
  if (form.dataset.autosubmit !== undefined) form.submit()
}
