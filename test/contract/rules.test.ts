// The field rules of requests in the API definition match what the server rejects. The scenario
// rows are requests that the server accepts.
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
  type JsonObject,
  type JsonValue,
} from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { allServices } from "../../src/api/book.ts"
import { maskField } from "../../src/api/edit/mask.ts"
import { choiceOf, rulesOf } from "../../src/api/input/rules.ts"
import { access, type Rules } from "../../src/gen/core/options_pb.ts"
import { pageLanguages } from "../../src/kernel/text/language.ts"
import { type Call, callerOf, type Reply } from "../scenario/caller.ts"
import { openTestServer, type TestServer } from "../scenario/house.ts"
import type { Row } from "../scenario/row.ts"
import { rows } from "../scenario/rows/index.ts"
import { requireMethod } from "../scenario/run.ts"

let server: TestServer
beforeAll(async () => {
  server = await openTestServer()
})
afterAll(() => server.close())

/** A request field, its path, and the other fields of its message. */
type FieldLocation = {
  readonly field: DescField
  readonly path: readonly (string | number)[]
  readonly beside: JsonObject
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Every message in a request with its path. */
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

const placesIn = (message: DescMessage, body: JsonObject): FieldLocation[] =>
  messagesIn(message, body).flatMap(({ message: { fields }, value, path }) =>
    fields.map((field) => ({ field, path: [...path, field.jsonName], beside: value })),
  )

/** The body with another value at one path, or without it. */
function withValue(body: JsonObject, path: FieldLocation["path"], value?: JsonValue): JsonObject {
  const copy: any = structuredClone(body)
  const holder = path.slice(0, -1).reduce((at, part) => at[part], copy)
  if (value === undefined) delete holder[path.at(-1) ?? ""]
  else holder[path.at(-1) ?? ""] = value
  return copy
}

const isMandatory = ({ field, beside }: FieldLocation): boolean => {
  const { required, requiredWithoutMask } = rulesOf(field)
  return !field.oneof && (required || (requiredWithoutMask && !("updateMask" in beside)))
}

/** The error IDs for a missing field if the API defines none. */
const missingIds = ["request.field_missing", "request.id_missing"]

const errorsFor = (field: DescField): readonly string[] => {
  const { error } = rulesOf(field)
  return error ? [error, ...missingIds] : missingIds
}

/** The rows with requests that the server accepts. */
const acceptedRows = Object.entries(rows).map(([family, some]) => {
  const accepted = (some as readonly Row[]).filter(({ code }) => code === undefined)
  return [family, accepted] as const
})

/** A request that the server accepts, and how to send it with changes. */
type Trial = {
  readonly row: Row
  readonly body: JsonObject
  readonly places: readonly FieldLocation[]
  readonly call: Call
}

/** Whether no row has tried a field yet. */
const isUntried = (tried: Set<string>, { parent, name }: DescField): boolean => {
  const full = `${parent.typeName}.${name}`
  const isNew = !tried.has(full)
  tried.add(full)
  return isNew
}

const triedFields = {
  missing: new Set<string>(),
  long: new Set<string>(),
  outside: new Set<string>(),
}

const trialName = ({ row }: Trial, { path }: FieldLocation): string =>
  `${row.call} ${path.join(".")}`

async function tryWithoutMandatory(trial: Trial): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const place of trial.places.filter(isMandatory)) {
    if (!isUntried(triedFields.missing, place.field)) continue
    const { code, id = "" } = await trial.call(withValue(trial.body, place.path))
    const isRefused = code !== "ok" && errorsFor(place.field).includes(id)
    if (!isRefused) wrong.push(`${trialName(trial, place)} left out: ${code} ${id}`)
  }
  return wrong
}

async function tryTooLong(trial: Trial): Promise<readonly string[]> {
  const bounded = trial.places.filter(
    ({ field }) => rulesOf(field).maxLength > 0 && isUntried(triedFields.long, field),
  )
  const send = ({ field, path }: FieldLocation, length: number) => {
    const text = "x".repeat(length)
    return trial.call(withValue(trial.body, path, field.fieldKind === "list" ? [text] : text))
  }
  const refusals: Reply[] = []
  for (const place of bounded) refusals.push(await send(place, rulesOf(place.field).maxLength + 1))
  const wrong: string[] = []
  for (const [index, place] of bounded.entries()) {
    const { maxLength, error } = rulesOf(place.field)
    const over = refusals[index]
    const fits = await send(place, maxLength)
    const isRight = over?.id === error && fits.message !== over.message
    if (!isRight) wrong.push(`${trialName(trial, place)} too long: ${over?.id}, ${fits.message}`)
  }
  return wrong
}

async function tryOutOfRange(trial: Trial): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const place of trial.places) {
    const { minimum, maximum, pattern, error } = rulesOf(place.field)
    const isList = place.field.fieldKind === "list"
    const values: JsonValue[] = [
      ...(minimum ? [minimum - 1] : []),
      ...(maximum === undefined ? [] : [maximum + 1]),
      ...(pattern ? [isList ? ["?"] : "?"] : []),
    ]
    if (values.length === 0 || !isUntried(triedFields.outside, place.field)) continue
    for (const value of values) {
      const { id } = await trial.call(withValue(trial.body, place.path, value))
      if (id !== error) wrong.push(`${trialName(trial, place)} ${value}: ${id}`)
    }
  }
  return wrong
}

/** Requests that need more than the API requires of their fields, and what they need. */
const extraRequirements: Readonly<Record<string, string>> = {
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

/** The fields that the API requires of a request, and nothing else. */
function minimalMessage(message: DescMessage, value: JsonObject): JsonObject {
  if (message.typeName.startsWith("google.protobuf.")) return value
  const kept = message.fields.flatMap((field): [string, JsonValue][] => {
    const inner = value[field.jsonName]
    const choice = field.oneof && choiceOf(field.oneof)
    const rule = choice ?? rulesOf(field)
    if (inner === undefined || !(rule.required || rule.requiredWithoutMask)) return []
    return [[field.jsonName, minimalValue(field.message, inner)]]
  })
  return Object.fromEntries(kept)
}

function minimalValue(message: DescMessage | undefined, value: JsonValue): JsonValue {
  if (!message) return value
  if (Array.isArray(value)) return value.map((each) => minimalValue(message, each))
  return isObject(value) ? minimalMessage(message, value) : value
}

const sentMinimal = new Set<string>()

async function tryMinimal({ row, body, call }: Trial): Promise<readonly string[]> {
  if (sentMinimal.has(row.call)) return []
  sentMinimal.add(row.call)
  const { code, message } = await call(minimalMessage(requireMethod(row.call).input, body))
  const isRight = (code === "invalid_argument") === row.call in extraRequirements
  return isRight ? [] : [`${row.call} with the least: ${code} ${message}`]
}

/** Tries an accepted request without its mandatory fields and with invalid values. */
async function tryRow(row: Row): Promise<readonly string[]> {
  const own = row.once ? await openTestServer() : server
  const { call, body } = await callerOf(own, row)
  const trial = { row, body, call, places: placesIn(requireMethod(row.call).input, body) }
  const wrong = [
    // Rejected requests first, because they change nothing.
    ...(await tryWithoutMandatory(trial)),
    ...(await tryOutOfRange(trial)),
    ...(await tryTooLong(trial)),
    ...(await tryMinimal(trial)),
  ]
  if (row.once) await own.close()
  return wrong
}

describe.each(acceptedRows)("%s", (_, some) => {
  test("an accepted request satisfies every rule", () => {
    const broken = some.flatMap(({ call, body = {} }) =>
      placesIn(requireMethod(call).input, Object(body))
        .filter(
          (location) =>
            isMandatory(location) && location.beside[location.field.jsonName] === undefined,
        )
        .map(({ path }) => `${call} without ${path.join(".")}`),
    )
    expect(broken).toEqual([])
  })

  test("a request that breaks a rule is rejected, and one that satisfies all is not", async () => {
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
  for (const { methods } of allServices) for (const { input } of methods) look(input)
  return [...found].flatMap(({ fields }) => fields)
}

test("every rule was tried", () => {
  const untriedIn = (tried: ReadonlySet<string>, isRuled: (rules: Rules) => unknown) =>
    requestFields()
      .filter((field) => isRuled(rulesOf(field)))
      .map(({ parent, name }) => `${parent.typeName}.${name}`)
      .filter((name) => !tried.has(name))
  expect(
    untriedIn(triedFields.missing, (each) => each.required || each.requiredWithoutMask),
  ).toEqual([])
  expect(untriedIn(triedFields.long, ({ maxLength }) => maxLength > 0)).toEqual([])
  const isBound = ({ minimum, maximum, pattern }: Rules) => minimum || maximum || pattern
  expect(untriedIn(triedFields.outside, isBound)).toEqual([])
})

test("the pattern of a language contains all page languages, in every field", () => {
  const patterns = requestFields().map((field) => rulesOf(field).pattern)
  const languages = new Set(patterns.filter((pattern) => pattern.startsWith("^(en|")))
  expect([...languages]).toEqual([`^(${pageLanguages.join("|")})$`])
})

test("a field with a default from the instance is not mandatory", () => {
  for (const { parent, name, input } of allServices.flatMap(
    ({ methods }): DescMethod[] => methods,
  )) {
    const method = parent.methods.find((each) => each.name === name)
    const rule = method && getOption(method, access)
    if (rule?.resource !== "instance" || rule.permission === "") continue
    const field = input.fields.find((each) => each.name === rule.id)
    expect(field === undefined || !rulesOf(field).required, name).toBe(true)
  }
})

test("only an update with a mask has fields that are mandatory without one", () => {
  for (const [, some] of acceptedRows) {
    for (const { call } of some) {
      const { fields } = requireMethod(call).input
      const names = fields.map(({ name }) => name)
      const unmasked = fields.filter((field) => rulesOf(field).requiredWithoutMask)
      expect(unmasked.length === 0 || names.includes(maskField), call).toBe(true)
    }
  }
})
