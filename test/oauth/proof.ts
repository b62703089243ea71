import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { issuer, type Provider } from "./provider.ts"

/** The key pair that a client proves to possess. */
export type ProofKey = Awaited<ReturnType<typeof newProofKey>>

export async function newProofKey() {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true })
  return { privateKey, jwk: await exportJWK(publicKey) }
}

let serial = 0

/** RFC 9449 §4.2: a proof for one POST, by default to the token endpoint. */
export const createProof = (
  provider: Provider,
  { privateKey, jwk }: ProofKey,
  path = "/oauth/v2/token",
): Promise<string> =>
  new SignJWT({
    jti: `proof ${serial++}`,
    htm: "POST",
    htu: `${issuer}${path}`,
    iat: Math.floor(provider.clock.now() / 1000),
  })
    .setProtectedHeader({ typ: "dpop+jwt", alg: "ES256", jwk })
    .sign(privateKey)

/** Posts to the token endpoint with a proof; `basic` is "<id>:<secret>". */
export async function requestBoundToken(
  provider: Provider,
  fields: Readonly<Record<string, string>>,
  { key, basic }: { readonly key?: ProofKey | undefined; readonly basic?: string | undefined },
) {
  const headers = new Headers()
  if (basic) headers.set("authorization", `Basic ${Buffer.from(basic).toString("base64")}`)
  if (key) headers.set("dpop", await createProof(provider, key))
  const body = new URLSearchParams(fields)
  const response = await provider.send("/oauth/v2/token", { method: "POST", body, headers })
  const answer: Record<string, unknown> = await response.json()
  return { status: response.status, answer }
}
