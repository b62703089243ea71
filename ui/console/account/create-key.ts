import { parseCreationOptions, toResponseJson } from "../../kit/index.ts"

/** Whether the browser supports keys here, which requires HTTPS or localhost. */
export const areKeysSupported = (): boolean => "PublicKeyCredential" in window

/**
 * Creates a key with the server's options (JSON in bytes). Returns the response for the server as
 * JSON in bytes.
 */
export async function createKey(options: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { publicKey } = JSON.parse(new TextDecoder().decode(options))
  const created = await navigator.credentials.create({ publicKey: parseCreationOptions(publicKey) })
  if (!(created instanceof PublicKeyCredential))
    throw new DOMException("the browser created no key", "NotAllowedError")
  return new TextEncoder().encode(JSON.stringify(toResponseJson(created)))
}

/** Whether an error is from the browser (WebAuthn §5.1.3), not from the server. */
export const isBrowserError = (failure: unknown): boolean => failure instanceof DOMException
