import { createHmac } from "node:crypto"
import type { Cx } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import { encryptJwt, signer, signingAlgorithms } from "../../key/index.ts"
import { sealedAbout } from "../commands.ts"
import type { Target } from "../model.ts"
import { keyInUse } from "../public-key.ts"

/** What is sent, ready to go. */
export type Parcel = { readonly body: string; readonly headers: Readonly<Record<string, string>> }

/** Writes what a target is sent, in the form that it wants, and signs it. */
export async function parcelOf(
  cx: Cx,
  { id, target }: { readonly id: string; readonly target: Target },
  payload: object,
): Promise<Parcel> {
  const body =
    target.payloadType === "json"
      ? JSON.stringify(payload)
      : await jwtOf(cx, { id, target }, payload)
  const type = target.payloadType === "json" ? "application/json" : "application/jwt"
  const headers = { "content-type": type, "core-signature": signatureOf(cx, { id, target }, body) }
  return { body, headers }
}

type Named = { readonly id: string; readonly target: Target }

/** As long as a receiver may take a signature for new. */
const lifetimeSeconds = 300

/** Of a type of its own, and about nobody: no token of ours is taken for it, nor it for a token. */
async function jwtOf(cx: Cx, { id, target }: Named, payload: object): Promise<string> {
  const [alg] = signingAlgorithms(cx)
  if (alg === undefined) throw new Error("no web key is active, so nothing can be signed")
  const now = Math.floor(cx.clock.now() / 1000)
  const claims = {
    ...payload,
    iss: requireInstance(cx).publicUrl,
    aud: id,
    iat: now,
    exp: now + lifetimeSeconds,
    jti: cx.ids.next(),
  }
  const jwt = await signer(cx, alg).sign(claims, "target+jwt")
  if (target.payloadType === "jwt") return jwt
  const key = keyInUse(target, cx.clock.now())
  if (!key) throw new Error("it has no active public key, so nothing can be encrypted for it")
  return encryptJwt(jwt, key)
}

/**
 * The time is signed, too, so that what somebody has overheard is of no use later. While a signing
 * key takes the place of another, both sign.
 */
function signatureOf(cx: Cx, { id, target: { sealed, before } }: Named, body: string): string {
  const now = cx.clock.now()
  const seconds = Math.floor(now / 1000)
  const used = before && before.until > now ? [sealed, before.sealed] : [sealed]
  const signatures = used.map((each) => {
    const key = cx.secrets.open("seal", each, sealedAbout(id))
    if (key === undefined) throw new Error(`the signing key of target ${id} can't be opened`)
    return `v1=${createHmac("sha256", key).update(`${seconds}.${body}`).digest("hex")}`
  })
  return [`t=${seconds}`, ...signatures].join(",")
}
