/** JSON options of the server for the browser (WebAuthn §5.4). */
type CreationOptionsJson = {
  readonly challenge: string
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string }
  readonly rp: { readonly id: string; readonly name: string }
  readonly pubKeyCredParams: PublicKeyCredentialParameters[]
  readonly excludeCredentials?: readonly DescriptorJson[]
  readonly allowCredentials?: readonly DescriptorJson[]
}
type DescriptorJson = { readonly id: string; readonly transports?: AuthenticatorTransport[] }

/** Parses creation options from JSON (WebAuthn §5.4). */
export const parseCreationOptions = (
  json: CreationOptionsJson,
): PublicKeyCredentialCreationOptions => ({
  ...json,
  challenge: decodeBase64url(json.challenge),
  user: { ...json.user, id: decodeBase64url(json.user.id) },
  excludeCredentials: (json.excludeCredentials ?? []).map(parseDescriptor),
})

/** Parses request options from JSON (WebAuthn §5.5). */
export const parseRequestOptions = (
  json: CreationOptionsJson,
): PublicKeyCredentialRequestOptions => ({
  ...json,
  challenge: decodeBase64url(json.challenge),
  allowCredentials: (json.allowCredentials ?? []).map(parseDescriptor),
})

const parseDescriptor = ({ id, transports }: DescriptorJson): PublicKeyCredentialDescriptor => ({
  id: decodeBase64url(id),
  type: "public-key",
  ...(transports && { transports }),
})

/** The response as JSON (§5.1.8). */
export function toResponseJson({ id, response }: PublicKeyCredential): object {
  const clientDataJSON = encodeBase64url(response.clientDataJSON)
  if (response instanceof AuthenticatorAttestationResponse) {
    const attestationObject = encodeBase64url(response.attestationObject)
    const transports = response.getTransports?.() ?? []
    return { id, response: { clientDataJSON, attestationObject, transports } }
  }
  if (!(response instanceof AuthenticatorAssertionResponse))
    throw new Error("the credential is not a WebAuthn response")
  const authenticatorData = encodeBase64url(response.authenticatorData)
  const signature = encodeBase64url(response.signature)
  const userHandle = response.userHandle ? encodeBase64url(response.userHandle) : undefined
  return { id, response: { clientDataJSON, authenticatorData, signature, userHandle } }
}

function decodeBase64url(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"))
  return Uint8Array.from(plain, (character) => character.charCodeAt(0))
}

const encodeBase64url = (buffer: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")
