import { createPrivateKey, type KeyObject } from "node:crypto"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { SignJWT } from "jose"
import { addServiceKey, createServiceKey } from "../../src/domain/service-account/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import type { JwtFormat } from "../../src/domain/user-model/index.ts"
import { neverExpires } from "../../src/kernel/crypto/signing-key.ts"
import { callOperation } from "../support/call-operation.ts"
import * as userApi from "../support/user-modules.ts"
import { issuer, type Provider } from "./provider.ts"

export const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

type Claims = Readonly<Record<string, unknown>>
type Signing = { readonly header?: Claims; readonly key?: KeyObject | Uint8Array }

export type Machine = Awaited<ReturnType<typeof addMachine>>

/** A service account with a key, and its token requests. */
export async function addMachine(
  provider: Provider,
  accessTokenType: "bearer" | "jwt" = "bearer",
  jwtFormat?: JwtFormat,
) {
  const cx = provider.cx()
  const userId = cx.ids.next()
  const { orgId } = provider.setup
  const machine = { kind: "machine", name: "Robot", accessTokenType, jwtFormat } as const
  await createUser(cx, userId, { ...machine, orgId, userName: `robot-${userId}` })
  const made = await createServiceKey(cx, userId)
  await addServiceKey(cx, userId, { ...made, expires: neverExpires })
  const { keyId, key } = JSON.parse(made.content)
  const own = createPrivateKey(key)

  const assertion = (changes: Claims = {}, { header, key: other }: Signing = {}) => {
    const now = Math.floor(provider.clock.now() / 1000)
    const all = { iss: userId, sub: userId, aud: issuer, iat: now, exp: now + 300, ...changes }
    const kept = Object.entries(all).filter(([, value]) => value !== undefined)
    return new SignJWT(Object.fromEntries(kept))
      .setProtectedHeader({ alg: "RS256", kid: keyId, ...header })
      .sign(other ?? own)
  }
  return {
    userId,
    keyId: String(keyId),
    assertion,
    /** The token request with an assertion. */
    fields: async (changes: Claims = {}, scope = "openid") => ({
      grant_type: jwtBearer,
      assertion: await assertion(changes),
      scope,
    }),
  }
}

const v2 = userApi.shares.filter(({ service }) => service.typeName.includes(".v2."))

/** A personal access token of a service account, valid for a day. */
export async function personalTokenOf(provider: Provider, userId: string): Promise<string> {
  const cx = provider.cx({ outranks: () => true })
  const expirationDate = timestampFromMs(provider.clock.now() + 86_400_000)
  return (await callOperation(v2, "addPersonalAccessToken", cx, { userId, expirationDate })).token
}
