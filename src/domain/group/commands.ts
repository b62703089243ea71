import { Fault, fieldError } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/text/given.ts"
import { canonical, normalForm, sigmaForms } from "../../kernel/text/name.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { isThere, org } from "../org/index.ts"
import { type Group, type GroupEvent, group } from "./model.ts"

type GroupInput = {
  readonly orgId: string
  readonly name: string
  readonly description: string
}

/** Adds a group. Refuses a name that another group of the organisation has, however spelled. */
export async function createGroup(cx: Cx, id: string, input: GroupInput): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => addGroup(tx, id, input))
  return step.receipt(group, id)
}

function addGroup(tx: Transaction, id: string, input: GroupInput): void {
  if (tx.state(group, id).status !== "absent") {
    throw new Fault("already_exists", "group.exists", "there is already a group with this id")
  }
  if (!isThere(tx.state(org, input.orgId))) {
    throw new Fault("not_found", "org.missing", "there is no such organisation")
  }
  const name = givenName("name", input.name)
  const description = givenDescription(input.description)
  const added: Draft<GroupEvent> = {
    type: "group.added",
    data: { name, description, organizationId: input.orgId },
    claims: takeName(input.orgId, name),
  }
  tx.append(group, id, [added], input.orgId)
}

/** The id of an organisation's group by its name, however that is spelled. */
export function groupNamed(tx: Transaction, orgId: string, name: string): string | undefined {
  // Earlier versions took two spellings with other sigmas for two: each is found by its own.
  for (const key of [nameKey(orgId, name), ...nameKeys(orgId, name)]) {
    const holder = tx.holder(nameClaim, key)
    if (holder?.stream === group.stream) return holder.id
  }
  return undefined
}

/** Adds a group, unless the organisation has one of that name. */
export async function ensureGroup(cx: Cx, orgId: string, name: string): Promise<void> {
  await cx.store.transact(cx, (tx) => {
    if (groupNamed(tx, orgId, name) !== undefined) return
    addGroup(tx, cx.ids.next(), { orgId, name, description: "" })
  })
}

export type GroupChange = {
  readonly name?: string | undefined
  readonly description?: string | undefined
}

/** Changes what is given; nothing happens where it is so already. */
export const changeGroup = group.command<GroupChange>((state, input) => {
  mustExist(state)
  const name = input.name === undefined ? state.name : givenName("name", input.name)
  const description =
    input.description === undefined ? state.description : givenDescription(input.description)
  const data = {
    ...(name !== state.name && { name }),
    ...(description !== state.description && { description }),
  }
  if (Object.keys(data).length === 0) return []
  const { orgId } = state
  // A name of old may not be claimed by its canonical form yet.
  const isRenamed = name !== state.name
  const claims = isRenamed ? [...releaseName(orgId, state.name), ...takeName(orgId, name)] : []
  return [{ type: "group.changed", data, claims }]
})

/** Removes a group for good; nothing happens where it is gone. Its name is free again. */
export const removeGroup = group.command((state) =>
  state.status === "active"
    ? [{ type: "group.removed", data: {}, claims: releaseName(state.orgId, state.name) }]
    : [],
)

function mustExist({ status }: Group): void {
  if (status !== "active") throw missingError()
}

export const missingError = (): Fault =>
  new Fault("not_found", "group.missing", "there is no such group")

const descriptionMax = 200
const control = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u

/** May be empty, unlike a name. */
function givenDescription(text: string): string {
  const description = normalForm(text, "NFC").trim()
  if (description.length <= descriptionMax && !control.test(description)) return description
  throw fieldError(
    "request.field_invalid",
    "description",
    `must have at most ${descriptionMax} characters and no control characters`,
  )
}

const nameClaim = "group.name"

/** Names that only look different are the same. */
const nameKey = (orgId: string, name: string) => `${encodeURIComponent(orgId)}/${canonical(name)}`

/** A name takes a key for each form of its sigmas, of which earlier versions look for one. */
const nameKeys = (orgId: string, name: string): readonly string[] =>
  sigmaForms(canonical(name)).map((form) => nameKey(orgId, form))

const taken = {
  id: "group.name_taken",
  message: "the organisation has a group of this name already; choose another",
}

const takeName = (orgId: string, name: string) =>
  nameKeys(orgId, name).map((key) => ({ take: nameClaim, key, taken }))

const releaseName = (orgId: string, name: string) =>
  nameKeys(orgId, name).map((key) => ({ release: nameClaim, key }))
