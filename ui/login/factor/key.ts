/*
 * Has the browser ask passkeys and security keys: when a form that wants one is submitted, and on
 * the first page where a name is typed.
 */

import { answerOf, creationOf, requestOf } from "../../kit/webauthn.ts"

/** Wires what wants a key; forms within it are posted with the answer. */
export function wireKeys(): void {
  for (const place of document.querySelectorAll<HTMLElement>("[data-key]")) wire(place)
  for (const place of document.querySelectorAll<HTMLElement>("[data-unknown-key]")) forget(place)
}

/** WebAuthn Level 3 §5.1.10.1: has the browser offer a passkey no more that is nobody's here. */
function forget(place: HTMLElement): void {
  if (!("PublicKeyCredential" in window)) return
  const signal = "signalUnknownCredential"
  if (!(signal in PublicKeyCredential)) return
  const tell = PublicKeyCredential[signal]
  if (typeof tell !== "function") return
  const told: Promise<unknown> = tell.call(
    PublicKeyCredential,
    JSON.parse(place.dataset.unknownKey ?? "{}"),
  )
  // Whether it does is for the browser to say; the page offers other ways already.
  told.catch(() => undefined)
}

function wire(place: HTMLElement): void {
  const form = place.querySelector("form")
  const field = form?.querySelector<HTMLInputElement>('input[name="credential"]')
  const failed = form?.querySelector<HTMLElement>("[data-key-failed]")
  if (!form || !field || !failed) return
  const isMade = place.dataset.key === "create"
  let offer: AbortController | undefined
  const ask = async (mediation?: CredentialMediationRequirement) => {
    offer?.abort()
    const asked = new AbortController()
    offer = mediation ? asked : undefined
    const options = JSON.parse(place.dataset.keyOptions ?? "{}")
    const how = { signal: asked.signal, ...(mediation && { mediation }) }
    const made = isMade
      ? await navigator.credentials.create({ publicKey: creationOf(options), ...how })
      : await navigator.credentials.get({ publicKey: requestOf(options), ...how })
    if (!(made instanceof PublicKeyCredential)) throw new Error("no key")
    field.value = JSON.stringify(answerOf(made))
    form.submit()
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    failed.hidden = true
    ask().catch(() => {
      failed.hidden = false
    })
  })
  // Browsers end it by themselves where nobody picks one.
  if (place.dataset.keyOffered !== undefined) {
    place.hidden = !("PublicKeyCredential" in window)
    // One that is made asks the person: none is made for them while they type a password.
    if (!isMade) void offerWhereTyped(() => ask("conditional"))
  }
}

async function offerWhereTyped(ask: () => Promise<void>): Promise<void> {
  if (!("PublicKeyCredential" in window)) return
  const isThere = await PublicKeyCredential.isConditionalMediationAvailable?.()
  if (isThere) await ask().catch(() => undefined)
}
