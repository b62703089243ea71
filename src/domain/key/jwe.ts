import { createPublicKey } from "node:crypto"
import { jose } from "../../protocol/jose.ts"

/** Who may read it: a public key of RSA or EC as PEM, and the name its owner knows it by. */
export type Reader = { readonly keyId: string; readonly pem: string }

/**
 * RFC 7519 §11.2: a JWT that is signed and then encrypted, so that nobody else reads it and its
 * reader knows who wrote it.
 */
export async function encryptJwt(jwt: string, { keyId: kid, pem }: Reader): Promise<string> {
  const key = createPublicKey(pem)
  const { CompactEncrypt } = await jose()
  const alg = key.asymmetricKeyType === "rsa" ? "RSA-OAEP-256" : "ECDH-ES+A256KW"
  return new CompactEncrypt(Buffer.from(jwt))
    .setProtectedHeader({ alg, enc: "A256GCM", kid, cty: "JWT" })
    .encrypt(key)
}
