import { never } from "../../kernel/crypto/signing-key.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { createPassword } from "../credential/index.ts"
import type { SealedPair } from "../key/index.ts"
import { addPolicyIn, type PasswordComplexity, passwordComplexity } from "../policy/index.ts"
import { addServiceKey } from "../service-account/index.ts"
import { addUser } from "../user/index.ts"
import { own, provision } from "./provision.ts"
import { allowRecoveryCodes } from "./recovery-codes.ts"

export { firstInstance } from "./first.ts"
export { moveInstance } from "./move.ts"

export type SetupInput = {
  readonly publicUrl: string
  readonly organization: string
  readonly owner: {
    readonly loginName: string
    readonly email: string
    readonly firstName: string
    readonly lastName: string
    readonly password: string
  }
  /** What passwords need; the API's standard where it is left out. */
  readonly passwordRules?: PasswordComplexity | undefined
  /** Whether recovery codes are allowed; left out, the API's standard applies: they are not. */
  readonly recoveryCodes?: boolean
  /** The key of a service user who owns the instance, too; their ids are the caller's choice. */
  readonly serviceKey: OwnerKey | undefined
  /** What it signs with; new ones where they are left out. */
  readonly keys?: readonly SealedPair[] | undefined
}

export type OwnerKey = {
  readonly userId: string
  readonly keyId: string
  readonly publicKey: string
}

export type SetupOutcome = { readonly ownerId: string; readonly orgId: string }

/**
 * Makes an instance that someone can sign in to: organisation, owner, our own project with the
 * console, signing keys. One step: all of it, or nothing. Faults with `already_exists` when set-up
 * has been done. `cx.instance` is the id that the new instance gets.
 */
export async function setUp(cx: Cx, input: SetupInput): Promise<SetupOutcome> {
  const { owner, serviceKey, passwordRules: rules, recoveryCodes = false } = input
  const password = createPassword(owner.password, {
    names: [owner.loginName, owner.email],
    ...(rules && { complexity: rules }),
  })
  const made = await provision(cx, {
    name: input.organization,
    organization: input.organization,
    publicUrl: input.publicUrl,
    keys: input.keys,
    owner: {
      kind: "human",
      userName: owner.loginName,
      profile: { givenName: owner.firstName, familyName: owner.lastName },
      // The owner is the one who says what is so on this instance.
      email: { value: owner.email, verified: true, verifier: { by: "instance" } },
      password: await password,
    },
    more: (tx, orgId) => {
      if (rules) addPolicyIn(tx, undefined, { policy: passwordComplexity, say: () => rules })
      if (recoveryCodes) allowRecoveryCodes(tx)
      if (serviceKey) addAutomation(tx, orgId, serviceKey)
    },
  })
  return { ownerId: made.ownerId, orgId: made.orgId }
}

function addAutomation(tx: Transaction, orgId: string, key: OwnerKey): void {
  const { userId, keyId, publicKey } = key
  addUser(tx, userId, {
    kind: "machine",
    orgId,
    userName: "automation",
    name: "Automation",
    accessTokenType: "bearer",
  })
  addServiceKey.within(tx, userId, { keyId, publicKey, expires: never })
  own(tx, { userId, orgId })
}

/** What this module is to the whole. */
export const module = {
  operations: () => import("./api.ts"),
} as const
