import { never } from "../../kernel/signing-key.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { addApplication, changeApplication } from "../app/index.ts"
import {
  addInstance,
  addInstanceMember,
  ownerRole,
  requireInstance,
  setOwnResources,
  setPublicUrl,
} from "../instance/index.ts"
import { addKeys, prepareKeys } from "../key/index.ts"
import { addOrganization } from "../org/index.ts"
import { addProject } from "../project/index.ts"
import { addServiceKey, addUser, createPassword } from "../user/index.ts"

/**
 * The id of the instance that set-up makes. It is the same in every data folder, so that of two
 * set-ups at once the second finds the first one's stream and is refused.
 */
export const firstInstance = "1"

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
  /** The key of a service user who owns the instance, too; their ids are the caller's choice. */
  readonly serviceKey: OwnerKey | undefined
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
  const { owner, serviceKey } = input
  const ids = { org: cx.ids.next(), owner: cx.ids.next(), project: cx.ids.next() }
  const [password, keys] = await Promise.all([
    createPassword(owner.password, { names: [owner.loginName, owner.email] }),
    prepareKeys(cx),
  ])
  await cx.store.transact(cx, (tx) => {
    addInstance(tx, { name: input.organization, publicUrl: input.publicUrl })
    addKeys(tx, keys)
    addOrganization(tx, ids.org, { name: input.organization })
    addUser(tx, ids.owner, {
      kind: "human",
      orgId: ids.org,
      userName: owner.loginName,
      profile: { givenName: owner.firstName, familyName: owner.lastName },
      // The owner is the one who says what is so on this instance.
      email: { value: owner.email, verified: true },
      password,
    })
    own(tx, { userId: ids.owner, orgId: ids.org })
    if (serviceKey) {
      const { userId, keyId, publicKey } = serviceKey
      addUser(tx, userId, {
        kind: "machine",
        orgId: ids.org,
        userName: "automation",
        name: "Automation",
        accessTokenType: "bearer",
      })
      addServiceKey.within(tx, userId, { keyId, publicKey, expires: never })
      own(tx, { userId, orgId: ids.org })
    }
    addConsole(tx, { orgId: ids.org, projectId: ids.project, publicUrl: input.publicUrl })
  })
  return { ownerId: ids.owner, orgId: ids.org }
}

const own = (tx: Transaction, who: { readonly userId: string; readonly orgId: string }) =>
  addInstanceMember.within(tx, tx.instance, { ...who, roles: [ownerRole] })

/** Our own project, whose audience the management interface asks for, and the console in it. */
function addConsole(
  tx: Transaction,
  { orgId, projectId, publicUrl }: { orgId: string; projectId: string; publicUrl: string },
): void {
  addProject(tx, projectId, { orgId, name: "Latchkey" })
  const console = { appId: tx.ids.next(), clientId: tx.ids.next() }
  addApplication(tx, console.appId, {
    projectId,
    name: "Latchkey console",
    clientId: console.clientId,
    // A page in the browser keeps no secret: a public client, which must use PKCE.
    config: {
      kind: "oidc",
      oidc: { ...consoleUris(publicUrl), appType: "user_agent", authMethod: "none" },
    },
  })
  setOwnResources(tx, { orgId, projectId, console })
}

/** Where the console comes back to after signing in and out; see ui/console. */
const consoleUris = (publicUrl: string) => ({
  redirectUris: [`${publicUrl}/ui/console/callback`],
  postLogoutRedirectUris: [`${publicUrl}/ui/console/signed-out`],
})

/**
 * Moves the instance to another public address, and the console with it. Nothing happens where it
 * is the address already.
 */
export async function moveInstance(cx: Cx, publicUrl: string): Promise<void> {
  const own = requireInstance(cx)
  if (own.publicUrl === publicUrl) return
  await cx.store.transact(cx, (tx) => {
    setPublicUrl.within(tx, tx.instance, publicUrl)
    changeApplication.within(tx, own.consoleAppId, { oidc: consoleUris(publicUrl) })
  })
}
