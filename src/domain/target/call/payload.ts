import { createHmac } from "node:crypto"
import type { Cx } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import { encryptJwt, getSigner, signingAlgorithms } from "../../key/index.ts"
import { sealContextOf } from "../commands.ts"
import type { Target } from "../model.ts"
import { activeKeyOf } from "../public-key.ts"

/** The body and headers of a call. */
export type EncodedPayload = {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** Formats the payload of a target in its format and signs it. */
export async function encodePayload(
  cx: Cx,
  { id, target }: { readonly id: string; readonly target: Target },
  payload: object,
): Promise<EncodedPayload> {
  const body =
    target.payloadType === "json"
      ? JSON.stringify(payload)
      : await createJwt(cx, { id, target }, payload)
  const type = target.payloadType === "json" ? "application/json" : "application/jwt"
  const headers = {
    "content-type": type,
    "core-signature": createSignature(cx, { id, target }, body),
  }
  return { body, headers }
}

type TargetRef = { readonly id: string; readonly target: Target }

/** How long a receiver should accept a signature. */
const lifetimeSeconds = 300

/** An explicit type and no subject, so that it can't be confused with our tokens. */
async function createJwt(cx: Cx, { id, target }: TargetRef, payload: object): Promise<string> {
  const [alg] = signingAlgorithms(cx)
  if (alg === undefined) throw new Error("no web key is active, so the payload can't be signed")
  const now = Math.floor(cx.clock.now() / 1000)
  const claims = {
    ...payload,
    iss: requireInstance(cx).publicUrl,
    aud: id,
    iat: now,
    exp: now + lifetimeSeconds,
    jti: cx.ids.next(),
  }
  const jwt = await getSigner(cx, alg).sign(claims, "target+jwt")
  if (target.payloadType === "jwt") return jwt
  const key = activeKeyOf(target, cx.clock.now())
  if (!key)
    throw new Error("the target has no active public key, so the payload can't be encrypted")
  return encryptJwt(jwt, key)
}

/**
 * The signature includes the time, so that intercepted calls can't be replayed later. During a key
 * change, both keys sign.
 */
function createSignature(
  cx: Cx,
  { id, target: { sealed, before } }: TargetRef,
  body: string,
): string {
  const now = cx.clock.now()
  const seconds = Math.floor(now / 1000)
  const used = before && before.until > now ? [sealed, before.sealed] : [sealed]
  const signatures = used.map((each) => {
    const key = cx.secrets.open("seal", each, sealContextOf(id))
    if (key === undefined) throw new Error(`the signing key of target ${id} can't be decrypted`)
    return `v1=${createHmac("sha256", key).update(`${seconds}.${body}`).digest("hex")}`
  })
  return [`t=${seconds}`, ...signatures].join(",")
}
