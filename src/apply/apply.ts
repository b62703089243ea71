import type { JsonObject } from "@bufbuild/protobuf"
import { Fault } from "../kernel/fault.ts"
import type { CallApi } from "./api-client.ts"
import { changedFieldNames, differencesIn } from "./compare.ts"
import { type Document, documentError } from "./document.ts"
import { isObject, listAt, textAt } from "./json.ts"
import { type Ids, type Kind, organization } from "./kinds.ts"
import { applyInstancePolicy, applyOrganizationPolicy, parsePolicies } from "./policies.ts"
import { applyProviders } from "./providers.ts"
import {
  type ApplyResult,
  type ApplyRun,
  type DescribedItem,
  type DescribedResource,
  normalizeMessage,
  type ParentResource,
  requireKnownNames,
  requireList,
  withFalse,
} from "./run.ts"

/**
 * Creates the described resources that don't exist and changes those that differ; never deletes
 * anything. With `isPlan`, only returns the steps. The description is validated before anything is
 * written, because a plan always runs first.
 */
export async function apply(
  call: CallApi,
  documents: readonly Document[],
  { isPlan, saysSecrets = false }: { readonly isPlan: boolean; readonly saysSecrets?: boolean },
): Promise<ApplyResult> {
  const plan = { call, saysSecrets, isPlan: true, ...createRun() }
  const planned = await applyOnce(plan, documents)
  if (isPlan || planned.steps.length === 0) return planned
  const run = { call, saysSecrets, isPlan: false, ...createRun() }
  try {
    return await applyOnce(run, documents)
  } catch (cause) {
    // Completed steps must be reported after an error because a client secret is shown only once.
    if (!(cause instanceof Fault)) throw cause
    return { steps: run.steps, undescribed: [], fault: cause }
  }
}

const createRun = (): Pick<ApplyRun, "steps" | "undescribed" | "known"> => ({
  steps: [],
  undescribed: [],
  known: new Map(),
})

async function applyOnce(run: ApplyRun, documents: readonly Document[]): Promise<ApplyResult> {
  for (const { file, content } of documents) requireKnownNames(content, topLevelNames, file)
  const everywhere = (name: string) =>
    documents.flatMap(({ file, content }) => requireList(content, name, file))
  for (const { file, content } of documents) {
    for (const [name, updateRequest] of parsePolicies(content, file)) {
      await applyInstancePolicy(run, name, updateRequest)
    }
  }
  await applyProviders(run, { items: everywhere("providers") })
  const things = await applyList(run, organization, {
    items: everywhere("organizations"),
    place: { of: "", ids: {}, org: "" },
    extraNames: ["policies", "providers"],
  })
  for (const { given: updateRequest, file, place } of things) {
    for (const [name, policy] of parsePolicies(updateRequest, file)) {
      await applyOrganizationPolicy(run, name, { policy, place })
    }
    await applyProviders(run, { items: requireList(updateRequest, "providers", file), place })
  }
  // Level by level: a role in a project requires the project.
  for (const part of Object.keys(organization.parts)) {
    for (const thing of things) await applyPart(run, organization, { part, thing })
  }
  return { steps: run.steps, undescribed: [...new Set(run.undescribed)] }
}

/** Top-level names. `setup` applies only at the first start. */
const topLevelNames = ["organizations", "policies", "providers", "setup"]

async function applyPart(
  run: ApplyRun,
  kind: Kind,
  { part, thing }: { readonly part: string; readonly thing: DescribedResource },
): Promise<void> {
  const { given: updateRequest, file, place } = thing
  const of = kind.parts[part]
  if (!of || !Object.hasOwn(updateRequest, part)) return
  const things = await applyList(run, of, { items: requireList(updateRequest, part, file), place })
  for (const inner of Object.keys(of.parts)) {
    for (const each of things) await applyPart(run, of, { part: inner, thing: each })
  }
}

type ApplyListInput = {
  readonly items: readonly DescribedItem[]
  readonly place: ParentResource
  /** Names that are neither fields nor parts. */
  readonly extraNames?: readonly string[]
}

async function applyList(
  run: ApplyRun,
  kind: Kind,
  { items, place, extraNames = [] }: ApplyListInput,
) {
  if (items.length === 0) return []
  const keys = items.map(({ given: updateRequest }) => textAt(updateRequest, kind.key))
  const duplicate = keys.findIndex((key, index) => keys.indexOf(key) !== index)
  if (duplicate >= 0) {
    const which = `${kind.name} ${keys[duplicate]}${place.of}`
    throw documentError(items[duplicate]?.file ?? "", `the ${which} is described twice`)
  }
  const targetCx = place.ids ? await findExisting(run.call, kind, { ids: place.ids, keys }) : []
  const things: DescribedResource[] = []
  for (const item of items)
    things.push(await applyResource(run, kind, { ...item, existing: targetCx, place, extraNames }))
  const left = targetCx.map((each) => kind.list.keyOf(each)).filter((key) => !keys.includes(key))
  if (!kind.isUnbounded)
    run.undescribed.push(...left.map((key) => `${kind.name} ${key}${place.of}`))
  return things
}

type LookupInput = { readonly ids: Ids; readonly keys: readonly string[] }

async function findExisting(call: CallApi, kind: Kind, { ids, keys }: LookupInput) {
  if (!kind.isUnbounded) return listAllPages(call, kind, { ids, keys })
  const input: JsonObject[] = []
  const named = keys.filter((key) => key !== "")
  for (let at = 0; at < named.length; at += keysAtOnce) {
    const some = named.slice(at, at + keysAtOnce)
    input.push(...(await listAllPages(call, kind, { ids, keys: some })))
  }
  return input
}

const keysAtOnce = 50

async function listAllPages(call: CallApi, kind: Kind, { ids, keys }: LookupInput) {
  const { method, request, items, page } = kind.list
  const input: JsonObject[] = []
  for (;;) {
    const pageRequest = {
      ...request(ids, keys),
      [page]: { offset: `${input.length}`, limit: pageSize },
    }
    const answer = listAt(await call(method, pageRequest), items).filter(isObject)
    input.push(...answer)
    if (answer.length < pageSize) return input
  }
}

const pageSize = 100

type ApplyResourceInput = DescribedItem & {
  readonly existing: readonly JsonObject[]
  readonly place: ParentResource
  readonly extraNames: readonly string[]
}

async function applyResource(
  run: ApplyRun,
  kind: Kind,
  input: ApplyResourceInput,
): Promise<DescribedResource> {
  const { given: updateRequest, file, existing: targetCx, place, extraNames } = input
  const key = textAt(updateRequest, kind.key)
  if (key === "")
    throw documentError(file, `${kind.key} is required in every ${kind.name}${place.of}`)
  const thing = `${kind.name} ${key}${place.of}`
  const apart = [...Object.keys(kind.parts), ...extraNames]
  const own = Object.fromEntries(
    Object.entries(updateRequest).filter(([name]) => !apart.includes(name)),
  )
  const org = kind === organization ? key : place.org
  const referred =
    kind.reference && (await resolveReference(run, kind.reference, { own, file, place, thing }))
  const ids = place.ids && { ...place.ids, ...referred }
  const expected = normalize(kind, { own, ids: ids ?? {}, thing, file })

  const existing = targetCx.find((each) => kind.list.keyOf(each) === key)
  const id = existing
    ? await updateResource(run, kind, { existing, expected, ids: ids ?? {}, thing })
    : await createResource(run, kind, { own, ids, thing })
  run.known.set(keyOf(kind.name, org, key), id)
  const inner = id === undefined || !ids ? undefined : { ...ids, [kind.id]: id }
  return { given: updateRequest, file, place: { of: ` of ${thing}`, ids: inner, org } }
}

const keyOf = (...parts: readonly string[]) => JSON.stringify(parts)

type CreateInput = {
  readonly own: JsonObject
  readonly ids: Ids | undefined
  readonly thing: string
}

/** Returns the ID of the created resource; none in a plan. */
async function createResource(run: ApplyRun, kind: Kind, { own, ids, thing }: CreateInput) {
  const { method, request, withDefaults = (described) => described } = kind.create
  const pageRequest = () => request(ids ?? {}, withDefaults(own))
  const answer = run.isPlan
    ? undefined
    : await withConfirmationHint(kind, run.call(method, pageRequest()))
  run.steps.push({
    action: "create",
    thing,
    fields: [],
    once: answer ? (kind.onceValues?.(answer) ?? {}) : {},
  })
  return answer && (textAt(answer, kind.id) || textAt(answer, "id") || textAt(own, kind.key))
}

type UpdateInput = {
  readonly existing: JsonObject
  readonly expected: JsonObject
  readonly ids: Ids
  readonly thing: string
}

async function updateResource(
  run: ApplyRun,
  kind: Kind,
  { existing, expected, ids, thing }: UpdateInput,
) {
  const { shown, as = (item: JsonObject) => item } = kind.list
  const id = kind.list.idOf(existing)
  const differs = differencesIn(expected, as(existing), shown)
  const fields = changedFieldNames(differs, shown)
  if (fields.length === 0) return id
  if (kind.immutableFields?.some((field) => fields.includes(field))) throw immutableError(thing)
  const { method, request, completeUpdate = () => differs } = kind.update
  const { confirmationField = "" } = kind
  const confirmed =
    expected[confirmationField] === undefined
      ? {}
      : { [confirmationField]: expected[confirmationField] }
  const updateRequest = request(
    { ...ids, [kind.id]: id },
    {
      ...completeUpdate(differs, expected, existing),
      ...confirmed,
    },
  )
  if (!run.isPlan) await withConfirmationHint(kind, run.call(method, updateRequest))
  run.steps.push({ action: "change", thing, fields, once: {} })
  return id
}

/**
 * The response to a call. If the server rejects it, the error also explains how the file confirms
 * the listed conditions.
 */
async function withConfirmationHint(
  { confirmationField }: Kind,
  answer: Promise<JsonObject>,
): Promise<JsonObject> {
  try {
    return await answer
  } catch (cause) {
    if (confirmationField === undefined || !(cause instanceof Fault)) throw cause
    const { code, id, message, preconditions } = cause
    if (preconditions.length === 0) throw cause
    const listed = preconditions.map(({ type, description }) => `${type}: ${description}`)
    const subjects = preconditions.map(({ subject }) => subject)
    const confirmation = `${confirmationField}: ${JSON.stringify(subjects)}`
    const todo = `to confirm them, add ${confirmation} to the file`
    const explained = `${message}: ${listed.join("; ")}; ${todo}`
    throw new Fault(code, id, explained, { preconditions, cause })
  }
}

const immutableError = (label: string) =>
  documentError(
    label,
    "client_id can't be changed: use the client_id that the application has, or describe " +
      "the application with the new client_id under another name",
  )

type NormalizeInput = {
  readonly own: JsonObject
  readonly ids: Ids
  readonly thing: string
  readonly file: string
}

/**
 * The described resource as the server would parse and return it; throws if the server would reject
 * it.
 */
function normalize(kind: Kind, { own, ids, thing, file }: NormalizeInput): JsonObject {
  const { method, request } = kind.create
  const described = request(ids, own)
  const read = normalizeMessage(method.input, described, `${file}: ${thing}`)
  return kind.distinguishesFalse ? withFalse(method.input, described, read) : read
}

type ReferenceInput = {
  readonly own: JsonObject
  readonly file: string
  readonly place: ParentResource
  /** The name of the resource with the reference. */
  readonly thing: string
}

/** The ID of a resource of the same organization that the description names. */
async function resolveReference(
  run: ApplyRun,
  { field, kind, id }: NonNullable<Kind["reference"]>,
  { own, file, place, thing }: ReferenceInput,
): Promise<Ids> {
  const name = textAt(own, field)
  const key = keyOf(kind, place.org, name)
  if (!run.known.has(key) && place.ids) {
    const project = organization.parts.projects
    const targetCx = project
      ? await findExisting(run.call, project, { ids: place.ids, keys: [] })
      : []
    for (const each of targetCx) {
      const input = keyOf(kind, place.org, textAt(each, "name"))
      if (!run.known.has(input)) run.known.set(input, project?.list.idOf(each))
    }
  }
  if (!run.known.has(key)) {
    const missing = `${kind} ${name} of organization ${place.org} not found`
    throw documentError(file, `${missing}; check the ${thing}`)
  }
  return { [id]: run.known.get(key) ?? "" }
}
