import { Fault, fieldError } from "../../kernel/fault.ts"
import { parseDisplayName } from "../../kernel/text/identifier.ts"
import { canonicalName, normalForm, sigmaForms } from "../../kernel/text/name.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { isExistingOrg, org } from "../org/index.ts"
import { type Group, type GroupEvent, group } from "./model.ts"

type GroupInput = {
  readonly orgId: string
  readonly name: string
  readonly description: string
}

/**
 * Creates a group. Rejects a name that another group of the organization has, ignoring case and
 * look-alike characters.
 */
export async function createGroup(cx: Cx, id: string, input: GroupInput): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => addGroup(tx, id, input))
  return step.receipt(group, id)
}

function addGroup(tx: Transaction, id: string, input: GroupInput): void {
  if (tx.state(group, id).status !== "absent") {
    throw new Fault("already_exists", "group.exists", "a group with this ID already exists")
  }
  if (!isExistingOrg(tx.state(org, input.orgId))) {
    throw new Fault("not_found", "org.missing", "organization not found")
  }
  const name = parseDisplayName("name", input.name)
  const description = parseDescription(input.description)
  const added: Draft<GroupEvent> = {
    type: "group.added",
    data: { name, description, organizationId: input.orgId },
    claims: takeName(input.orgId, name),
  }
  tx.append(group, id, [added], input.orgId)
}

/** The ID of an organization's group by name, in any spelling. */
export function findGroupByName(tx: Transaction, orgId: string, name: string): string | undefined {
  // Earlier versions distinguished the two forms of a Greek sigma; each spelling finds its own
  // group.
  for (const key of [nameKey(orgId, name), ...nameKeys(orgId, name)]) {
    const holder = tx.holder(nameClaim, key)
    if (holder?.stream === group.stream) return holder.id
  }
  return undefined
}

/** Creates a group if the organization has none with this name. */
export async function ensureGroup(cx: Cx, orgId: string, name: string): Promise<void> {
  await cx.store.transact(cx, (tx) => {
    if (findGroupByName(tx, orgId, name) !== undefined) return
    addGroup(tx, cx.ids.next(), { orgId, name, description: "" })
  })
}

export type UpdateGroupInput = {
  readonly name?: string | undefined
  readonly description?: string | undefined
}

/** Updates the fields that are present; no-op if they are unchanged. */
export const updateGroupDetails = group.command<UpdateGroupInput>((state, input) => {
  requireExists(state)
  const name = input.name === undefined ? state.name : parseDisplayName("name", input.name)
  const description =
    input.description === undefined ? state.description : parseDescription(input.description)
  const data = {
    ...(name !== state.name && { name }),
    ...(description !== state.description && { description }),
  }
  if (Object.keys(data).length === 0) return []
  const { orgId } = state
  // The canonical form of an older name may not be reserved yet.
  const isRenamed = name !== state.name
  const claims = isRenamed ? [...releaseName(orgId, state.name), ...takeName(orgId, name)] : []
  return [{ type: "group.changed", data, claims }]
})

/** Removes a group and releases its name; no-op if it is already removed. */
export const removeGroup = group.command((state) =>
  state.status === "active"
    ? [{ type: "group.removed", data: {}, claims: releaseName(state.orgId, state.name) }]
    : [],
)

function requireExists({ status }: Group): void {
  if (status !== "active") throw groupNotFoundError()
}

export const groupNotFoundError = (): Fault =>
  new Fault("not_found", "group.missing", "group not found")

const descriptionMax = 200
const controlCharacter = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u

/** Unlike a name, a description can be empty. */
function parseDescription(text: string): string {
  const description = normalForm(text, "NFC").trim()
  if (description.length <= descriptionMax && !controlCharacter.test(description))
    return description
  throw fieldError(
    "request.field_invalid",
    "description",
    `must have at most ${descriptionMax} characters and no control characters`,
  )
}

const nameClaim = "group.name"

/** Spellings that only look different are the same name. */
const nameKey = (orgId: string, name: string) =>
  `${encodeURIComponent(orgId)}/${canonicalName(name)}`

/** A name reserves a key for each form of its sigmas, because earlier versions look up only one. */
const nameKeys = (orgId: string, name: string): readonly string[] =>
  sigmaForms(canonicalName(name)).map((form) => nameKey(orgId, form))

const nameTaken = {
  id: "group.name_taken",
  message: "this organization already has a group with this name; choose another name",
}

const takeName = (orgId: string, name: string) =>
  nameKeys(orgId, name).map((key) => ({ take: nameClaim, key, taken: nameTaken }))

const releaseName = (orgId: string, name: string) =>
  nameKeys(orgId, name).map((key) => ({ release: nameClaim, key }))
