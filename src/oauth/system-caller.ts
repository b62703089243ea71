import { createPublicKey, type KeyObject } from "node:crypto"
import type { Caller } from "../kernel/context.ts"
import { Fault } from "../kernel/fault.ts"
import { lru } from "../kernel/lru.ts"
import type { SystemUser } from "../kernel/system-user.ts"
import { jose } from "../protocol/jose.ts"
import { isJwt } from "../protocol/jwt.ts"
import { algorithmsOf, readAssertion } from "./client/assertion.ts"
import { aheadMaxSeconds, expected } from "./client/jwt.ts"

const lifetimeMaxSeconds = 3600
const toleranceSeconds = 1

/** What a token of a system user is held against. */
type Known = {
  readonly users: readonly SystemUser[]
  /** The public addresses that it may be meant for. */
  readonly addresses: readonly string[]
  /** ms UTC. */
  readonly now: number
}

/**
 * Who manages several instances, by a token that they signed themselves; undefined for everybody
 * else's. It must name its issuer as its subject and a public address as its audience, and last for
 * an hour at most. Faults where it says that it is a system user's and that is not so.
 */
export async function systemCaller(
  authorization: string,
  { users, addresses, now }: Known,
): Promise<Caller | undefined> {
  const text = /^bearer +(\S+)$/i.exec(authorization)?.[1]
  if (text === undefined || !isJwt(text)) return undefined
  const claims = readAssertion(text)
  const user = users.find(({ name }) => name === claims?.issuer)
  if (!user) return undefined
  const key = keyOf(user.publicKey)
  const { jwtVerify } = await jose()
  const verified = await expected(() =>
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
  const end = Math.max(seconds, iat) + lifetimeMaxSeconds + toleranceSeconds
  const isShort = isBegun && exp <= end
  const publicUrl = addresses.find((each) => [aud].flat().includes(each))
  if (!verified || !isShort || publicUrl === undefined) throw refusedError()
  return { kind: "system", name: user.name, roles: user.roles, publicUrl }
}

function keyOf(pem: string): KeyObject {
  const key = keys.get(pem) ?? createPublicKey(pem)
  keys.set(pem, key)
  return key
}
const keys = lru<KeyObject>(100)

const refusedError = () =>
  new Fault(
    "unauthenticated",
    "token.system",
    "this is no valid token of a system user: sign it with the registered key, name the user as " +
      "iss and sub and this server's public address as aud, and let it last an hour at most",
  )
