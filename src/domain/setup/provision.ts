import type { Cx, Transaction } from "../../store/index.ts"
import { addApplication } from "../app/index.ts"
import { addInstance, addInstanceMember, ownerRole, setOwnResources } from "../instance/index.ts"
import { addKeys, prepareKeys, type SealedPair } from "../key/index.ts"
import { addOrganization } from "../org/index.ts"
import { addProject } from "../project/index.ts"
import { addUser, type NewHuman, type NewMachine } from "../user/index.ts"

/** A new instance; whoever owns it belongs to its first organisation. */
export type NewInstance = {
  readonly name: string
  readonly organization: string
  readonly publicUrl: string
  /** Of the pages, for who reads none of theirs; ours where it is left out. */
  readonly language?: string
  readonly owner: Omit<NewHuman, "orgId"> | Omit<NewMachine, "orgId">
  /** What it signs with; new ones where they are left out. */
  readonly keys?: readonly SealedPair[] | undefined
  /** Comes last, in the same step. */
  readonly more?: (tx: Transaction, orgId: string, ownerId: string) => void
}

/**
 * Makes an instance that someone can sign in to, in one step; `cx.instance` is the id that it gets.
 * Faults with `already_exists` where there is such an instance, or its name is another one's.
 */
export async function provision(cx: Cx, input: NewInstance) {
  const ids = { org: cx.ids.next(), owner: cx.ids.next(), project: cx.ids.next() }
  const keys = input.keys ?? (await prepareKeys(cx))
  await cx.store.transact(cx, (tx) => {
    const { name, publicUrl, language = "" } = input
    addInstance(tx, { name, publicUrl, language })
    addKeys(tx, keys)
    addOrganization(tx, ids.org, { name: input.organization })
    addUser(tx, ids.owner, { ...input.owner, orgId: ids.org })
    own(tx, { userId: ids.owner, orgId: ids.org })
    addConsole(tx, { orgId: ids.org, projectId: ids.project, publicUrl: input.publicUrl })
    input.more?.(tx, ids.org, ids.owner)
  })
  return { ownerId: ids.owner, orgId: ids.org }
}

export const own = (tx: Transaction, who: { readonly userId: string; readonly orgId: string }) =>
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
export const consoleUris = (publicUrl: string) => ({
  redirectUris: [`${publicUrl}/ui/console/callback`],
  postLogoutRedirectUris: [`${publicUrl}/ui/console/signed-out`],
})
