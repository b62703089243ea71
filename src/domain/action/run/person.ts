import type { Cx } from "../../../store/index.ts"
import {
  authorization,
  authorizationsOf,
  groupAuthorization,
  groupAuthorizationsOf,
} from "../../authorization/index.ts"
import { permissionsOn, stateReader } from "../../member/index.ts"
import { heldMetadata as heldOfOrg, org } from "../../org/index.ts"
import { project } from "../../project/index.ts"
import { heldMetadata } from "../../user/index.ts"
import { genders, type Human, hasLeft, user } from "../../user-model/index.ts"
import type { Answers } from "../script/thread.ts"

// How scripts see what there is. The names are the interface's.

/** A user, as scripts are shown one. Times are texts here, and dates in the script. */
export function shownUser(cx: Cx, id: string): object | undefined {
  const state = cx.store.state(cx, user, id)
  const receipt = cx.store.receipt(cx, user, id)
  if (hasLeft(state) || !receipt) return undefined
  const { userName, status } = state
  return {
    id,
    ...datesOf(receipt),
    sequence: receipt.version,
    resourceOwner: receipt.owner,
    state: stateNumbers[status],
    username: userName,
    preferredLoginName: userName,
    loginNames: [userName],
    ...(state.kind === "human"
      ? { human: shownHuman(state) }
      : { machine: { name: state.name, description: state.description } }),
  }
}

const stateNumbers = { active: 1, inactive: 2, locked: 4 } as const

export const shownHuman = ({
  profile,
  email,
  phone,
}: Pick<Human, "profile" | "email" | "phone">) => ({
  firstName: profile.givenName,
  lastName: profile.familyName,
  nickName: profile.nickName,
  displayName: profile.displayName,
  preferredLanguage: profile.preferredLanguage,
  gender: genders.indexOf(profile.gender),
  email: email.address,
  isEmailVerified: email.verified,
  phone: phone?.number ?? "",
  isPhoneVerified: phone?.verified ?? false,
})

type Stand = { readonly created: number; readonly changed: number }

const dateOf = (ms: number) => new Date(ms).toISOString()
const datesOf = ({ created, changed }: Stand) => ({
  creationDate: dateOf(created),
  changeDate: dateOf(changed),
})

/** Whether somebody may mend the scripts of an organisation. */
export const mayMend = (cx: Cx, userId: string, orgId: string): boolean =>
  permissionsOn(
    { ...stateReader(cx), caller: { kind: "anonymous" } },
    { level: "org", id: orgId },
    userId,
  ).has("org.action.write")

/** What a script about a user may ask for; most never do. */
export const answersAbout = (cx: Cx, userId: string, orgId: string): Answers => ({
  userMetadata: () => {
    const receipt = cx.store.receipt(cx, user, userId)
    return shownMetadata(cx, heldMetadata(cx, userId), { ...nothing, ...receipt })
  },
  orgMetadata: () => {
    const receipt = cx.store.receipt(cx, org, orgId)
    return shownMetadata(cx, heldOfOrg(cx, orgId), { ...nothing, ...receipt })
  },
  grants: () => shownGrants(cx, userId, orgId),
})

const nothing = { created: 0, changed: 0, owner: "", version: 0 }

function shownMetadata(
  cx: Cx,
  held: ReadonlyMap<string, Uint8Array>,
  stand: Stand & { readonly owner: string; readonly version: number },
) {
  const { owner: resourceOwner, version: sequence } = stand
  const metadata = [...held].map(([key, value]) => ({
    key,
    value: noted(value),
    resourceOwner,
    sequence,
    ...datesOf(stand),
  }))
  return { count: metadata.length, sequence, timestamp: dateOf(cx.clock.now()), metadata }
}

/** Scripts write JSON; others note what they like. */
function noted(bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes).toString()
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/**
 * What a user holds by roles of their own and of their groups; where an organisation's script asks,
 * what is its affair: what it gives itself, and what others give on its projects.
 */
export function shownGrants(cx: Cx, userId: string, orgId?: string) {
  const own = authorizationsOf(cx, userId).map((id) => {
    return { id, kind: authorization, state: cx.store.state(cx, authorization, id) }
  })
  const ofGroups = groupAuthorizationsOf(cx, userId).map(({ id }) => {
    return { id, kind: groupAuthorization, state: cx.store.state(cx, groupAuthorization, id) }
  })
  const grants = [...own, ...ofGroups].flatMap(({ id, kind, state }) => {
    const receipt = cx.store.receipt(cx, kind, id)
    const { name: projectName, orgId: owner } = cx.store.state(cx, project, state.projectId)
    const isShown = orgId === undefined || state.orgId === orgId || owner === orgId
    if (!receipt || !isShown) return []
    return {
      id,
      projectGrantId: state.grantId,
      userId,
      roles: state.roleKeys,
      ...datesOf(receipt),
      state: state.status === "active" ? 1 : 2,
      sequence: receipt.version,
      userResourceOwner: cx.store.receipt(cx, user, userId)?.owner ?? "",
      userGrantResourceOwner: state.orgId,
      userGrantResourceOwnerName: cx.store.state(cx, org, state.orgId).name,
      projectId: state.projectId,
      projectName,
    }
  })
  return { count: grants.length, sequence: 0, timestamp: dateOf(cx.clock.now()), grants }
}
