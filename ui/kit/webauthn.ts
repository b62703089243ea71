/** What a server hands on to a browser has this form (WebAuthn §5.4, as JSON). */
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
export const creationOf = (json: Json): PublicKeyCredentialCreationOptions => ({
  ...json,
  challenge: bytesOf(json.challenge),
  user: { ...json.user, id: bytesOf(json.user.id) },
  excludeCredentials: (json.excludeCredentials ?? []).map(descriptorOf),
})

/** WebAuthn §5.5, from its JSON. */
export const requestOf = (json: Json): PublicKeyCredentialRequestOptions => ({
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
export function answerOf({ id, response }: PublicKeyCredential): object {
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
