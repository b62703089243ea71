import { neverExpires } from "../../kernel/crypto/signing-key.ts"
import { Fault } from "../../kernel/fault.ts"
import { normalForm } from "../../kernel/text/name.ts"
import type { Cx } from "../../store/index.ts"
import { createPassword } from "../credential/index.ts"
import { parseDomain } from "../instance/index.ts"
import { addPersonalToken, addServiceKey, createServiceKey } from "../service-account/index.ts"
import { type NewProfile, warnIfOwnerless } from "../user/index.ts"
import { provisionInstance } from "./provision.ts"
import { allowRecoveryCodes } from "./recovery-codes.ts"

/** A new instance, requested by an administrator of several instances. */
export type InstanceInput = {
  readonly name: string
  /** The name of the instance by default. */
  readonly organization: string
  /** Generated from the name by default. */
  readonly domain: string
  readonly language: string
  readonly owner: HumanOwner | MachineOwner
}

export type HumanOwner = {
  readonly kind: "human"
  readonly userName: string
  readonly email: { readonly value: string; readonly verified: boolean }
  readonly profile: NewProfile
  readonly password: { readonly value: string; readonly mustChange: boolean } | undefined
}

export type MachineOwner = {
  readonly kind: "machine"
  readonly userName: string
  readonly name: string
  /** When the token expires, in ms since the epoch; undefined if no token is requested. */
  readonly token: number | undefined
  readonly key: number | undefined
}

export type CreatedInstance = {
  readonly instance: string
  /** Returned only once. */
  readonly token: string | undefined
  readonly keyFile: string | undefined
}

/** Creates an additional instance, which has its own name at the server's public URL. */
export async function createInstance(cx: Cx, input: InstanceInput): Promise<CreatedInstance> {
  const instanceCx: Cx = { ...cx, instance: cx.ids.next() }
  const created = await createAt(instanceCx, input)
  await warnIfOwnerless(instanceCx)
  return created
}

async function createAt(cx: Cx, input: InstanceInput): Promise<CreatedInstance> {
  const publicUrl = publicUrlFor(cx, input)
  const common = {
    name: input.name,
    organization: input.organization || input.name,
    publicUrl,
    language: input.language,
  }
  const { owner } = input
  if (owner.kind === "human") {
    await provisionInstance(cx, {
      ...common,
      owner: await humanOf(owner),
      more: allowRecoveryCodes,
    })
    return { instance: cx.instance, token: undefined, keyFile: undefined }
  }
  return createWithMachine(cx, common, owner)
}

type InstanceFields = {
  readonly name: string
  readonly organization: string
  readonly publicUrl: string
  readonly language: string
}

async function createWithMachine(
  cx: Cx,
  common: InstanceFields,
  owner: MachineOwner,
): Promise<CreatedInstance> {
  // The file contains the user ID, which is known only within the step.
  const key = owner.key === undefined ? undefined : await createServiceKey(cx, "")
  let token: string | undefined
  const { ownerId } = await provisionInstance(cx, {
    ...common,
    owner: {
      kind: "machine",
      userName: owner.userName || undefined,
      name: owner.name || owner.userName || "Owner",
      accessTokenType: "bearer",
    },
    more: (tx, _, userId) => {
      allowRecoveryCodes(tx)
      if (owner.token !== undefined) token = addPersonalToken(tx, userId, owner.token).token
      if (!key) return
      const { keyId, publicKey } = key
      addServiceKey.within(tx, userId, { keyId, publicKey, expires: expiryOr(owner.key) })
    },
  })
  const keyFile = key && JSON.stringify({ ...JSON.parse(key.content), userId: ownerId })
  return { instance: cx.instance, token, keyFile }
}

async function humanOf({ userName, email, profile, password }: HumanOwner) {
  const names = [userName, email.value].filter((name) => name !== "")
  return {
    kind: "human" as const,
    userName: userName || undefined,
    profile,
    email,
    password: password && {
      ...(await createPassword(password.value, { names })),
      changeRequired: password.mustChange,
    },
  }
}

/** Omitted expiry times mean that the credential never expires. */
export const expiryOr = (ms: number | undefined): number => ms ?? neverExpires

/** The public URL with the domain of the instance. */
function publicUrlFor(cx: Cx, { name, domain }: InstanceInput): string {
  const ours = cx.caller.kind === "system" ? cx.caller.publicUrl : undefined
  if (ours === undefined) throw new Error("only system users can create instances")
  const url = new URL(ours)
  if (domain !== "") {
    url.hostname = parseDomain("custom_domain", domain)
    return url.origin
  }
  if (/^\[|^[\d.]+$/.test(url.hostname)) {
    throw new Fault(
      "invalid_argument",
      "instance.domain_missing",
      "custom_domain is required: the public URL of the server has no name to derive one from",
    )
  }
  const own = normalForm(name, "NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
  const label = own.replace(/^-+|-+$/g, "").slice(0, 40)
  url.hostname = parseDomain("domain", `${label || "instance"}-${cx.ids.next()}.${url.hostname}`)
  return url.origin
}
