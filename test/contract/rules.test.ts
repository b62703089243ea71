// What the fields of requests must hold, as the book says it, beside what the server refuses. The
// rows of the scenarios are requests that it takes.
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
  type JsonObject,
  type JsonValue,
} from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { book } from "../../src/api/book.ts"
import { maskField } from "../../src/api/edit/mask.ts"
import { choiceOf, rulesOf } from "../../src/api/input/rules.ts"
import { access, type Rules } from "../../src/gen/core/options_pb.ts"
import { pageLanguages } from "../../src/kernel/text/language.ts"
import { type Call, callerOf, type Reply } from "../scenario/caller.ts"
import { type House, openHouse } from "../scenario/house.ts"
import type { Row } from "../scenario/row.ts"
import { rows } from "../scenario/rows/index.ts"
import { methodOf } from "../scenario/run.ts"

let house: House
beforeAll(async () => {
  house = await openHouse()
})
afterAll(() => house.close())

/** A field that a request has, where it is, and what else its message has. */
type FieldPlace = {
  readonly field: DescField
  readonly path: readonly (string | number)[]
  readonly beside: JsonObject
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Every message in a request, with the place of each. */
function messagesIn(
  message: DescMessage,
  value: JsonValue | undefined,
  path: readonly (string | number)[] = [],
): { message: DescMessage; value: JsonObject; path: readonly (string | number)[] }[] {
  if (!isObject(value) || message.typeName.startsWith("google.protobuf.")) return []
  const inside = message.fields.flatMap((field) => {
    const inner = value[field.jsonName]
    if (!field.message || field.fieldKind === "map") return []
    const at = [...path, field.jsonName]
    return Array.isArray(inner)
      ? inner.flatMap((each, index) => messagesIn(field.message, each, [...at, index]))
      : messagesIn(field.message, inner, at)
  })
  return [{ message, value, path }, ...inside]
}

const placesIn = (message: DescMessage, body: JsonObject): FieldPlace[] =>
  messagesIn(message, body).flatMap(({ message: { fields }, value, path }) =>
    fields.map((field) => ({ field, path: [...path, field.jsonName], beside: value })),
  )

/** The body with another value in one place, or with none. */
function changed(body: JsonObject, path: FieldPlace["path"], value?: JsonValue): JsonObject {
  const copy: any = structuredClone(body)
  const holder = path.slice(0, -1).reduce((at, part) => at[part], copy)
  if (value === undefined) delete holder[path.at(-1) ?? ""]
  else holder[path.at(-1) ?? ""] = value
  return copy
}

const isMust = ({ field, beside }: FieldPlace): boolean => {
  const { required, requiredWithoutMask } = rulesOf(field)
  return !field.oneof && (required || (requiredWithoutMask && !("updateMask" in beside)))
}

/** The errors that say that a field is missing, where the book names none. */
const missingIds = ["request.field_missing", "request.id_missing"]

const errorsFor = (field: DescField): readonly string[] => {
  const { error } = rulesOf(field)
  return error ? [error, ...missingIds] : missingIds
}

/** The requests of the rows that the server takes. */
const working = Object.entries(rows).map(([family, some]) => {
  const accepted = (some as readonly Row[]).filter(({ code }) => code === undefined)
  return [family, accepted] as const
})

/** One request that the server takes, and how to send it with changes. */
type Trial = {
  readonly row: Row
  readonly body: JsonObject
  readonly places: readonly FieldPlace[]
  readonly call: Call
}

/** Whether a field was not tried before, by any row. */
const untried = (tried: Set<string>, { parent, name }: DescField): boolean => {
  const full = `${parent.typeName}.${name}`
  const isNew = !tried.has(full)
  tried.add(full)
  return isNew
}

const seen = { missing: new Set<string>(), long: new Set<string>(), outside: new Set<string>() }

const at = ({ row }: Trial, { path }: FieldPlace): string => `${row.call} ${path.join(".")}`

async function withoutMusts(trial: Trial): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const place of trial.places.filter(isMust)) {
    if (!untried(seen.missing, place.field)) continue
    const { code, id = "" } = await trial.call(changed(trial.body, place.path))
    const isRefused = code !== "ok" && errorsFor(place.field).includes(id)
    if (!isRefused) wrong.push(`${at(trial, place)} left out: ${code} ${id}`)
  }
  return wrong
}

async function tooLong(trial: Trial): Promise<readonly string[]> {
  const bounded = trial.places.filter(
    ({ field }) => rulesOf(field).maxLength > 0 && untried(seen.long, field),
  )
  const send = ({ field, path }: FieldPlace, length: number) => {
    const text = "x".repeat(length)
    return trial.call(changed(trial.body, path, field.fieldKind === "list" ? [text] : text))
  }
  const refusals: Reply[] = []
  for (const place of bounded) refusals.push(await send(place, rulesOf(place.field).maxLength + 1))
  const wrong: string[] = []
  for (const [index, place] of bounded.entries()) {
    const { maxLength, error } = rulesOf(place.field)
    const over = refusals[index]
    const fits = await send(place, maxLength)
    const isRight = over?.id === error && fits.message !== over.message
    if (!isRight) wrong.push(`${at(trial, place)} too long: ${over?.id}, ${fits.message}`)
  }
  return wrong
}

async function outside(trial: Trial): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const place of trial.places) {
    const { minimum, maximum, pattern, error } = rulesOf(place.field)
    const isList = place.field.fieldKind === "list"
    const values: JsonValue[] = [
      ...(minimum ? [minimum - 1] : []),
      ...(maximum === undefined ? [] : [maximum + 1]),
      ...(pattern ? [isList ? ["?"] : "?"] : []),
    ]
    if (values.length === 0 || !untried(seen.outside, place.field)) continue
    for (const value of values) {
      const { id } = await trial.call(changed(trial.body, place.path, value))
      if (id !== error) wrong.push(`${at(trial, place)} ${value}: ${id}`)
    }
  }
  return wrong
}

/** Requests that need more than the book demands of their fields, and what. */
const conditional: Readonly<Record<string, string>> = {
  "admin.v1.AdminService/SetRestrictions": "one of two",
  "admin.v1.AdminService/UpdateLoginPolicy": "a way to sign in",
  "admin.v1.AdminService/UpdateSecretGenerator": "one kind of characters",
  "history.v2.HistoryService/GetPermissionReason": "the kind of resource, where it is not clear",
  ...Object.fromEntries(
    ["AddTrustedDomain", "GetInstance", "ListCustomDomains", "ListTrustedDomains"]
      .concat("RemoveTrustedDomain", "UpdateInstance")
      .map((name) => [`instance.v2.InstanceService/${name}`, "of a system user, the instance"]),
  ),
  "management.v1.ManagementService/AddCustomLoginPolicy": "a way to sign in",
  "management.v1.ManagementService/UpdateCustomLoginPolicy": "a way to sign in",
  "system.v1.SystemService/BulkSetLimits": "one of two limits",
  "system.v1.SystemService/CreateInstance": "a credential of the machine",
  "system.v1.SystemService/SetLimits": "one of two limits",
}

/** What the book demands of a request, and nothing else. */
function least(message: DescMessage, value: JsonObject): JsonObject {
  if (message.typeName.startsWith("google.protobuf.")) return value
  const kept = message.fields.flatMap((field): [string, JsonValue][] => {
    const inner = value[field.jsonName]
    const choice = field.oneof && choiceOf(field.oneof)
    const rule = choice ?? rulesOf(field)
    if (inner === undefined || !(rule.required || rule.requiredWithoutMask)) return []
    return [[field.jsonName, leastOf(field.message, inner)]]
  })
  return Object.fromEntries(kept)
}

function leastOf(message: DescMessage | undefined, value: JsonValue): JsonValue {
  if (!message) return value
  if (Array.isArray(value)) return value.map((each) => leastOf(message, each))
  return isObject(value) ? least(message, value) : value
}

const sentLeast = new Set<string>()

async function leastRefused({ row, body, call }: Trial): Promise<readonly string[]> {
  if (sentLeast.has(row.call)) return []
  sentLeast.add(row.call)
  const { code, message } = await call(least(methodOf(row.call).input, body))
  const isRight = (code === "invalid_argument") === row.call in conditional
  return isRight ? [] : [`${row.call} with the least: ${code} ${message}`]
}

/** Tries one request that the server takes, without what it must have and with what it may not. */
async function tryRow(row: Row): Promise<readonly string[]> {
  const own = row.once ? await openHouse() : house
  const { call, body } = await callerOf(own, row)
  const trial = { row, body, call, places: placesIn(methodOf(row.call).input, body) }
  const wrong = [
    // Those that are refused come first: they change nothing.
    ...(await withoutMusts(trial)),
    ...(await outside(trial)),
    ...(await tooLong(trial)),
    ...(await leastRefused(trial)),
  ]
  if (row.once) await own.close()
  return wrong
}

describe.each(working)("%s", (_, some) => {
  test("a request that is accepted breaks no rule", () => {
    const broken = some.flatMap(({ call, body = {} }) =>
      placesIn(methodOf(call).input, Object(body))
        .filter((place) => isMust(place) && place.beside[place.field.jsonName] === undefined)
        .map(({ path }) => `${call} without ${path.join(".")}`),
    )
    expect(broken).toEqual([])
  })

  test("a request that breaks a rule is refused, one that keeps to all is not", async () => {
    const wrong: string[] = []
    for (const row of some) wrong.push(...(await tryRow(row)))
    expect(wrong).toEqual([])
  })
})

/** Every field of every request, at any depth. */
function requestFields(): readonly DescField[] {
  const found = new Set<DescMessage>()
  const look = (message: DescMessage) => {
    if (found.has(message)) return
    found.add(message)
    for (const field of message.fields) if (field.message) look(field.message)
  }
  for (const { methods } of book) for (const { input } of methods) look(input)
  return [...found].flatMap(({ fields }) => fields)
}

test("every rule was tried", () => {
  const untriedIn = (tried: ReadonlySet<string>, isRuled: (rules: Rules) => unknown) =>
    requestFields()
      .filter((field) => isRuled(rulesOf(field)))
      .map(({ parent, name }) => `${parent.typeName}.${name}`)
      .filter((name) => !tried.has(name))
  expect(untriedIn(seen.missing, (each) => each.required || each.requiredWithoutMask)).toEqual([])
  expect(untriedIn(seen.long, ({ maxLength }) => maxLength > 0)).toEqual([])
  const isBound = ({ minimum, maximum, pattern }: Rules) => minimum || maximum || pattern
  expect(untriedIn(seen.outside, isBound)).toEqual([])
})

test("the form of a language has all languages of the pages, in every field", () => {
  const patterns = requestFields().map((field) => rulesOf(field).pattern)
  const languages = new Set(patterns.filter((pattern) => pattern.startsWith("^(en|")))
  expect([...languages]).toEqual([`^(${pageLanguages.join("|")})$`])
})

test("what a caller of the instance can leave unnamed is no field that must be there", () => {
  for (const { parent, name, input } of book.flatMap(({ methods }): DescMethod[] => methods)) {
    const method = parent.methods.find((each) => each.name === name)
    const rule = method && getOption(method, access)
    if (rule?.resource !== "instance" || rule.permission === "") continue
    const field = input.fields.find((each) => each.name === rule.id)
    expect(field === undefined || !rulesOf(field).required, name).toBe(true)
  }
})

test("only an update with a mask has fields that it must have without one", () => {
  for (const [, some] of working) {
    for (const { call } of some) {
      const { fields } = methodOf(call).input
      const names = fields.map(({ name }) => name)
      const unmasked = fields.filter((field) => rulesOf(field).requiredWithoutMask)
      expect(unmasked.length === 0 || names.includes(maskField), call).toBe(true)
    }
  }
})
