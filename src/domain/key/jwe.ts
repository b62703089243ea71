import { createPublicKey } from "node:crypto"
import { loadJose } from "../../protocol/jose.ts"

/** The recipient of an encrypted token: an RSA or EC public key as PEM, with its owner's key ID. */
export type JweRecipient = { readonly keyId: string; readonly pem: string }

/**
 * RFC 7519 §11.2: a JWT that is signed, then encrypted, so that only the recipient can read it and
 * can verify its issuer.
 */
export async function encryptJwt(jwt: string, { keyId: kid, pem }: JweRecipient): Promise<string> {
  const key = createPublicKey(pem)
  const { CompactEncrypt } = await loadJose()
  const alg = key.asymmetricKeyType === "rsa" ? "RSA-OAEP-256" : "ECDH-ES+A256KW"
  return new CompactEncrypt(Buffer.from(jwt))
    .setProtectedHeader({ alg, enc: "A256GCM", kid, cty: "JWT" })
    .encrypt(key)
}
