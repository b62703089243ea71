import {
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf"
import { AdminService } from "../gen/core/admin/v1/admin_service_pb.ts"
import { OptionsSchema, ProviderConfigSchema } from "../gen/core/idp/v1/idp_pb.ts"
import { ManagementService } from "../gen/core/management/v1/management_service_pb.ts"
import { sensitive } from "../gen/core/options_pb.ts"
import { domainOf } from "../protocol/domain.ts"
import { differing, fieldOf, namesOf } from "./compare.ts"
import { documentError } from "./document.ts"
import { at, isObject, listAt, textAt } from "./json.ts"
import { type Item, mustBeKnown, type Place, type Run, readAs } from "./run.ts"

/** What operations call each kind of provider, by what it is called in what is described. */
const kinds: Readonly<Record<string, string>> = {
  oidc: "GenericOIDC",
  oauth: "GenericOAuth",
  jwt: "JWT",
  ldap: "LDAP",
  saml: "SAML",
  azureAd: "AzureAD",
  google: "Google",
  apple: "Apple",
  github: "GitHub",
  githubEs: "GitHubEnterpriseServer",
  gitlab: "GitLab",
  gitlabSelfHosted: "GitLabSelfHosted",
}

type Listed = {
  readonly items: readonly Item[]
  /** Whose they are; undefined: the instance's. */
  readonly place?: Place
}

/** What is asked about the providers of one place, and what operations of it are called. */
type Level = {
  readonly of: string
  readonly operation: (name: string) => DescMethod
  /** Undefined where the organisation is still to be made. */
  readonly call: ((method: DescMethod, request: JsonObject) => Promise<JsonObject>) | undefined
  readonly own: JsonObject
}

/** Identity providers of one place, and whether people are offered them. */
export async function applyProviders(run: Run, { items, place }: Listed): Promise<void> {
  if (items.length === 0) return
  const level = levelOf(run, place)
  const wanted = items.map((item) => describedIn(item, level))
  const twice = wanted.find(({ name }, index) =>
    wanted.slice(0, index).some((other) => other.name === name),
  )
  if (twice) throw documentError(twice.file, `the ${twice.thing} is described twice`)
  const there = await pagesOf(level, "ListProviders", level.own)
  const offered = await pagesOf(level, "ListLoginPolicyIDPs", {})
  for (const each of wanted) {
    const id = await applyProvider(run, level, { each, there })
    const isOffered = offered.some((link) => textAt(link, "idpId") === id)
    if (each.signIn === undefined || each.signIn === isOffered) continue
    const method = each.signIn ? "AddIDPToLoginPolicy" : "RemoveIDPFromLoginPolicy"
    if (!run.isPlan && id) await level.call?.(level.operation(method), { idpId: id })
    run.steps.push({ action: "change", thing: each.thing, fields: ["signIn"], once: {} })
  }
  const left = there
    .map((each) => textAt(each, "name"))
    .filter((name) => !wanted.some((each) => each.name === name))
  run.beyond.push(...left.map((name) => `provider ${name}${level.of}`))
}

function levelOf(run: Run, place: Place | undefined): Level {
  const service = place ? ManagementService : AdminService
  const orgId = place?.ids?.organizationId
  return {
    of: place?.of ?? "",
    operation: (name) => {
      const found = service.methods.find((method) => method.name === name)
      if (!found) throw new Error(`there is no operation ${name}`)
      return found
    },
    call: place && !orgId ? undefined : (method, request) => run.call(method, request, orgId),
    // Those of the instance, which an organisation sees too, are none of its own.
    own: place ? { queries: [{ ownerTypeQuery: { ownerType: "IDP_OWNER_TYPE_ORG" } }] } : {},
  }
}

async function pagesOf({ call, operation }: Level, name: string, request: JsonObject) {
  const found: JsonObject[] = []
  while (call) {
    const query = { offset: `${found.length}`, limit: pageSize, asc: true }
    const answer = await call(operation(name), { ...request, query })
    const page = listAt(answer, "result").filter(isObject)
    found.push(...page)
    if (page.length < pageSize) break
  }
  return found
}

const pageSize = 100

type Described = {
  readonly file: string
  readonly name: string
  readonly thing: string
  readonly kind: string
  /** What a request says of it, as it is written. */
  readonly given: JsonObject
  /** The same, as the server would read and say it. */
  readonly wanted: JsonObject
  readonly options: JsonObject
  readonly signIn: boolean | undefined
}

function describedIn({ given, file }: Item, { of, operation }: Level): Described {
  const name = textAt(given, "name")
  if (name === "") throw documentError(file, `a provider${of} has no name`)
  const thing = `provider ${name}${of}`
  const [kind, ...others] = Object.keys(given).filter((key) => Object.hasOwn(kinds, key))
  mustBeKnown(given, ["name", "signIn", "providerOptions", ...Object.keys(kinds)], file)
  if (kind === undefined || others.length > 0) {
    throw documentError(file, `the ${thing} must be one of ${Object.keys(kinds).join(", ")}`)
  }
  const { signIn, providerOptions: options = {} } = given
  const said = given[kind]
  if (!isObject(said) || !isObject(options)) {
    throw documentError(file, `the ${kind} and providerOptions of the ${thing} must have fields`)
  }
  if (signIn !== undefined && typeof signIn !== "boolean") {
    throw documentError(file, `signIn of the ${thing} must be true or false`)
  }
  const { input } = operation(`Add${kinds[kind]}Provider`)
  const apart = ["name", "providerOptions"]
  const fields = input.fields.map(({ jsonName }) => jsonName)
  mustBeKnown(
    said,
    fields.filter((each) => !apart.includes(each)),
    `${file}: ${thing}`,
  )
  mustBeKnown(
    options,
    OptionsSchema.fields.map(({ jsonName }) => jsonName),
    `${file}: ${thing}`,
  )
  const written = encoded(said, input)
  const read = readAs(input, { name, ...written, providerOptions: options }, `${file}: ${thing}`)
  const { name: _, providerOptions, ...wanted } = read
  return {
    file,
    name,
    thing,
    kind,
    given: written,
    signIn,
    // What is read as nothing, an option that is off, is described all the same.
    wanted: { ...written, ...wanted },
    options: { ...options, ...(isObject(providerOptions) && stored(providerOptions)) },
  }
}

/** Options as the server stores them: domains that are written otherwise would differ forever. */
function stored(options: JsonObject): JsonObject {
  const { allowedDomains } = options
  if (!Array.isArray(allowedDomains)) return options
  const domains = allowedDomains.map((each) => (typeof each === "string" ? domainOf(each) : each))
  return { ...options, allowedDomains: [...new Set(domains)] }
}

/** Files stand in what is described as they are: where the interface wants bytes, it is base64. */
const encoded = (given: JsonObject, message: DescMessage): JsonObject =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]): [string, JsonValue] =>
      fieldOf(message, name)?.scalar === ScalarType.BYTES && typeof value === "string"
        ? [name, Buffer.from(value).toString("base64")]
        : [name, value],
    ),
  )

type Looking = { readonly each: Described; readonly there: readonly JsonObject[] }

/** Answers the id of the provider; undefined where it is still to be made. */
async function applyProvider(run: Run, level: Level, { each, there }: Looking) {
  const { name, kind, thing, file, given, options } = each
  const [present, second] = there.filter((one) => textAt(one, "name") === name)
  if (second) throw documentError(file, `there are several called ${thing}; rename one first`)
  if (!present) {
    const add = level.operation(`Add${kinds[kind]}Provider`)
    const request = { name, ...given, providerOptions: options }
    const answer = run.isPlan ? undefined : await level.call?.(add, request)
    run.steps.push({ action: "create", thing, fields: [], once: {} })
    return answer && textAt(answer, "id")
  }
  const id = textAt(present, "id")
  const whole = (await level.call?.(level.operation("GetProviderByID"), { id })) ?? {}
  const shown = fieldOf(ProviderConfigSchema, kind)?.message
  const config = at(whole, `idp.config.${kind}`)
  if (!shown || !isObject(config)) {
    throw documentError(file, `the ${thing} is there and of another kind; remove that one first`)
  }
  const now = { config, options: at(whole, "idp.config.options") ?? {} }
  const fields = changesOf(run, each, { now, shown, level })
  if (fields.length === 0) return id
  const update = level.operation(`Update${kinds[kind]}Provider`)
  if (!run.isPlan) await level.call?.(update, { id, ...updateOf(each, now, update.input) })
  run.steps.push({ action: "change", thing, fields, once: {} })
  return id
}

type Now = { readonly config: JsonObject; readonly options: JsonValue }
type Comparing = { readonly now: Now; readonly shown: DescMessage; readonly level: Level }

/** The names of what differs; secrets, which nobody is shown, among them where that is wanted. */
function changesOf(run: Run, each: Described, { now, shown, level }: Comparing): string[] {
  const { wanted, options, given, kind } = each
  const there = isObject(now.options) ? now.options : {}
  const { fields } = level.operation(`Update${kinds[kind]}Provider`).input
  const secrets = fields.filter(
    (field) => getOption(field, sensitive) && Object.hasOwn(given, field.jsonName),
  )
  return [
    ...namesOf(differing(wanted, now.config, shown), shown),
    ...namesOf(differing(options, there, OptionsSchema), OptionsSchema).map(
      (name) => `providerOptions.${name}`,
    ),
    ...(run.saysSecrets ? secrets.map(({ jsonName }) => jsonName) : []),
  ]
}

/** A provider is said as a whole: what is not described stays as it is. */
function updateOf({ name, given, options }: Described, now: Now, input: DescMessage): JsonObject {
  const oneofs = Object.keys(given).flatMap((key) => fieldOf(input, key)?.oneof ?? [])
  const kept = Object.entries(now.config).filter(([key]) => {
    const field = fieldOf(input, key)
    return field && !(field.oneof && oneofs.includes(field.oneof))
  })
  const said = Object.entries(given).map(([key, value]): [string, JsonValue] => [
    key,
    merged(now.config[key], value, fieldOf(input, key)),
  ])
  const before = isObject(now.options) ? now.options : {}
  return {
    name,
    ...Object.fromEntries([...kept, ...said]),
    providerOptions: { ...before, ...options },
  }
}

/** Fields of a message in it stay too, unless they are alternatives. */
function merged(before: JsonValue | undefined, value: JsonValue, field: DescField | undefined) {
  if (!isObject(before) || !isObject(value)) return value
  return field?.message && field.message.oneofs.length === 0 ? { ...before, ...value } : value
}
