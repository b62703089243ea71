import type { JsonObject } from "@bufbuild/protobuf"
import { Fault } from "../kernel/fault.ts"
import type { CallApi } from "./api-client.ts"
import { differing, namesOf } from "./compare.ts"
import { type Document, documentError } from "./document.ts"
import { isObject, listAt, textAt } from "./json.ts"
import { type Ids, type Kind, organization } from "./kinds.ts"
import { applyInstancePolicy, applyOrganizationPolicy, policiesIn } from "./policies.ts"
import { applyProviders } from "./providers.ts"
import {
  type Applied,
  type Item,
  listIn,
  mustBeKnown,
  type Place,
  type Run,
  readAs,
  type Thing,
  withFalse,
} from "./run.ts"

/**
 * Makes what is described and not there, and changes what differs; nothing is ever taken away.
 * With `isPlan` it only says what it would do. Whatever is wrong with a description is told before
 * anything is written: a plan comes first in any case.
 */
export async function apply(
  call: CallApi,
  documents: readonly Document[],
  { isPlan, saysSecrets = false }: { readonly isPlan: boolean; readonly saysSecrets?: boolean },
): Promise<Applied> {
  const plan = { call, saysSecrets, isPlan: true, ...emptyRun() }
  const planned = await applyOnce(plan, documents)
  if (isPlan || planned.steps.length === 0) return planned
  const run = { call, saysSecrets, isPlan: false, ...emptyRun() }
  try {
    return await applyOnce(run, documents)
  } catch (cause) {
    // What was done is told all the same: the secret of a client is told once.
    if (!(cause instanceof Fault)) throw cause
    return { steps: run.steps, beyond: [], refused: cause }
  }
}

const emptyRun = (): Pick<Run, "steps" | "beyond" | "known"> => ({
  steps: [],
  beyond: [],
  known: new Map(),
})

async function applyOnce(run: Run, documents: readonly Document[]): Promise<Applied> {
  for (const { file, content } of documents) mustBeKnown(content, topNames, file)
  const everywhere = (name: string) =>
    documents.flatMap(({ file, content }) => listIn(content, name, file))
  for (const { file, content } of documents) {
    for (const [name, given] of policiesIn(content, file)) {
      await applyInstancePolicy(run, name, given)
    }
  }
  await applyProviders(run, { items: everywhere("providers") })
  const things = await applyList(run, organization, {
    items: everywhere("organizations"),
    place: { of: "", ids: {}, org: "" },
    more: ["policies", "providers"],
  })
  for (const { given, file, place } of things) {
    for (const [name, policy] of policiesIn(given, file)) {
      await applyOrganizationPolicy(run, name, { policy, place })
    }
    await applyProviders(run, { items: listIn(given, "providers", file), place })
  }
  // Level by level: whoever is given a role in a project needs the project first.
  for (const part of Object.keys(organization.parts)) {
    for (const thing of things) await applyPart(run, organization, { part, thing })
  }
  return { steps: run.steps, beyond: [...new Set(run.beyond)] }
}

/** What is said of the first start counts then, and never again. */
const topNames = ["organizations", "policies", "providers", "setup"]

async function applyPart(
  run: Run,
  kind: Kind,
  { part, thing }: { readonly part: string; readonly thing: Thing },
): Promise<void> {
  const { given, file, place } = thing
  const of = kind.parts[part]
  if (!of || !Object.hasOwn(given, part)) return
  const things = await applyList(run, of, { items: listIn(given, part, file), place })
  for (const inner of Object.keys(of.parts)) {
    for (const each of things) await applyPart(run, of, { part: inner, thing: each })
  }
}

type Listed = {
  readonly items: readonly Item[]
  readonly place: Place
  /** Names that are no field and no part. */
  readonly more?: readonly string[]
}

async function applyList(run: Run, kind: Kind, { items, place, more = [] }: Listed) {
  if (items.length === 0) return []
  const keys = items.map(({ given }) => textAt(given, kind.key))
  const twice = keys.findIndex((key, index) => keys.indexOf(key) !== index)
  if (twice >= 0) {
    const which = `${kind.name} ${keys[twice]}${place.of}`
    throw documentError(items[twice]?.file ?? "", `the ${which} is described twice`)
  }
  const there = place.ids ? await listed(run.call, kind, { ids: place.ids, keys }) : []
  const things: Thing[] = []
  for (const item of items)
    things.push(await applyThing(run, kind, { ...item, there, place, more }))
  const left = there.map((each) => kind.list.keyOf(each)).filter((key) => !keys.includes(key))
  if (!kind.isOpen) run.beyond.push(...left.map((key) => `${kind.name} ${key}${place.of}`))
  return things
}

type Looking = { readonly ids: Ids; readonly keys: readonly string[] }

async function listed(call: CallApi, kind: Kind, { ids, keys }: Looking) {
  if (!kind.isOpen) return pagesOf(call, kind, { ids, keys })
  const found: JsonObject[] = []
  const named = keys.filter((key) => key !== "")
  for (let at = 0; at < named.length; at += keysAtOnce) {
    const some = named.slice(at, at + keysAtOnce)
    found.push(...(await pagesOf(call, kind, { ids, keys: some })))
  }
  return found
}

const keysAtOnce = 50

async function pagesOf(call: CallApi, kind: Kind, { ids, keys }: Looking) {
  const { method, request, items, page } = kind.list
  const found: JsonObject[] = []
  for (;;) {
    const asked = { ...request(ids, keys), [page]: { offset: `${found.length}`, limit: pageSize } }
    const answer = listAt(await call(method, asked), items).filter(isObject)
    found.push(...answer)
    if (answer.length < pageSize) return found
  }
}

const pageSize = 100

type Found = Item & {
  readonly there: readonly JsonObject[]
  readonly place: Place
  readonly more: readonly string[]
}

async function applyThing(run: Run, kind: Kind, found: Found): Promise<Thing> {
  const { given, file, there, place, more } = found
  const key = textAt(given, kind.key)
  if (key === "") throw documentError(file, `a ${kind.name}${place.of} has no ${kind.key}`)
  const thing = `${kind.name} ${key}${place.of}`
  const apart = [...Object.keys(kind.parts), ...more]
  const own = Object.fromEntries(Object.entries(given).filter(([name]) => !apart.includes(name)))
  const org = kind === organization ? key : place.org
  const referred = kind.refers && (await referredId(run, kind.refers, { own, file, place }))
  const ids = place.ids && { ...place.ids, ...referred }
  const wanted = checked(kind, { own, ids: ids ?? {}, thing, file })

  const present = there.find((each) => kind.list.keyOf(each) === key)
  const id = present
    ? await changed(run, kind, { present, wanted, ids: ids ?? {}, thing })
    : await made(run, kind, { own, ids, thing })
  run.known.set(nameOf(kind.name, org, key), id)
  const inner = id === undefined || !ids ? undefined : { ...ids, [kind.id]: id }
  return { given, file, place: { of: ` of ${thing}`, ids: inner, org } }
}

const nameOf = (...parts: readonly string[]) => JSON.stringify(parts)

type Making = {
  readonly own: JsonObject
  readonly ids: Ids | undefined
  readonly thing: string
}

/** Answers the id of what was made; in a plan there is none. */
async function made(run: Run, kind: Kind, { own, ids, thing }: Making) {
  const { method, request, starting = (described) => described } = kind.create
  const asked = () => request(ids ?? {}, starting(own))
  const answer = run.isPlan ? undefined : await confirming(kind, run.call(method, asked()))
  run.steps.push({
    action: "create",
    thing,
    fields: [],
    once: answer ? (kind.once?.(answer) ?? {}) : {},
  })
  return answer && (textAt(answer, kind.id) || textAt(answer, "id") || textAt(own, kind.key))
}

type Changing = {
  readonly present: JsonObject
  readonly wanted: JsonObject
  readonly ids: Ids
  readonly thing: string
}

async function changed(run: Run, kind: Kind, { present, wanted, ids, thing }: Changing) {
  const { shown, as = (item: JsonObject) => item } = kind.list
  const id = kind.list.idOf(present)
  const differs = differing(wanted, as(present), shown)
  const fields = namesOf(differs, shown)
  if (fields.length === 0) return id
  if (kind.fixed?.some((field) => fields.includes(field))) throw fixedError(thing)
  const { method, request, completing = () => differs } = kind.update
  const { confirms = "" } = kind
  const confirmed = wanted[confirms] === undefined ? {} : { [confirms]: wanted[confirms] }
  const given = request(
    { ...ids, [kind.id]: id },
    {
      ...completing(differs, wanted, present),
      ...confirmed,
    },
  )
  if (!run.isPlan) await confirming(kind, run.call(method, given))
  run.steps.push({ action: "change", thing, fields, once: {} })
  return id
}

/** What a call answers; a refusal also says how a file confirms what it lists. */
async function confirming({ confirms }: Kind, answer: Promise<JsonObject>): Promise<JsonObject> {
  try {
    return await answer
  } catch (cause) {
    if (confirms === undefined || !(cause instanceof Fault)) throw cause
    const { code, id, message, preconditions } = cause
    if (preconditions.length === 0) throw cause
    const listed = preconditions.map(({ type, description }) => `${type}: ${description}`)
    const subjects = preconditions.map(({ subject }) => subject)
    const todo = `to confirm them, add ${confirms}: ${JSON.stringify(subjects)} in the file`
    const explained = `${message}: ${listed.join("; ")}; ${todo}`
    throw new Fault(code, id, explained, { preconditions, cause })
  }
}

const fixedError = (thing: string) =>
  documentError(
    thing,
    "client_id can't be changed: describe the one that the application has, or give the " +
      "application with the new one another name",
  )

type Described = {
  readonly own: JsonObject
  readonly ids: Ids
  readonly thing: string
  readonly file: string
}

/** What is described, as the server would read and say it; refuses what it would not read. */
function checked(kind: Kind, { own, ids, thing, file }: Described): JsonObject {
  const { method, request } = kind.create
  const described = request(ids, own)
  const read = readAs(method.input, described, `${file}: ${thing}`)
  return kind.turnsOff ? withFalse(method.input, described, read) : read
}

type Referring = { readonly own: JsonObject; readonly file: string; readonly place: Place }

/** The id of a thing of the same organisation that is named. */
async function referredId(
  run: Run,
  { field, kind, id }: NonNullable<Kind["refers"]>,
  { own, file, place }: Referring,
): Promise<Ids> {
  const name = textAt(own, field)
  const key = nameOf(kind, place.org, name)
  if (!run.known.has(key) && place.ids) {
    const project = organization.parts.projects
    const there = project ? await listed(run.call, project, { ids: place.ids, keys: [] }) : []
    for (const each of there) {
      const found = nameOf(kind, place.org, textAt(each, "name"))
      if (!run.known.has(found)) run.known.set(found, project?.list.idOf(each))
    }
  }
  if (!run.known.has(key)) {
    throw documentError(file, `there is no ${kind} ${name}, which is named${place.of}`)
  }
  return { [id]: run.known.get(key) ?? "" }
}
