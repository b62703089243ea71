import { Fault } from "../../kernel/fault.ts"
import type { Cx, Decision, Draft, Receipt, Transaction } from "../../store/index.ts"
import { appliesTo, type Reading } from "./applies.ts"
import type { Policy, Values } from "./kind.ts"
import { type Policies, type PolicyEvent, policies, type Said } from "./model.ts"
import { type Label, type LookFiles, label, labelPreview, lookFields } from "./page.ts"

/** The organisation that says it; undefined: the instance, for whoever says nothing themselves. */
export type Place = string | undefined

/** The stream of a place. Ids are callers' choice: one of an organisation may be any text. */
export const idOf = (place: Place): string => (place === undefined ? "instance" : `org/${place}`)

/** What is said of a policy, by what was so before; what is left out stays. */
type Saying<V extends Values> = {
  readonly policy: Policy<V>
  readonly say: (before: V) => Partial<V>
  /** Whether only some values are stated, so that the others keep their authors. */
  readonly isPartial?: boolean
}

/** Says for the first time what holds at a place; what `also` does belongs to the same step. */
export async function addPolicy<V extends Values>(
  cx: Cx,
  place: Place,
  { policy, say, also }: Saying<V> & { readonly also?: (tx: Transaction) => void },
): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    addPolicyIn(tx, place, { policy, say })
    also?.(tx)
  })
  return step.receipt(policies, idOf(place))
}

/** The same, in a step that does more. Faults where the place has stated it. */
export const addPolicyIn = <V extends Values>(
  tx: Transaction,
  place: Place,
  { policy, say }: Saying<V>,
): void =>
  append(tx, place, (before) => {
    if (before[policy.kind]) throw alreadyThereError()
    return [added(place, policy, say(policy.standard))]
  })

/** Changes what holds at a place. An organisation must have said something before. */
export const changePolicy = <V extends Values>(
  cx: Cx,
  place: Place,
  { policy, say, isPartial = false }: Saying<V>,
): Promise<Receipt> =>
  write(cx, place, (before) => {
    const own = before[policy.kind]
    if (!own && place !== undefined) throw missingError()
    const had = { ...policy.standard, ...own?.values }
    return [changed(place, policy, { had, said: say(had), isOwn: own !== undefined, isPartial })]
  })

/** Makes of what was said of one policy what another says: a preview of what everybody sees. */
export const activatePolicy = <V extends Values>(
  cx: Cx,
  place: Place,
  { preview, policy }: { readonly preview: Policy<V>; readonly policy: Policy<V> },
): Promise<Receipt> =>
  write(cx, place, (before) => {
    const own = before[policy.kind]
    if (!before[preview.kind]) throw place === undefined ? unchangedError() : missingError()
    const said = { ...preview.standard, ...before[preview.kind]?.values }
    const had = { ...policy.standard, ...own?.values }
    return [changed(place, policy, { had, said, isOwn: own !== undefined })]
  })

/** Puts a file into the look of a place, or with an empty name takes one out of it. */
export const setLookFile = (
  cx: Cx,
  place: Place,
  { field, name, bytes }: LookFile,
): Promise<Receipt> =>
  write(cx, place, (before) => {
    const own = before[labelPreview.kind]
    if (!own && place !== undefined) throw missingError()
    const had = { ...labelPreview.standard, ...own?.values }
    if (name === "" && had[field] === "") throw noFileError()
    const said = { ...had, [field]: name }
    const draft = changed(place, labelPreview, { had, said, isOwn: own !== undefined })
    return [bytes ? { ...draft, blobs: [{ put: name, bytes }] } : draft]
  })

export type LookFile = {
  readonly field: keyof LookFiles
  readonly name: string
  readonly bytes?: Uint8Array<ArrayBuffer>
}

/** Takes back all that an organisation that goes has said of its look, files and all. */
export function dropLook(tx: Transaction, orgId: string): void {
  const id = idOf(orgId)
  const said = [label, labelPreview].filter(({ kind }) => tx.state(policies, id)[kind])
  if (said.length > 0) append(tx, orgId, (before) => taken(before, said))
}

/** Takes back what an organisation has said: from then on what the instance says counts. */
export const resetPolicy = <V extends Values>(
  cx: Cx,
  orgId: string,
  ...asked: readonly Policy<V>[]
): Promise<Receipt> => write(cx, orgId, (before) => taken(before, asked))

function taken<V extends Values>(
  before: Policies,
  asked: readonly Policy<V>[],
): readonly Draft<PolicyEvent>[] {
  const said = asked.filter(({ kind }) => before[kind])
  if (said.length === 0) throw missingError()
  return said.map(({ kind }) => ({ type: `org.policy.${kind}.removed`, data: {} }))
}

function added<V extends Values>(
  place: Place,
  { kind, standard, check }: Policy<V>,
  said: Partial<V>,
): Draft<PolicyEvent> {
  const values = { ...standard, ...said }
  check(values)
  return { type: `${levelOf(place)}.policy.${kind}.added`, data: values }
}

type Change<V extends Values> = {
  readonly had: V
  readonly said: Partial<V>
  readonly isOwn: boolean
  readonly isPartial?: boolean
}

function changed<V extends Values>(
  place: Place,
  policy: Policy<V>,
  { had, said, isOwn, isPartial = false }: Change<V>,
): Draft<PolicyEvent> {
  const values: V = { ...had, ...said }
  const others = Object.entries(values).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(had[name]),
  )
  if (others.length === 0) throw unchangedError()
  if (!isOwn) return added(place, policy, values)
  policy.check(values)
  const data: Values = { ...Object.fromEntries(others), ...(isPartial && { isPartial }) }
  return { type: `${levelOf(place)}.policy.${policy.kind}.changed`, data }
}

const levelOf = (place: Place) => (place === undefined ? "instance" : "org")

type Decide = (before: Policies) => readonly Draft<PolicyEvent>[]

async function write(cx: Cx, place: Place, decide: Decide): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => append(tx, place, decide))
  return step.receipt(policies, idOf(place))
}

/** Appends, and lets go of the files that nobody will be shown any more. */
function append(tx: Transaction, place: Place, decide: Decide): void {
  const id = idOf(place)
  const before = tx.state(policies, id)
  tx.append(policies, id, decide(before), place ?? tx.instance)
  const kept = filesIn(tx.state(policies, id))
  const files = [...filesIn(before)].filter((name) => !kept.has(name))
  if (files.length === 0) return
  const blobs = files.map((drop) => ({ drop }))
  const type = `${levelOf(place)}.policy.label.assets.removed` as const
  tx.append(policies, id, [{ type, data: { files }, blobs }])
}

const filesIn = (said: Policies): ReadonlySet<string> =>
  new Set(
    [label, labelPreview].flatMap(({ kind }) =>
      lookFields.flatMap((field) => {
        const name = said[kind]?.values[field]
        return typeof name === "string" && name !== "" ? [name] : []
      }),
    ),
  )

/** A file of the look that everybody sees at a place; undefined for any other. */
export function findLookFile(
  cx: Cx,
  place: Place,
  name: string,
): Uint8Array<ArrayBuffer> | undefined {
  const values = cx.store.state(cx, policies, idOf(place))[label.kind]?.values
  const isShown = lookFields.some((field) => values?.[field] === name)
  return isShown ? cx.store.blob(cx, policies, { id: idOf(place), name }) : undefined
}

/** The file that a look, or a preview of one, has at a place: its own, or that of the instance. */
export function lookFileOf(
  cx: Cx,
  place: Place,
  { field, policy }: { readonly field: keyof LookFiles; readonly policy: Policy<Label> },
): { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> } {
  const { values, isDefault } = findPolicy(cx, place, policy)
  const name = values[field]
  const id = idOf(isDefault ? undefined : place)
  const bytes = name === "" ? undefined : cx.store.blob(cx, policies, { id, name })
  if (!bytes) throw noFileError()
  return { name, bytes }
}

/** What a policy says, and who: an organisation, or the instance. */
export type Found<V extends Values> = {
  readonly values: V
  readonly isDefault: boolean
  /** Where what was said stands; version 0 where nobody has said anything. */
  readonly stand: Omit<Said, "values" | "authors"> & { readonly owner: string }
}

/** Finds what a policy says at a place, without what the instance requires of its organizations. */
export function findPolicy<V extends Values>(cx: Cx, place: Place, policy: Policy<V>): Found<V> {
  const at = (where: Place) => cx.store.state(cx, policies, idOf(where))[policy.kind]
  const own = place === undefined ? undefined : at(place)
  const said = own ?? at(undefined)
  const { version, created, changed } = said ?? { version: 0, created: 0, changed: 0 }
  return {
    values: said ? policy.full(said.values) : policy.standard,
    isDefault: own === undefined,
    stand: { version, created, changed, owner: own && place ? place : cx.instance },
  }
}

/** What a policy says for an organisation; an empty id asks for the instance's. */
export const policyOf = <V extends Values>(cx: Cx, orgId: string, policy: Policy<V>): V =>
  valuesAt(cx, orgId, policy)

/** The same for a decision, which is made anew where it has changed meanwhile. */
export const policyIn = <V extends Values>(
  cx: Pick<Decision, "state">,
  orgId: string,
  policy: Policy<V>,
): V => valuesAt(cx, orgId, policy)

/** A user, and the organization that they belong to. */
export type Member = { readonly userId: string; readonly orgId: string }

/**
 * What a policy says for a user of an organization: the organization's values, or, where the user
 * outranks one of its authors, the instance's with the organization's restrictions. Also for a
 * decision.
 */
export function policyFor<V extends Values>(
  read: Reading,
  { userId, orgId }: Member,
  policy: Policy<V>,
): V {
  const own = ownOf(read, orgId, policy)
  if (own && appliesTo(read, userId, own.authors)) return valuesAt(read, orgId, policy)
  const instance = valuesOf(ownOf(read, "", policy), policy)
  return own && policy.stricter ? policy.stricter(instance, policy.full(own.values)) : instance
}

/** Whether what a user's organization has set applies to them, if it has set anything. */
export function isPolicyApplied<V extends Values>(
  read: Reading,
  { userId, orgId }: Member,
  policy: Policy<V>,
): boolean {
  const own = ownOf(read, orgId, policy)
  return own === undefined || appliesTo(read, userId, own.authors)
}

/** The values of a place: its own with those that the instance requires, else the instance's. */
function valuesAt<V extends Values>(
  read: Cx | Pick<Decision, "state">,
  orgId: string,
  policy: Policy<V>,
): V {
  const { full, withRequired } = policy
  const own = ownOf(read, orgId, policy)
  if (own && !withRequired) return full(own.values)
  const instance = valuesOf(ownOf(read, "", policy), policy)
  return own && withRequired ? withRequired(full(own.values), instance) : instance
}

function ownOf<V extends Values>(
  read: Cx | Pick<Decision, "state">,
  orgId: string,
  { kind }: Policy<V>,
): Said | undefined {
  const id = idOf(orgId === "" ? undefined : orgId)
  return ("store" in read ? read.store.state(read, policies, id) : read.state(policies, id))[kind]
}

const valuesOf = <V extends Values>(said: Said | undefined, { standard, full }: Policy<V>): V =>
  said ? full(said.values) : standard

const noFileError = () =>
  new Fault("not_found", "asset.missing", "there is no such file here; nobody has sent one")

const alreadyThereError = () =>
  new Fault(
    "already_exists",
    "policy.exists",
    "this has been said here already; change it, or reset it first",
  )

const missingError = () =>
  new Fault(
    "not_found",
    "policy.missing",
    "the organisation has said nothing of its own here; add it first",
  )

const unchangedError = () =>
  new Fault("failed_precondition", "policy.unchanged", "no changes: it is so already")
