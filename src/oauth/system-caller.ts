import { createPublicKey, type KeyObject } from "node:crypto"
import type { Caller } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import { lru } from "../kernel/lru.ts"
import type { SystemUser } from "../kernel/system-user.ts"
import { loadJose } from "../protocol/jose.ts"
import { isJwt } from "../protocol/jwt.ts"
import { algorithmsOf, parseAssertion } from "./client/assertion.ts"
import { aheadMaxSeconds, catchInputError } from "./client/jwt.ts"

const lifetimeMaxSeconds = 3600
const toleranceSeconds = 1

/** What a token of a system user is verified against. */
type SystemUserRegistry = {
  readonly users: readonly SystemUser[]
  /** The public URLs that are accepted as its audience. */
  readonly addresses: readonly string[]
  /** ms UTC. */
  readonly now: number
}

/**
 * Authenticates a system user, who manages several instances, by a token that they signed
 * themselves; undefined for other tokens. The token must have its issuer as subject and a public
 * URL as audience, and be valid for at most an hour. Throws if it claims to be from a system user
 * and is invalid.
 */
export async function authenticateSystemUser(
  authorization: string,
  { users, addresses, now }: SystemUserRegistry,
): Promise<Caller | undefined> {
  const text = /^bearer +(\S+)$/i.exec(authorization)?.[1]
  if (text === undefined || !isJwt(text)) return undefined
  const claims = parseAssertion(text)
  const user = users.find(({ name }) => name === claims?.issuer)
  if (!user) return undefined
  const key = importKey(user.publicKey)
  const { jwtVerify } = await loadJose()
  const verified = await catchInputError(() =>
    jwtVerify(text, key, {
      algorithms: [...algorithmsOf(key)],
      audience: [...addresses],
      issuer: user.name,
      subject: user.name,
      requiredClaims: ["exp"],
      clockTolerance: aheadMaxSeconds,
      currentDate: new Date(now),
    }),
  )
  const { exp = 0, iat = 0, aud } = verified?.payload ?? {}
  const seconds = now / 1000
  const isBegun = iat <= seconds + aheadMaxSeconds && exp + toleranceSeconds > seconds
  const expiryLimit = Math.max(seconds, iat) + lifetimeMaxSeconds + toleranceSeconds
  const isShort = isBegun && exp <= expiryLimit
  const publicUrl = addresses.find((each) => [aud].flat().includes(each))
  if (!verified || !isShort || publicUrl === undefined) throw invalidTokenError()
  return { kind: "system", name: user.name, roles: user.roles, publicUrl }
}

function importKey(pem: string): KeyObject {
  const key = keyCache.get(pem) ?? createPublicKey(pem)
  keyCache.set(pem, key)
  return key
}
const keyCache = lru<KeyObject>(100)

const invalidTokenError = () =>
  new Fault(
    "unauthenticated",
    "token.system",
    "the system user token is invalid: sign it with the registered key, use the user name " +
      "as iss and sub and the public URL of this server as aud, and limit its lifetime to " +
      "one hour",
  )
