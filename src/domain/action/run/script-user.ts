import type { Cx } from "../../../store/index.ts"
import {
  authorization,
  authorizationIdsOf,
  groupAuthorization,
  groupAuthorizationsOf,
} from "../../authorization/index.ts"
import { permissionsOn, stateReader } from "../../member/index.ts"
import { metadataOfOrg as heldOfOrg, org } from "../../org/index.ts"
import { project } from "../../project/index.ts"
import { listMetadata } from "../../user/index.ts"
import { genders, type Human, isAbsent, user } from "../../user-model/index.ts"
import type { RequestHandlers } from "../script/thread.ts"

// The data that scripts receive, with the names of the API.

/** A user as scripts receive it. Times are strings here and become dates in the script. */
export function userForScript(cx: Cx, id: string): object | undefined {
  const state = cx.store.state(cx, user, id)
  const receipt = cx.store.receipt(cx, user, id)
  if (isAbsent(state) || !receipt) return undefined
  const { userName, status } = state
  return {
    id,
    ...formatDates(receipt),
    sequence: receipt.version,
    resourceOwner: receipt.owner,
    state: stateNumbers[status],
    username: userName,
    preferredLoginName: userName,
    loginNames: [userName],
    ...(state.kind === "human"
      ? { human: humanForScript(state) }
      : { machine: { name: state.name, description: state.description } }),
  }
}

const stateNumbers = { active: 1, inactive: 2, locked: 4 } as const

export const humanForScript = ({
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

type RowDates = { readonly created: number; readonly changed: number }

const formatDate = (ms: number) => new Date(ms).toISOString()
const formatDates = ({ created, changed }: RowDates) => ({
  creationDate: formatDate(created),
  changeDate: formatDate(changed),
})

/** Whether a user can change the scripts of an organization. */
export const canEditScripts = (cx: Cx, userId: string, orgId: string): boolean =>
  permissionsOn(
    { ...stateReader(cx), caller: { kind: "anonymous" } },
    { level: "org", id: orgId },
    userId,
  ).has("org.action.write")

/** The data about a user that a script can request; most scripts don't. */
export const userAnswers = (cx: Cx, userId: string, orgId: string): RequestHandlers => ({
  userMetadata: () => {
    const receipt = cx.store.receipt(cx, user, userId)
    return metadataForScript(cx, listMetadata(cx, userId), { ...noRow, ...receipt })
  },
  orgMetadata: () => {
    const receipt = cx.store.receipt(cx, org, orgId)
    return metadataForScript(cx, heldOfOrg(cx, orgId), { ...noRow, ...receipt })
  },
  grants: () => grantsForScript(cx, userId, orgId),
})

const noRow = { created: 0, changed: 0, owner: "", version: 0 }

function metadataForScript(
  cx: Cx,
  entries: ReadonlyMap<string, Uint8Array>,
  row: RowDates & { readonly owner: string; readonly version: number },
) {
  const { owner: resourceOwner, version: sequence } = row
  const metadata = [...entries].map(([key, value]) => ({
    key,
    value: parseMetadataValue(value),
    resourceOwner,
    sequence,
    ...formatDates(row),
  }))
  return { count: metadata.length, sequence, timestamp: formatDate(cx.clock.now()), metadata }
}

/** Scripts write JSON; other clients can write any bytes. */
function parseMetadataValue(bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes).toString()
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/**
 * The authorizations of a user and of their groups. Scripts of an organization receive only those
 * that the organization granted, and those that others granted on its projects.
 */
export function grantsForScript(cx: Cx, userId: string, orgId?: string) {
  const own = authorizationIdsOf(cx, userId).map((id) => {
    return { id, kind: authorization, state: cx.store.state(cx, authorization, id) }
  })
  const fromGroups = groupAuthorizationsOf(cx, userId).map(({ id }) => {
    return { id, kind: groupAuthorization, state: cx.store.state(cx, groupAuthorization, id) }
  })
  const grants = [...own, ...fromGroups].flatMap(({ id, kind, state }) => {
    const receipt = cx.store.receipt(cx, kind, id)
    const { name: projectName, orgId: owner } = cx.store.state(cx, project, state.projectId)
    const isShown = orgId === undefined || state.orgId === orgId || owner === orgId
    if (!receipt || !isShown) return []
    return {
      id,
      projectGrantId: state.grantId,
      userId,
      roles: state.roleKeys,
      ...formatDates(receipt),
      state: state.status === "active" ? 1 : 2,
      sequence: receipt.version,
      userResourceOwner: cx.store.receipt(cx, user, userId)?.owner ?? "",
      userGrantResourceOwner: state.orgId,
      userGrantResourceOwnerName: cx.store.state(cx, org, state.orgId).name,
      projectId: state.projectId,
      projectName,
    }
  })
  return { count: grants.length, sequence: 0, timestamp: formatDate(cx.clock.now()), grants }
}
