import { Fault } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/given.ts"
import { pageLanguages } from "../../kernel/language.ts"
import type { Cx, Decision, Draft, Receipt, Transaction } from "../../store/index.ts"
import {
  type Instance,
  type InstanceEvent,
  instance,
  memberOf,
  ownerRole,
  ownersOf,
} from "./model.ts"
import { releaseName, takeName } from "./name.ts"

/** Begins the instance; a part of set-up, which is done once. */
export function addInstance(
  tx: Transaction,
  input: { readonly name: string; readonly publicUrl: string; readonly language?: string },
): void {
  if (tx.state(instance, tx.instance).status !== "absent") {
    throw new Fault("already_exists", "instance.exists", "set-up has been done already")
  }
  const drafts: Draft<InstanceEvent>[] = [
    { type: "instance.added", data: { name: givenName("name", input.name) } },
    publicUrlSet(originOf(input.publicUrl)),
  ]
  if (input.language) {
    const data = { language: languageOf(input.language) }
    drafts.push({ type: "instance.default.language.set", data })
  }
  tx.append(instance, tx.instance, drafts)
}

function languageOf(language: string): string {
  if (pageLanguages.includes(language)) return language
  const message = `default_language may be one of these: ${pageLanguages.join(", ")}`
  throw new Fault("invalid_argument", "instance.language_unknown", message)
}

/** Names what the instance itself uses; a part of set-up. */
export function setOwnResources(
  tx: Transaction,
  input: {
    readonly orgId: string
    readonly projectId: string
    readonly console: { readonly appId: string; readonly clientId: string }
  },
): void {
  const { orgId, projectId, console } = input
  const drafts: Draft<InstanceEvent>[] = [
    { type: "instance.default.org.set", data: { orgId } },
    { type: "instance.iam.project.set", data: { projectId } },
    { type: "instance.iam.console.set", data: console },
  ]
  tx.append(instance, tx.instance, drafts)
}

/**
 * Sets the address that people use. Issuer and links change with it; the name that it had is not
 * answered to any more, unless it is one of the instance's other domains.
 */
export const setPublicUrl = instance.command<string>((state, text) => {
  mustExist(state)
  const url = originOf(text)
  return url === state.publicUrl ? [] : [publicUrlSet(url, state)]
})

function publicUrlSet(url: string, before?: Instance): Draft<InstanceEvent> {
  const left = before && new URL(before.publicUrl).hostname
  const isLeft = left !== undefined && !Object.hasOwn(before?.domains ?? {}, left)
  return {
    type: "instance.public.url.set",
    data: { url },
    claims: [...(isLeft ? [releaseName(left)] : []), takeName(new URL(url).hostname)],
  }
}

/** Names the organisation of whoever comes without one; the caller knows that there is one. */
export const setDefaultOrg = instance.command<string>((state, orgId) => {
  mustExist(state)
  return orgId === state.defaultOrgId ? [] : [{ type: "instance.default.org.set", data: { orgId } }]
})

export const renameInstance = instance.command<string>((state, text) => {
  mustExist(state)
  const name = givenName("name", text)
  return name === state.name ? [] : [{ type: "instance.changed", data: { name } }]
})

/**
 * Whether somebody can still act for the instance when `userId` can't any more. `isUsable` says of
 * a user whether they can sign in; only the room of the users knows.
 */
export function isLastOwner(
  cx: Pick<Decision, "state" | "instance">,
  userId: string,
  isUsable: (userId: string) => boolean,
): boolean {
  const owners = ownersOf(cx.state(instance, cx.instance))
  const others = owners.filter((owner) => owner.userId !== userId)
  return others.length < owners.length && !others.some((owner) => isUsable(owner.userId))
}

/** What a caller gets who would leave the instance without an owner. */
export const lastOwner = (): Fault =>
  new Fault(
    "failed_precondition",
    "instance.last_owner",
    "nobody could administer the instance any more; make somebody else an owner first",
  )

type MemberInput = {
  readonly userId: string
  readonly roles: readonly string[]
  /** The organisation that the user belongs to. */
  readonly orgId: string
  readonly isUsable: (userId: string) => boolean
}

/** Makes a user an administrator of the instance. */
export const addInstanceMember = instance.command<Omit<MemberInput, "isUsable">>(
  (state, { userId, orgId, roles }) => {
    mustExist(state)
    if (memberOf(state, userId)) {
      throw new Fault(
        "already_exists",
        "member.exists",
        "the user is an administrator here already; change their roles instead",
      )
    }
    return [{ type: "instance.member.added", data: { userId, orgId, roles } }]
  },
)

/** Replaces the roles of an administrator. Refuses to take ownership from the last owner. */
export const changeInstanceMember = instance.command<Omit<MemberInput, "orgId">>(
  (state, { userId, roles, isUsable }, cx) => {
    const member = memberOf(state, userId)
    if (!member) throw missingMember()
    if (sameRoles(member.roles, roles)) return []
    if (!roles.includes(ownerRole) && isLastOwner(cx, userId, isUsable)) throw lastOwner()
    return [{ type: "instance.member.changed", data: { userId, roles } }]
  },
)

/** Takes all roles on the instance; nothing happens where the user has none. */
export const removeInstanceMember = instance.command<Pick<MemberInput, "userId" | "isUsable">>(
  (state, { userId, isUsable }, cx) => {
    if (!memberOf(state, userId)) return []
    if (isLastOwner(cx, userId, isUsable)) throw lastOwner()
    return [{ type: "instance.member.removed", data: { userId } }]
  },
)

/** The instance as it stands; faults before set-up. */
export function requireInstance(cx: Pick<Cx, "store" | "instance">): Instance {
  const state = cx.store.state(cx, instance, cx.instance)
  mustExist(state)
  return state
}

/** The instance with where its stream stands; faults before set-up. */
export function findInstance(cx: Pick<Cx, "store" | "instance">): Instance & Receipt {
  const receipt = cx.store.receipt(cx, instance, cx.instance)
  if (!receipt) throw notSetUp()
  return { ...requireInstance(cx), ...receipt, owner: cx.instance }
}

/** Faults before set-up, and for who is removed. */
export function mustExist(state: Instance): void {
  if (state.status !== "active") throw notSetUp()
}

const notSetUp = () =>
  new Fault(
    "failed_precondition",
    "instance.not_set_up",
    "nothing is set up yet; open the set-up link that the server printed",
  )

const missingMember = () =>
  new Fault("not_found", "member.missing", "the user is not an administrator here")

const sameRoles = (left: readonly string[], right: readonly string[]) =>
  left.length === right.length && left.every((role) => right.includes(role))

/** An origin and nothing else: the issuer is compared character by character. */
function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  const bare = url && !url.username && !url.password && url.pathname === "/"
  if (!isWeb || !bare || url.search || url.hash) {
    throw new Fault(
      "invalid_argument",
      "instance.public_url_invalid",
      "the public address must look like https://id.example.com, without a path",
    )
  }
  return url.origin
}
