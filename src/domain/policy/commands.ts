import { Fault } from "../../kernel/fault.ts"
import type { Cx, DecisionContext, Draft, Receipt, Transaction } from "../../store/index.ts"
import { isApplicable, type RankReader } from "./applies.ts"
import {
  type BrandingFiles,
  brandingFileFields,
  type Label,
  label,
  labelPreview,
} from "./branding.ts"
import type { Policy, PolicyValues } from "./kind.ts"
import { type Policies, type PolicyEvent, policies, type StoredPolicy } from "./model.ts"

/**
 * The organization that owns policies, or undefined for the instance, whose policies are the
 * defaults.
 */
export type PolicyOwner = string | undefined

/**
 * The stream ID of an owner. Callers can choose organization IDs, so the prefix distinguishes them.
 */
export const policyStreamId = (owner: PolicyOwner): string =>
  owner === undefined ? "instance" : `org/${owner}`

/** An update of a policy, based on its current values; omitted values are kept. */
type PolicyUpdate<V extends PolicyValues> = {
  readonly policy: Policy<V>
  readonly apply: (before: V) => Partial<V>
  /** Whether only some values are set, so that the others keep their authors. */
  readonly isPartial?: boolean
}

/** Adds the policy of an owner; `also` runs in the same transaction. */
export async function addPolicy<V extends PolicyValues>(
  cx: Cx,
  owner: PolicyOwner,
  { policy, apply: say, also }: PolicyUpdate<V> & { readonly also?: (tx: Transaction) => void },
): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    addPolicyInTransaction(tx, owner, { policy, apply: say })
    also?.(tx)
  })
  return step.receipt(policies, policyStreamId(owner))
}

/** Adds a policy in another transaction. Throws if the owner already has it. */
export const addPolicyInTransaction = <V extends PolicyValues>(
  tx: Transaction,
  owner: PolicyOwner,
  { policy, apply: say }: PolicyUpdate<V>,
): void =>
  appendEvents(tx, owner, (before) => {
    if (before[policy.kind]) throw policyExistsError()
    return [addedEvent(owner, policy, say(policy.standard))]
  })

/** Updates the policy of an owner. An organization must have added it before. */
export const changePolicy = <V extends PolicyValues>(
  cx: Cx,
  owner: PolicyOwner,
  { policy, apply: say, isPartial = false }: PolicyUpdate<V>,
): Promise<Receipt> =>
  transactPolicies(cx, owner, (before) => {
    const own = before[policy.kind]
    if (!own && owner !== undefined) throw policyNotFoundError()
    const previousValues = { ...policy.standard, ...own?.values }
    return [
      changedEvent(owner, policy, {
        before: previousValues,
        changes: say(previousValues),
        isOwn: own !== undefined,
        isPartial,
      }),
    ]
  })

/** Copies the values of one policy to another: activates a branding preview. */
export const activatePolicy = <V extends PolicyValues>(
  cx: Cx,
  owner: PolicyOwner,
  { preview, policy }: { readonly preview: Policy<V>; readonly policy: Policy<V> },
): Promise<Receipt> =>
  transactPolicies(cx, owner, (before) => {
    const own = before[policy.kind]
    if (!before[preview.kind]) throw owner === undefined ? unchangedError() : policyNotFoundError()
    const policyValues = { ...preview.standard, ...before[preview.kind]?.values }
    const previousValues = { ...policy.standard, ...own?.values }
    return [
      changedEvent(owner, policy, {
        before: previousValues,
        changes: policyValues,
        isOwn: own !== undefined,
      }),
    ]
  })

/** Sets a branding file of an owner, or removes it if the name is empty. */
export const setBrandingFile = (
  cx: Cx,
  owner: PolicyOwner,
  { field, name, bytes }: BrandingFileInput,
): Promise<Receipt> =>
  transactPolicies(cx, owner, (before) => {
    const own = before[labelPreview.kind]
    if (!own && owner !== undefined) throw policyNotFoundError()
    const previousValues = { ...labelPreview.standard, ...own?.values }
    if (name === "" && previousValues[field] === "") throw fileNotFoundError()
    const policyValues = { ...previousValues, [field]: name }
    const draft = changedEvent(owner, labelPreview, {
      before: previousValues,
      changes: policyValues,
      isOwn: own !== undefined,
    })
    return [bytes ? { ...draft, blobs: [{ put: name, bytes }] } : draft]
  })

export type BrandingFileInput = {
  readonly field: keyof BrandingFiles
  readonly name: string
  readonly bytes?: Uint8Array<ArrayBuffer>
}

/** Removes the branding of an organization that is being removed, including files. */
export function removeBranding(tx: Transaction, orgId: string): void {
  const id = policyStreamId(orgId)
  const policyValues = [label, labelPreview].filter(({ kind }) => tx.state(policies, id)[kind])
  if (policyValues.length > 0)
    appendEvents(tx, orgId, (before) => removedEvents(before, policyValues))
}

/** Removes policies of an organization; the instance's apply from then on. */
export const resetPolicy = <V extends PolicyValues>(
  cx: Cx,
  orgId: string,
  ...policiesToReset: readonly Policy<V>[]
): Promise<Receipt> =>
  transactPolicies(cx, orgId, (before) => removedEvents(before, policiesToReset))

function removedEvents<V extends PolicyValues>(
  before: Policies,
  policiesToReset: readonly Policy<V>[],
): readonly Draft<PolicyEvent>[] {
  const policyValues = policiesToReset.filter(({ kind }) => before[kind])
  if (policyValues.length === 0) throw policyNotFoundError()
  return policyValues.map(({ kind }) => ({ type: `org.policy.${kind}.removed`, data: {} }))
}

function addedEvent<V extends PolicyValues>(
  owner: PolicyOwner,
  { kind, standard, validate: check }: Policy<V>,
  policyValues: Partial<V>,
): Draft<PolicyEvent> {
  const values = { ...standard, ...policyValues }
  check(values)
  return { type: `${levelOf(owner)}.policy.${kind}.added`, data: values }
}

type PolicyChangeInput<V extends PolicyValues> = {
  readonly before: V
  readonly changes: Partial<V>
  readonly isOwn: boolean
  readonly isPartial?: boolean
}

function changedEvent<V extends PolicyValues>(
  owner: PolicyOwner,
  policy: Policy<V>,
  { before: previousValues, changes: policyValues, isOwn, isPartial = false }: PolicyChangeInput<V>,
): Draft<PolicyEvent> {
  const values: V = { ...previousValues, ...policyValues }
  const others = Object.entries(values).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(previousValues[name]),
  )
  if (others.length === 0) throw unchangedError()
  if (!isOwn) return addedEvent(owner, policy, values)
  policy.validate(values)
  const data: PolicyValues = { ...Object.fromEntries(others), ...(isPartial && { isPartial }) }
  return { type: `${levelOf(owner)}.policy.${policy.kind}.changed`, data }
}

const levelOf = (owner: PolicyOwner) => (owner === undefined ? "instance" : "org")

type DecideEvents = (before: Policies) => readonly Draft<PolicyEvent>[]

async function transactPolicies(
  cx: Cx,
  owner: PolicyOwner,
  decide: DecideEvents,
): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => appendEvents(tx, owner, decide))
  return step.receipt(policies, policyStreamId(owner))
}

/** Appends events and deletes files that are no longer referenced. */
function appendEvents(tx: Transaction, owner: PolicyOwner, decide: DecideEvents): void {
  const id = policyStreamId(owner)
  const before = tx.state(policies, id)
  tx.append(policies, id, decide(before), owner ?? tx.instance)
  const usedFiles = brandingFilesOf(tx.state(policies, id))
  const files = [...brandingFilesOf(before)].filter((name) => !usedFiles.has(name))
  if (files.length === 0) return
  const blobs = files.map((blob) => ({ drop: blob }))
  const type = `${levelOf(owner)}.policy.label.assets.removed` as const
  tx.append(policies, id, [{ type, data: { files }, blobs }])
}

const brandingFilesOf = (policyValues: Policies): ReadonlySet<string> =>
  new Set(
    [label, labelPreview].flatMap(({ kind }) =>
      brandingFileFields.flatMap((field) => {
        const name = policyValues[kind]?.values[field]
        return typeof name === "string" && name !== "" ? [name] : []
      }),
    ),
  )

/** Finds a file of an owner's active branding. */
export function findBrandingFile(
  cx: Cx,
  owner: PolicyOwner,
  name: string,
): Uint8Array<ArrayBuffer> | undefined {
  const values = cx.store.state(cx, policies, policyStreamId(owner))[label.kind]?.values
  const isShown = brandingFileFields.some((field) => values?.[field] === name)
  return isShown ? cx.store.blob(cx, policies, { id: policyStreamId(owner), name }) : undefined
}

/** Finds a file of the branding or its preview: the owner's, otherwise the instance's. */
export function findOwnOrInstanceFile(
  cx: Cx,
  owner: PolicyOwner,
  { field, policy }: { readonly field: keyof BrandingFiles; readonly policy: Policy<Label> },
): { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> } {
  const { values, isDefault } = findPolicy(cx, owner, policy)
  const name = values[field]
  const id = policyStreamId(isDefault ? undefined : owner)
  const bytes = name === "" ? undefined : cx.store.blob(cx, policies, { id, name })
  if (!bytes) throw fileNotFoundError()
  return { name, bytes }
}

/** The values of a policy and where they come from: an organization or the instance. */
export type PolicyWithSource<V extends PolicyValues> = {
  readonly values: V
  readonly isDefault: boolean
  /** Version and times of the stored policy; version 0 if none is stored. */
  readonly source: Omit<StoredPolicy, "values" | "authors"> & { readonly owner: string }
}

/** The policy of an owner, without the values that the instance requires of organizations. */
export function findPolicy<V extends PolicyValues>(
  cx: Cx,
  owner: PolicyOwner,
  policy: Policy<V>,
): PolicyWithSource<V> {
  const at = (where: PolicyOwner) =>
    cx.store.state(cx, policies, policyStreamId(where))[policy.kind]
  const own = owner === undefined ? undefined : at(owner)
  const policyValues = own ?? at(undefined)
  const { version, created, changed } = policyValues ?? { version: 0, created: 0, changed: 0 }
  return {
    values: policyValues ? policy.full(policyValues.values) : policy.standard,
    isDefault: own === undefined,
    source: { version, created, changed, owner: own && owner ? owner : cx.instance },
  }
}

/** Effective values of a policy for an organization; an empty ID means the instance. */
export const policyOf = <V extends PolicyValues>(cx: Cx, orgId: string, policy: Policy<V>): V =>
  effectiveValues(cx, orgId, policy)

/** Reads effective values in a transaction, which is retried if they change concurrently. */
export const policyInTransaction = <V extends PolicyValues>(
  cx: Pick<DecisionContext, "state">,
  orgId: string,
  policy: Policy<V>,
): V => effectiveValues(cx, orgId, policy)

/** A user and the user's organization. */
export type UserOfOrg = { readonly userId: string; readonly orgId: string }

/**
 * Effective values of a policy for a user: the organization's, or, if the user outranks one of its
 * authors, the instance's with the organization's restrictions. Can be used in a transaction.
 */
export function policyFor<V extends PolicyValues>(
  read: RankReader,
  { userId, orgId }: UserOfOrg,
  policy: Policy<V>,
): V {
  const own = findOwn(read, orgId, policy)
  if (own && isApplicable(read, userId, own.authors)) return effectiveValues(read, orgId, policy)
  const instance = withDefaultValues(findOwn(read, "", policy), policy)
  return own && policy.stricter ? policy.stricter(instance, policy.full(own.values)) : instance
}

/** Whether the policy of a user's organization applies to the user, if there is one. */
export function isOrgPolicyApplied<V extends PolicyValues>(
  read: RankReader,
  { userId, orgId }: UserOfOrg,
  policy: Policy<V>,
): boolean {
  const own = findOwn(read, orgId, policy)
  return own === undefined || isApplicable(read, userId, own.authors)
}

/**
 * Effective values of an owner: its own combined with those the instance requires, otherwise the
 * instance's.
 */
function effectiveValues<V extends PolicyValues>(
  read: Cx | Pick<DecisionContext, "state">,
  orgId: string,
  policy: Policy<V>,
): V {
  const { full, withRequired } = policy
  const own = findOwn(read, orgId, policy)
  if (own && !withRequired) return full(own.values)
  const instance = withDefaultValues(findOwn(read, "", policy), policy)
  return own && withRequired ? withRequired(full(own.values), instance) : instance
}

function findOwn<V extends PolicyValues>(
  read: Cx | Pick<DecisionContext, "state">,
  orgId: string,
  { kind }: Policy<V>,
): StoredPolicy | undefined {
  const id = policyStreamId(orgId === "" ? undefined : orgId)
  return ("store" in read ? read.store.state(read, policies, id) : read.state(policies, id))[kind]
}

const withDefaultValues = <V extends PolicyValues>(
  policyValues: StoredPolicy | undefined,
  { standard, full }: Policy<V>,
): V => (policyValues ? full(policyValues.values) : standard)

const fileNotFoundError = () => new Fault("not_found", "asset.missing", "file not found")

const policyExistsError = () =>
  new Fault(
    "already_exists",
    "policy.exists",
    "this policy already exists; update it, or reset it first",
  )

const policyNotFoundError = () =>
  new Fault(
    "not_found",
    "policy.missing",
    "the organization has no policy of its own; add it first",
  )

const unchangedError = () =>
  new Fault(
    "failed_precondition",
    "policy.unchanged",
    "nothing to update: the policy already has these values",
  )
