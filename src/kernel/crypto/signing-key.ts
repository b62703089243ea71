import { createPublicKey, generateKeyPair, type KeyObject } from "node:crypto"
import { promisify } from "node:util"
import { Fault } from "../fault.ts"

/**
 * The expiry of credentials that don't expire: the last second that every date format can express.
 */
export const neverExpires = 253_402_300_799_000

const generate = promisify(generateKeyPair)

/**
 * Creates an RSA-2048 key pair in PEM; the private key is returned to the caller and never stored.
 */
export async function createSigningPair(): Promise<{
  readonly publicKey: string
  readonly privateKey: string
}> {
  const { publicKey, privateKey } = await generate("rsa", { modulusLength: 2048 })
  return {
    publicKey: pemOf(publicKey),
    privateKey: privateKey.export({ format: "pem", type: "pkcs1" }).toString(),
  }
}

/** Parses a public key in PEM. Rejects private keys and weak keys. */
export function importPublicKey(pem: string): string {
  if (/PRIVATE/.test(pem)) {
    throw invalidError(
      "user.key_private",
      "this is a private key; keep it secret and send the public key",
    )
  }
  const key = parsePublicKey(pem)
  if (key && isStrong(key)) return pemOf(key)
  throw invalidError(
    "user.key_unsupported",
    "the key must be a public key in PEM: RSA from 2048 bits, EC P-256, P-384 or P-521, " +
      "or Ed25519",
  )
}

const pemOf = (key: KeyObject): string => key.export({ format: "pem", type: "spki" }).toString()

/** Returns undefined for an invalid key, so that the caller can report it. */
function parsePublicKey(pem: string): KeyObject | undefined {
  try {
    return createPublicKey({ key: pem, format: "pem" })
  } catch {
    return undefined
  }
}

function isStrong(key: KeyObject): boolean {
  const { modulusLength = 0, namedCurve = "" } = key.asymmetricKeyDetails ?? {}
  if (key.asymmetricKeyType === "rsa") return modulusLength >= 2048 && modulusLength <= 8192
  if (key.asymmetricKeyType === "ec") return curves.includes(namedCurve)
  return key.asymmetricKeyType === "ed25519"
}

const curves = ["prime256v1", "secp384r1", "secp521r1"]

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
