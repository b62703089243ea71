/*
 * Has the browser ask passkeys and security keys: when a form that wants one is submitted, and on
 * the first page where a name is typed.
 */

/** Wires what wants a key; forms within it are posted with the answer. */
export function wireKeys(): void {
  for (const place of document.querySelectorAll<HTMLElement>("[data-key]")) wire(place)
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
    void offerWhereTyped(() => ask("conditional"))
  }
}

async function offerWhereTyped(ask: () => Promise<void>): Promise<void> {
  if (!("PublicKeyCredential" in window)) return
  const isThere = await PublicKeyCredential.isConditionalMediationAvailable?.()
  if (isThere) await ask().catch(() => undefined)
}

type Json = {
  readonly challenge: string
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string }
  readonly rp: { readonly id: string; readonly name: string }
  readonly pubKeyCredParams: PublicKeyCredentialParameters[]
  readonly excludeCredentials?: readonly Descriptor[]
  readonly allowCredentials?: readonly Descriptor[]
}
type Descriptor = { readonly id: string; readonly transports?: AuthenticatorTransport[] }

/** WebAuthn §5.4, from its JSON. */
const creationOf = (json: Json): PublicKeyCredentialCreationOptions => ({
  ...json,
  challenge: bytesOf(json.challenge),
  user: { ...json.user, id: bytesOf(json.user.id) },
  excludeCredentials: (json.excludeCredentials ?? []).map(descriptorOf),
})

const requestOf = (json: Json): PublicKeyCredentialRequestOptions => ({
  ...json,
  challenge: bytesOf(json.challenge),
  allowCredentials: (json.allowCredentials ?? []).map(descriptorOf),
})

const descriptorOf = ({ id, transports }: Descriptor): PublicKeyCredentialDescriptor => ({
  id: bytesOf(id),
  type: "public-key",
  ...(transports && { transports }),
})

/** §5.1.8, as JSON. */
function answerOf({ id, response }: PublicKeyCredential): object {
  const clientDataJSON = textOf(response.clientDataJSON)
  if (response instanceof AuthenticatorAttestationResponse) {
    const attestationObject = textOf(response.attestationObject)
    const transports = response.getTransports?.() ?? []
    return { id, response: { clientDataJSON, attestationObject, transports } }
  }
  if (!(response instanceof AuthenticatorAssertionResponse)) throw new Error("no answer of a key")
  const authenticatorData = textOf(response.authenticatorData)
  const signature = textOf(response.signature)
  const userHandle = response.userHandle ? textOf(response.userHandle) : undefined
  return { id, response: { clientDataJSON, authenticatorData, signature, userHandle } }
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"))
  return Uint8Array.from(plain, (character) => character.charCodeAt(0))
}

const textOf = (buffer: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")
