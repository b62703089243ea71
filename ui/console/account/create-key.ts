import { answerOf, creationOf } from "../../kit/index.ts"

/** Whether the browser can make keys here: it does on https and on localhost. */
export const hasKeys = (): boolean => "PublicKeyCredential" in window

/**
 * Has the browser make a key, by options as the server hands them on (JSON in bytes); answers what
 * the server wants back, as JSON in bytes.
 */
export async function madeKey(options: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { publicKey } = JSON.parse(new TextDecoder().decode(options))
  const made = await navigator.credentials.create({ publicKey: creationOf(publicKey) })
  if (!(made instanceof PublicKeyCredential)) throw new DOMException("no key", "NotAllowedError")
  return new TextEncoder().encode(JSON.stringify(answerOf(made)))
}

/** What the browser refuses (WebAuthn §5.1.3), told apart from what the server does. */
export const isOfBrowser = (failure: unknown): boolean => failure instanceof DOMException
