/*
 * Requests passkeys and security keys from the browser: when a form that needs one is submitted,
 * and in the login name field of the first page.
 */

import { parseCreationOptions, parseRequestOptions, toResponseJson } from "../../kit/webauthn.ts"

/** Wires elements that need a key; forms within them are posted with its response. */
export function wireKeys(): void {
  for (const element of document.querySelectorAll<HTMLElement>("[data-key]")) wire(element)
  for (const element of document.querySelectorAll<HTMLElement>("[data-unknown-key]"))
    signalUnknown(element)
}

/** WebAuthn Level 3 §5.1.10.1: asks the browser to stop offering a passkey that is unknown here. */
function signalUnknown(element: HTMLElement): void {
  if (!("PublicKeyCredential" in window)) return
  const signal = "signalUnknownCredential"
  if (!(signal in PublicKeyCredential)) return
  const tell = PublicKeyCredential[signal]
  if (typeof tell !== "function") return
  const signaled: Promise<unknown> = tell.call(
    PublicKeyCredential,
    JSON.parse(element.dataset.unknownKey ?? "{}"),
  )
  // Browsers may not allow it; the page already offers alternatives.
  signaled.catch(() => undefined)
}

function wire(element: HTMLElement): void {
  const form = element.querySelector("form")
  const field = form?.querySelector<HTMLInputElement>('input[name="credential"]')
  const failed = form?.querySelector<HTMLElement>("[data-key-failed]")
  if (!form || !field || !failed) return
  const isRegistered = element.dataset.key === "create"
  let offer: AbortController | undefined
  const ask = async (mediation?: CredentialMediationRequirement) => {
    offer?.abort()
    const abortController = new AbortController()
    offer = mediation ? abortController : undefined
    const options = JSON.parse(element.dataset.keyOptions ?? "{}")
    const requestOptions = { signal: abortController.signal, ...(mediation && { mediation }) }
    const made = isRegistered
      ? await navigator.credentials.create({
          publicKey: parseCreationOptions(options),
          ...requestOptions,
        })
      : await navigator.credentials.get({
          publicKey: parseRequestOptions(options),
          ...requestOptions,
        })
    if (!(made instanceof PublicKeyCredential)) throw new Error("no key")
    field.value = JSON.stringify(toResponseJson(made))
    form.submit()
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    failed.hidden = true
    ask().catch(() => {
      failed.hidden = false
    })
  })
  // Browsers abort it if the user selects none.
  if (element.dataset.keyOffered !== undefined) {
    element.hidden = !("PublicKeyCredential" in window)
    // Registration requires a user action: no passkey is created while the user enters a password.
    if (!isRegistered) void offerAutofill(() => ask("conditional"))
  }
}

async function offerAutofill(ask: () => Promise<void>): Promise<void> {
  if (!("PublicKeyCredential" in window)) return
  const isThere = await PublicKeyCredential.isConditionalMediationAvailable?.()
  if (isThere) await ask().catch(() => undefined)
}
