import { never } from "../../kernel/crypto/signing-key.ts"
import { Fault } from "../../kernel/fault.ts"
import { normalForm } from "../../kernel/text/name.ts"
import type { Cx } from "../../store/index.ts"
import { createPassword } from "../credential/index.ts"
import { domainOf } from "../instance/index.ts"
import { addPersonalToken, addServiceKey, createServiceKey } from "../service-account/index.ts"
import { type NewProfile, warnOfLeaving } from "../user/index.ts"
import { provision } from "./provision.ts"
import { allowRecoveryCodes } from "./recovery-codes.ts"

/** A new instance, as whoever manages several asks for it. */
export type InstanceInput = {
  readonly name: string
  /** The instance's name where it is left out. */
  readonly organization: string
  /** One is made of the name where it is left out. */
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
  /** Until when, in ms UTC; undefined where none is asked for. */
  readonly token: number | undefined
  readonly key: number | undefined
}

export type Created = {
  readonly instance: string
  /** Shown this once. */
  readonly token: string | undefined
  readonly keyFile: string | undefined
}

/** Makes an instance beside the others, reached by a name of its own at the address we have. */
export async function createInstance(cx: Cx, input: InstanceInput): Promise<Created> {
  const there: Cx = { ...cx, instance: cx.ids.next() }
  const created = await createAt(there, input)
  await warnOfLeaving(there)
  return created
}

async function createAt(cx: Cx, input: InstanceInput): Promise<Created> {
  const publicUrl = publicUrlFor(cx, input)
  const common = {
    name: input.name,
    organization: input.organization || input.name,
    publicUrl,
    language: input.language,
  }
  const { owner } = input
  if (owner.kind === "human") {
    await provision(cx, { ...common, owner: await humanOf(owner), more: allowRecoveryCodes })
    return { instance: cx.instance, token: undefined, keyFile: undefined }
  }
  return createWithMachine(cx, common, owner)
}

type Common = {
  readonly name: string
  readonly organization: string
  readonly publicUrl: string
  readonly language: string
}

async function createWithMachine(cx: Cx, common: Common, owner: MachineOwner): Promise<Created> {
  // The file names the user, whose id is known in the step only.
  const key = owner.key === undefined ? undefined : await createServiceKey(cx, "")
  let token: string | undefined
  const { ownerId } = await provision(cx, {
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
      addServiceKey.within(tx, userId, { keyId, publicKey, expires: endOr(owner.key) })
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

/** Times that are left out never end. */
export const endOr = (ms: number | undefined): number => ms ?? never

/** The public address with the instance's own name in it. */
function publicUrlFor(cx: Cx, { name, domain }: InstanceInput): string {
  const ours = cx.caller.kind === "system" ? cx.caller.publicUrl : undefined
  if (ours === undefined) throw new Error("only system callers make instances")
  const url = new URL(ours)
  if (domain !== "") {
    url.hostname = domainOf("custom_domain", domain)
    return url.origin
  }
  if (/^\[|^[\d.]+$/.test(url.hostname)) {
    throw new Fault(
      "invalid_argument",
      "instance.domain_missing",
      "say custom_domain: our own address has no name that another one could be made of",
    )
  }
  const own = normalForm(name, "NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
  const label = own.replace(/^-+|-+$/g, "").slice(0, 40)
  url.hostname = domainOf("domain", `${label || "instance"}-${cx.ids.next()}.${url.hostname}`)
  return url.origin
}
